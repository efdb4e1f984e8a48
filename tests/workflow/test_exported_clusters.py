"""What the workflow exports agrees with its fits, with and without known classes."""

import anndata
import numpy as np
import pandas as pd
import pytest

from sparsekm.io.normalised_file import read_normalised
from sparsekm.io.store import read_fit
from sparsekm.io.tables import CLUSTERS, SCORES

# One process for all tests on the finished project, which is made once in each.
pytestmark = pytest.mark.xdist_group("workflow")

METHODS = ("kmeans", "l1", "l0", "sparse")


@pytest.mark.parametrize("dataset", ["E11.5", "tumours", "cells"])
def test_table_and_anndata_hold_the_tuned_fits(finished, dataset):
    folder = finished.root / "results" / dataset
    table = CLUSTERS.read(folder / "clusters.csv")
    found = anndata.read_h5ad(folder / "clusters.h5ad")
    data = read_normalised(finished.root / "data" / dataset / "normalised.h5ad")
    np.testing.assert_array_equal(found.X, data.X)
    assert found.var_names.tolist() == data.features
    assert table["sample"].tolist() == found.obs_names.tolist()
    genes = pd.read_csv(folder / "genes.csv", index_col="symbol").loc[data.features]
    assert found.var["verdict"].tolist() == genes["verdict"].tolist()
    for method in METHODS:
        fit = read_fit(folder / method / "tuned.h5")
        assert table[f"cluster_{method}"].tolist() == fit.labels.tolist()
        assert found.obs[f"cluster_{method}"].astype(int).tolist() == fit.labels.tolist()
        np.testing.assert_array_equal(found.var[f"weight_{method}"], fit.weights)
        np.testing.assert_array_equal(found.var[f"score_{method}"], fit.scores)
        assert found.var[f"rank_{method}"].tolist() == genes[f"rank_{method}"].tolist()
        assert found.uns["sparsekm"][method]["sparsity"] == fit.sparsity
        assert found.uns["sparsekm"][method]["input_digest"] == fit.attributes["input_digest"]


def test_known_classes_and_coordinates_are_handed_on(finished):
    folder = finished.root / "results"
    table = CLUSTERS.read(folder / "tumours" / "clusters.csv")
    assert table["label"].tolist() == ["a"] * 12 + ["b"] * 12
    age = anndata.read_h5ad(folder / "E11.5" / "clusters.h5ad")
    assert age.obsm["spatial"].shape == (age.n_obs, 3)
    assert age.obs["label"].nunique() == len(age.uns["regions"])
    assert age.uns["provenance"]["simulated"]


def test_without_known_classes_only_the_error_rates_are_missing(finished):
    folder = finished.root / "results"
    with_classes, without = (
        {str(file.relative_to(folder / name)) for file in (folder / name).rglob("*.*")}
        for name in ("tumours", "cells")
    )
    assert without == with_classes
    assert set(CLUSTERS.read(folder / "cells" / "clusters.csv")["label"]) == {""}
    assert "label" not in anndata.read_h5ad(folder / "cells" / "clusters.h5ad").obs
    for method in METHODS:
        scores = SCORES.read_row(folder / "cells" / method / "scores.csv")
        rates = ["cer", "cer_chance", "ari", "ami", "ecr"]
        assert scores[rates].isna().all()
        assert scores.drop(rates).notna().all()
