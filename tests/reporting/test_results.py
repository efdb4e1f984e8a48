"""Results as files give them, their tables, the methods' text, and ours beside the paper's."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from benchmarks.report_memory import RULES, benchmark

from sparsekm.figures.style import DROPPED
from sparsekm.io.known_classes import UNKNOWN
from sparsekm.io.tables import SEPARATION
from sparsekm.pipeline.normalisation import NORMALISATIONS
from sparsekm.pipeline.registry import METHODS
from sparsekm.reporting import figures, sample_map
from sparsekm.reporting.clusters import class_colors, cluster_colors, view_answer
from sparsekm.reporting.comparison_tables import (
    compare_methods,
    compare_with_paper,
    read_paper_tables,
    statistics_table,
)
from sparsekm.reporting.each_cluster import view_each_cluster
from sparsekm.reporting.report import WORDS, Citations, load_dataset_result, write_methods
from sparsekm.reporting.simulation_page import row_look
from sparsekm.studies import METHOD_ROWS


def test_fit_of_another_data_set_is_refused(matrix_files, brain_result):
    message = r"\(n_samples, n_features\)=\(12, 6\) should be \(120, 8\)"
    with pytest.raises(ValueError, match=message):
        load_dataset_result("E11.5", brain_result.normalised, fits=matrix_files["fits"])


def test_every_method_has_its_title_and_a_look_of_its_own_the_same_in_the_simulations():
    assert len({look.title for look in METHODS.values()}) == len(METHODS)
    main = [name for name, row in METHOD_ROWS.items() if not row.is_variant]
    for looks in (METHODS.values(), [row_look(name) for name in main]):
        for part in ("color", "marker"):
            assert len({getattr(look, part) for look in looks}) == len(looks)
    rows = {"l0": "l0_global"} | {name: name for name in ("kmeans", "pca", "pgmm", "l1")}
    assert {name: row_look(row) for name, row in rows.items()}.items() <= METHODS.items()


def test_of_many_samples_some_are_shown_and_the_caption_says_so(matrix_result, monkeypatch):
    for module in (figures, sample_map):
        monkeypatch.setattr(module, "MOST_POINTS", 5)
    figure = figures.samples_figure(matrix_result)
    assert sum(len(points.get_offsets()) for points in figure.axes[-1].collections) == 5
    first, again = (figures.draw_figures(matrix_result) for _ in range(2))
    captions = {drawn.name: drawn.caption for drawn in first}
    assert "of the features kept, 5 drawn at random." in captions["samples"]
    # The same results give the same figures.
    assert [figure.svg for figure in first] == [figure.svg for figure in again]


def test_scores_and_curves_are_those_of_their_method_in_any_order(matrix_files):
    mixed = {kind: dict(reversed(matrix_files[kind].items())) for kind in ("scores", "gaps")}
    result = load_dataset_result("toy", **{**matrix_files, **mixed})
    rates = {name: method.rates["cer"] for name, method in result.methods.items()}
    assert rates == {"kmeans": 0.3125, "l1": 0.0625, "l0": 0.125}
    assert result.methods["kmeans"].gaps is None
    assert result.methods["l1"].gaps["n_selected"].tolist() == [2, 5]
    assert result.methods["l0"].gaps["n_selected"].tolist() == [2, 3]


def test_samples_without_a_class_are_counted_where_there_are_any_and_grey(matrix_result):
    # Of the twelve samples, those of the third class and one more have none.
    codes = np.repeat([0, 1, -1], 4)
    codes[0] = -1
    obs = matrix_result.obs.assign(label=pd.Categorical.from_codes(codes, ["class 0", "class 1"]))
    partly = replace(matrix_result, obs=obs)
    assert "samples without a known label" not in statistics_table([matrix_result]).index
    table = statistics_table([partly])["toy"]
    assert table["number of classes"] == 2
    assert table["samples without a known label"] == 5
    rows = {row[0].text: [cell.text for cell in row[1:]] for row in view_each_cluster(partly).rows}
    assert rows["class not known"] == ["1", "", "4"]
    # They are grey, but a cluster of nothing else has a colour of its own.
    assert class_colors(partly)[UNKNOWN] == DROPPED
    assert not {cluster_colors(partly)[2]} & set(class_colors(partly).values())
    assert "5 samples have none" in dict(view_answer(partly)["facts"])["Known classes"]


def test_statistics_count_genes_voxels_regions_and_what_was_excluded(brain_result):
    counts = dict(brain_result.provenance["counts"])
    counts["section_data_sets"] = {"failed": 31, "no_grid": 2, "rejected": 0}
    counted = with_provenance(brain_result, counts=counts, n_genes_dropped_constant=1)
    table = statistics_table([counted])
    assert table["E11.5"].to_dict() == {
        "number of genes": 8,
        "number of voxels": 120,
        "number of regions": 3,
        "voxels excluded: ventricle": 17,
        "section data sets excluded: failed": 31,
        "section data sets excluded: no grid": 2,
        "genes dropped: missing values": 4,
        "genes dropped: constant": 1,
    }


def with_provenance(result, **changes):
    return replace(result, provenance={**result.provenance, **changes})


@pytest.mark.parametrize("origins", [(True, True), (True, False), (False, False)])
def test_simulated_numbers_are_marked_once(matrix_result, origins):
    named = zip("ab", origins, strict=True)
    results = [replace(matrix_result, name=a, provenance={"simulated": b}) for a, b in named]
    table = compare_methods(results)
    assert table.simulated == all(origins)
    notes = {row[0].text: row[0].note for row in table.rows}
    marked = ["simulated" if own and not all(origins) else "" for own in origins]
    assert notes == dict(zip("ab", marked, strict=True))


ROOT = Path(__file__).resolve().parents[2]
# 8,000 samples x 16,000 features in single precision.
MATRIX_MEGABYTES = 488


@pytest.mark.release
def test_no_job_holds_the_matrix_or_takes_more_than_its_rule_asks_for(monkeypatch):
    monkeypatch.chdir(ROOT)
    # Both have more samples than are drawn without a UMAP, whose own code takes 200 MB.
    table = benchmark([(600, 100), (8_000, 16_000)])
    assert (table["peak_mb"] < table["asked_mb"]).all()
    small, large = (part.set_index("rule")["peak_mb"] for _, part in table.groupby("n_samples"))
    assert list(large.index) == RULES
    assert (large - small < 0.5 * MATRIX_MEGABYTES).all()


COUNTS = {"normalisation": "counts", "n_features_read": 20_000, "n_features_filtered": 18_000}
TESTED = pd.DataFrame(columns=list(SEPARATION.columns))
SEEDS = pd.DataFrame({"agreement": [1.0] * 3})
TRIED = pd.DataFrame({"n_clusters": [2, 3, 4]})


def text_of(*results):
    return " ".join(write_methods(results, Citations()))


@pytest.mark.parametrize(
    ("about", "fit", "told"),
    [
        ({"provenance": COUNTS}, {}, "Normalisation of toy: each count is divided by the total"),
        (
            {"provenance": COUNTS},
            {},
            "toy has 20,000 features. All methods used only the 2,000 whose log-transf",
        ),
        (
            {},
            {"separation": TESTED},
            "Whether the clusters of toy are clearly separated was tested on samp",
        ),
        ({"counts": TRIED}, {}, "The number of clusters of toy was chosen among 2, 3 and 4: neigh"),
        ({}, {"attributes": {"n_tuned": 8}}, "Sparsities were tuned on 8 of the 12 samples of to"),
        ({}, {"seeds": SEEDS}, "At the chosen sparsity all samples were clustered from 3 seeds, "),
        ({}, {"seeds": SEEDS}, "the largest objective is shown for ℓ₀-k-means; ranges"),
        ({}, {"seeds": SEEDS, "name": "sparse"}, "were clustered from 3 seeds; ranges"),
        ({}, {"name": "ifpca"}, "Higher Criticism"),
    ],
)
def test_the_methods_say_what_was_done_and_only_then(matrix_result, about, fit, told):
    methods = {"l0": replace(matrix_result.methods["l0"], **fit)}
    assert told in text_of(replace(matrix_result, methods=methods, **about))
    assert told not in text_of(matrix_result)


def test_methods_name_each_normalisation_and_own_up_to_region_means(matrix_result, brain_result):
    settings = {"fill": "region_mean", "scale": "z-score, ddof = 1", "transform": "log2"}
    settings |= {"max_missing_per_gene": 0.3, "max_missing_per_voxel": 0.2}
    text = text_of(with_provenance(brain_result, normalisation=settings), matrix_result)
    assert (
        "Normalisation of E11.5: genes with 30% or more missing values are dropped; "
        "voxels with 20% or more missing values are dropped; energies x become "
        "log₂(1 + x); missing values become the mean of their gene in their region; every gene has "
        "mean 0 and standard deviation 1 (ddof = 1); constant genes are dropped."
    ) in text
    assert "Normalisation of toy: every feature has mean 0" in text
    assert "so the labels were used" in text
    assert "so the labels were used" not in text_of(matrix_result)


def test_only_sparse_methods_run_the_papers_algorithm_and_works_are_numbered(matrix_result):
    kmeans, citations = matrix_result.methods["kmeans"], Citations()
    assert "Algorithm 1" in text_of(matrix_result)
    assert "Algorithm 1" not in text_of(replace(matrix_result, methods={"kmeans": kmeans}))
    rivals = {name: replace(kmeans, name=name) for name in ("ifpca", "scfs")}
    text = " ".join(write_methods([replace(matrix_result, methods=rivals)], citations))
    assert {"10.1214/15-AOS1423", "10.1111/biom.13665"} <= {work["doi"] for work in citations.cited}
    places = [text.index(f"[{number}]") for number in range(1, len(citations.cited) + 1)]
    assert places == sorted(places)


def test_every_normalisation_of_the_configuration_is_described(project_root):
    schema = (project_root / "workflow/schemas/config.schema.yaml").read_text(encoding="utf-8")
    atlas = yaml.safe_load(schema)["properties"]["atlas"]["properties"]
    for step, setting in atlas["normalisation"]["properties"].items():
        assert set(WORDS["atlas_steps"][step]) == set(setting["enum"])
    assert set(WORDS["screened"]) == set(atlas["quality_control"]["properties"])
    assert set(WORDS["normalisations"]) == set(NORMALISATIONS)


@pytest.fixture(scope="module")
def paper(tmp_path_factory):
    """Printed numbers made by hand; the brain has 8 genes, 120 voxels, 3 regions."""
    statistics = [("n_genes", 10), ("n_voxels", 120), ("n_regions", 2)]
    scores = [("kmeans", "cer", 0.25), ("l0", "cer", 0.125), ("l0", "nw", 5), ("pca", "nw", 7)]
    files = [tmp_path_factory.mktemp("paper") / name for name in ("statistics.csv", "scores.csv")]
    for file, rows in zip(files, (statistics, scores), strict=True):
        names = ["statistic", "value"] if len(rows[0]) == 2 else ["method", "metric", "value"]
        pd.DataFrame(rows, columns=names).assign(age="E11.5").to_csv(file, index=False)
    return read_paper_tables(*files)


@pytest.fixture(scope="module")
def measured(brain_result):
    """The little brain as if it came from the servers."""
    return with_provenance(brain_result, source="allen", simulated=False)


def test_sizes_and_scores_stand_beside_the_printed_ones(measured, paper):
    table = compare_with_paper([measured], paper)
    heads, *rows = ([cell.text for cell in line] for line in (table.heads, *table.rows))
    ours, theirs = (dict(zip(heads, row, strict=True)) for row in rows)
    assert list(ours.values())[:5] == ["E11.5", "ours", "8", "120", "3"]
    assert list(theirs.values())[:5] == ["E11.5", "the paper’s", "10", "120", "2"]
    assert ours["CER of k-means"] == "0.0500"
    assert theirs["CER of k-means"] == "0.2500"
    assert theirs["CER of ℓ₁-k-means"] == "–"
    assert (ours["NW of ℓ₀-k-means"], theirs["NW of ℓ₀-k-means"]) == ("4", "5")
    # A method that only the paper ran has a column too.
    assert (ours["NW of PCA-k-means"], theirs["NW of PCA-k-means"]) == ("–", "7")


def test_only_the_real_atlas_is_compared(
    brain_result, matrix_result, measured, paper, page_of, monkeypatch
):
    monkeypatch.setattr("sparsekm.reporting.report.draw_figures", lambda *about: [])
    assert compare_with_paper([brain_result, matrix_result], paper) is None
    # Not even one that says it came from the servers, when it is simulated.
    assert compare_with_paper([with_provenance(brain_result, source="allen")], paper) is None
    for result, n_sections in ((brain_result, 0), (measured, 1)):
        page, _ = page_of(result, paper=paper)
        assert page.count("Compared with the paper") == n_sections
        assert page.count("the paper’s</td>") == n_sections


def test_the_typed_tables_cover_all_ages(project_root):
    folder = project_root / "data" / "paper"
    table = read_paper_tables(folder / "atlas_statistics.csv", folder / "atlas_scores.csv")
    wide = table.pivot(index="of", columns="age", values="value")
    assert set(wide) == {"E11.5", "E13.5", "E15.5", "E18.5", "P4", "P14", "P28"}
    assert not wide.isna().any(axis=None)
    # Of the spinal cord the paper has no voxel at P14.
    assert wide.loc["regions"].to_dict() == {age: 20 - (age == "P14") for age in wide}
    assert [sum(wide.index.str.startswith(metric)) for metric in ("CER", "NW")] == [3, 3]
