"""The methods section says what the files record, and no more."""

from dataclasses import replace

import pandas as pd
import pytest
import yaml

from sparsekm.io.tables import SEPARATION
from sparsekm.pipeline.normalisation import NORMALISATIONS
from sparsekm.reporting.report import WORDS, Citations, write_methods

COUNTS = {"normalisation": "counts", "n_features_read": 20_000, "n_features_filtered": 18_000}
TESTED = pd.DataFrame(columns=list(SEPARATION.columns))
SEEDS = pd.DataFrame({"agreement": [1.0] * 3})


def text_of(*results):
    return " ".join(write_methods(results, Citations()))


@pytest.mark.parametrize(
    ("about", "fit", "told"),
    [
        ({"provenance": COUNTS}, {}, "Normalisation of toy: counts divided by the total of their"),
        ({"provenance": COUNTS}, {}, "Of the 20,000 features of toy, the 2,000 whose log-transf"),
        ({}, {"separation": TESTED}, "Which clusters of toy stand apart was tested on samples th"),
        (
            {"counts": pd.DataFrame({"n_clusters": [2, 3, 4]})},
            {},
            "The number of clusters of toy was chosen among 2, 3 and 4: neighbouring",
        ),
        (
            {},
            {"attributes": {"n_tuned": 8}},
            "Sparsities were tuned on 8 of the 12 samples of toy, drawn at random",
        ),
        (
            {},
            {"seeds": SEEDS},
            "At the chosen sparsity all samples were clustered from 3 seeds, and the fit with the "
            "largest objective is shown for ℓ₀-k-means; ranges",
        ),
        ({}, {"seeds": SEEDS, "name": "sparse"}, "were clustered from 3 seeds; ranges"),
        ({}, {"name": "ifpca"}, "Higher Criticism"),
    ],
)
def test_the_methods_say_what_was_done_and_only_then(matrix_result, about, fit, told):
    methods = {"l0": replace(matrix_result.methods["l0"], **fit)}
    assert told in text_of(replace(matrix_result, methods=methods, **about))
    assert told not in text_of(matrix_result)


def test_methods_name_the_normalisation_of_each_data_set_and_own_up_to_region_means(
    matrix_result, brain_result
):
    settings = {
        "fill": "region_mean",
        "max_missing_per_gene": 0.3,
        "max_missing_per_voxel": 0.2,
        "scale": "z-score, ddof = 1",
        "transform": "log2",
    }
    provenance = {**brain_result.provenance, "normalisation": settings}
    text = text_of(replace(brain_result, provenance=provenance), matrix_result)
    assert (
        "Normalisation of E11.5: genes of which 30% or more of the values are missing are dropped; "
        "voxels of which 20% or more of the values are missing are dropped; energies x become "
        "log₂(1 + x); missing values become the mean of their gene in their region; every gene has "
        "mean 0 and standard deviation 1 (ddof = 1), constant genes are dropped."
    ) in text
    assert "Normalisation of toy: every feature has mean 0" in text
    assert "which uses the labels" in text
    assert "which uses the labels" not in text_of(matrix_result)


def test_only_sparse_methods_are_said_to_run_the_papers_algorithm(matrix_result):
    plain = {"kmeans": matrix_result.methods["kmeans"]}
    assert "Algorithm 1" in text_of(matrix_result)
    assert "Algorithm 1" not in text_of(replace(matrix_result, methods=plain))


def test_works_are_numbered_in_the_order_of_the_text_that_cites_them(matrix_result):
    citations = Citations()
    rivals = {
        name: replace(matrix_result.methods["kmeans"], name=name) for name in ("ifpca", "scfs")
    }
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
