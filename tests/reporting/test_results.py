"""Results as files give them, and their tables."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchmarks.report_memory import RULES, benchmark

from sparsekm.annotation.clusters import tabulate_overlap
from sparsekm.annotation.gene_table import gene_table
from sparsekm.figures.style import DROPPED
from sparsekm.io.known_classes import UNKNOWN
from sparsekm.pipeline.registry import METHODS
from sparsekm.reporting import figures
from sparsekm.reporting.clusters import class_colors, cluster_colors, view_anatomy, view_answer
from sparsekm.reporting.comparison_tables import compare_methods, statistics_table
from sparsekm.reporting.report import load_dataset_result
from sparsekm.reporting.simulation_page import row_look
from sparsekm.studies import METHOD_ROWS


def test_gene_table_is_made_where_no_file_is_given(matrix_files, matrix_result):
    without = {name: file for name, file in matrix_files.items() if name != "genes"}
    made = load_dataset_result("toy", **without).genes
    assert made["symbol"].tolist() == matrix_result.genes["symbol"].tolist()
    expected = gene_table(matrix_result.var, matrix_result.methods)
    assert made["rank_l1"].tolist() == expected["rank_l1"].tolist()


def test_columns_are_read_from_the_file(matrix_result):
    everything = matrix_result.read_features(np.arange(6))
    assert everything.shape == (12, 6)
    np.testing.assert_array_equal(matrix_result.read_features([1, 4]), everything[:, [1, 4]])
    np.testing.assert_allclose(everything.std(axis=0, ddof=1), 1, rtol=1e-5)


def test_fit_of_another_data_set_is_refused(matrix_files, brain_result):
    with pytest.raises(
        ValueError, match=r"\(n_samples, n_features\)=\(12, 6\) should be \(120, 8\)"
    ):
        load_dataset_result("E11.5", brain_result.normalised, fits=matrix_files["fits"])


def test_every_method_of_the_registry_has_its_title_and_a_look_of_its_own():
    assert len({look.title for look in METHODS.values()}) == len(METHODS)
    main = [name for name, row in METHOD_ROWS.items() if not row.is_variant]
    for looks in (METHODS.values(), [row_look(name) for name in main]):
        for part in ("color", "marker"):
            assert len({getattr(look, part) for look in looks}) == len(looks)


def test_of_many_samples_some_are_shown_and_the_caption_says_so(matrix_result, monkeypatch):
    monkeypatch.setattr(figures, "MOST_POINTS", 5)
    figure, _ = figures.answer_figure(matrix_result)
    scatter = figure.axes[-1]
    assert sum(len(points.get_offsets()) for points in scatter.collections) == 5
    captions = {drawn.name: drawn.caption for drawn in figures.draw_figures(matrix_result)}
    assert "of the features kept, 5 drawn at random." in captions["answer"]


def test_scores_and_curves_are_those_of_their_method_in_any_order(matrix_files):
    mixed = {kind: dict(reversed(matrix_files[kind].items())) for kind in ("scores", "gaps")}
    result = load_dataset_result("toy", **{**matrix_files, **mixed})
    rates = {name: method.rate("cer") for name, method in result.methods.items()}
    assert rates == {"kmeans": 0.3125, "l1": 0.0625, "l0": 0.125}
    assert result.methods["kmeans"].gap is None
    assert result.methods["l1"].gap["n_selected"].tolist() == [2, 5]
    assert result.methods["l0"].gap["n_selected"].tolist() == [2, 3]


@pytest.fixture
def partly(matrix_result):
    """Of the twelve samples, those of the third class and one more have none."""
    codes = np.repeat([0, 1, -1], 4)
    codes[0] = -1
    obs = matrix_result.obs.assign(label=pd.Categorical.from_codes(codes, ["class 0", "class 1"]))
    result = replace(matrix_result, obs=obs)
    clusters = {name: method.labels for name, method in result.methods.items()}
    return replace(result, contingency=tabulate_overlap(clusters, result.labels))


def test_samples_without_a_class_are_counted_where_there_are_any(partly, matrix_result):
    assert "samples without a known label" not in statistics_table([matrix_result]).index
    table = statistics_table([partly])["toy"]
    assert table["number of classes"] == 2
    assert table["samples without a known label"] == 5
    assert "These counts, CER and ARI leave out 5 samples" in view_anatomy(partly)["sentence"]


def test_they_are_grey_and_so_is_a_cluster_of_nothing_else(partly):
    assert class_colors(partly)[UNKNOWN] == DROPPED
    grey = [cluster for cluster, color in cluster_colors(partly).items() if color == DROPPED]
    assert grey == [2]
    facts = dict(view_answer(partly)["facts"])
    assert "5 samples have none" in facts["Known classes"]


def test_statistics_count_genes_voxels_regions_and_what_was_excluded(brain_result):
    counts = dict(brain_result.provenance["counts"])
    counts["section_data_sets"] = {"failed": 31, "no_grid": 2, "rejected": 0}
    provenance = {**brain_result.provenance, "counts": counts, "n_genes_dropped_constant": 1}
    table = statistics_table([replace(brain_result, provenance=provenance)])
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


@pytest.mark.parametrize("origins", [(True, True), (True, False), (False, False)])
def test_simulated_numbers_are_marked_once(matrix_result, origins):
    results = [
        replace(matrix_result, name=name, provenance={"simulated": is_simulated})
        for name, is_simulated in zip("ab", origins, strict=True)
    ]
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
