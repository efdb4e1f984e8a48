"""The AnnData of what was found: it opens as it is, agrees with the fits, and is the same twice."""

from dataclasses import replace

import anndata
import numpy as np
import pandas as pd
import pytest

from sparsekm.annotation.clusters_file import add_clusters, write_clusters
from sparsekm.io.fit_file import Fit
from sparsekm.io.normalised_file import read_anndata, write_normalised

N, P, K = 6, 4, 3


def make_fit(method, weights, seed):
    rng = np.random.default_rng(seed)
    labels = np.array([0, 0, 1, 1, 1, 0], dtype=np.int32)
    about = {
        "method": method,
        "n_clusters": K,
        "seed": 1,
        "parameters": {"n_init": 2, "init": None},
        "versions": {"numpy": "2.0"},
        "rule": "max",
    }
    return Fit(2.0, 7.5, labels, rng.random(P), np.array(weights), rng.random((K, P)), about)


@pytest.fixture
def fits(seed):
    return {
        "l0": make_fit("l0", [0.0, 1.0, 1.0, 0.0], seed),
        "l1": make_fit("l1", [0.0, 0.6, 0.0, 0.8], seed + 1),
    }


@pytest.fixture
def normalised(tmp_path, X):
    write_normalised(
        tmp_path / "normalised.h5ad",
        X,
        pd.DataFrame({"label": list("bababa")}, index=[f"cell{i}" for i in range(N)]),
        pd.DataFrame({"name": ["one", "two", "three", "four"]}, index=list("efgh")),
        {"dataset": "toy", "simulated": False, "versions": {"numpy": "2.0"}},
        obsm={"spatial": np.arange(3.0 * N).reshape(N, 3)},
        uns={"regions": pd.DataFrame({"acronym": ["a", "b"], "id": [2**40, 7]})},
    )
    return tmp_path / "normalised.h5ad"


def test_the_file_holds_data_clusters_weights_and_settings(normalised, fits, X):
    data = read_anndata(normalised)
    add_clusters(data, fits)
    file = normalised.with_name("clusters.h5ad")
    write_clusters(file, data)
    read = anndata.read_h5ad(file)
    np.testing.assert_array_equal(read.X, X)
    assert read.X.dtype == np.float32
    for method, fit in fits.items():
        clusters = read.obs[f"cluster_{method}"]
        assert clusters.astype(int).tolist() == fit.labels.tolist()
        # A cluster without samples is a category all the same.
        assert clusters.cat.categories.tolist() == ["0", "1", "2"]
        np.testing.assert_array_equal(read.var[f"weight_{method}"], fit.weights)
        np.testing.assert_array_equal(read.var[f"score_{method}"], fit.scores)
        assert (read.var[f"rank_{method}"] == 1).argmax() == fit.scores.argmax()
        np.testing.assert_array_equal(read.varm[f"centers_{method}"], fit.centers.T)
        about = read.uns["sparsekm"][method]
        assert (about["sparsity"], about["objective"], about["rule"]) == (2.0, 7.5, "max")
        assert about["n_features_kept"] == 2
        assert about["parameters"] == '{"init": null, "n_init": 2}'
    assert read.var["kept_l0"].tolist() == [False, True, True, False]
    assert read.var["verdict"].tolist() == ["neither", "kept by both", "only l0", "only l1"]
    assert read.obs["label"].tolist() == list("bababa")
    assert read.obsm["spatial"][5].tolist() == [15, 16, 17]
    assert read.uns["regions"]["id"].tolist() == [2**40, 7]
    assert read.uns["provenance"]["dataset"] == "toy"


def test_shares_of_resamplings_stand_beside_samples_and_features(normalised, fits):
    shares = {"confidence": np.arange(N) / N, "selection_frequency": np.arange(P) / P}
    data = read_anndata(normalised)
    add_clusters(data, {"sparse": replace(fits["l0"], **shares), "l0": fits["l0"]})
    np.testing.assert_array_equal(data.obs["confidence_sparse"], shares["confidence"])
    frequency = data.var["selection_frequency_sparse"]
    np.testing.assert_array_equal(frequency, shares["selection_frequency"])
    assert "confidence_l0" not in data.obs
    assert "selection_frequency_l0" not in data.var


def test_equal_results_give_equal_bytes(normalised, fits):
    contents = []
    for name in ("a.h5ad", "b.h5ad"):
        data = read_anndata(normalised)
        add_clusters(data, fits)
        write_clusters(normalised.with_name(name), data)
        contents.append(normalised.with_name(name).read_bytes())
    assert contents[0] == contents[1]


def test_a_fit_of_other_data_is_refused(normalised, fits):
    data = read_anndata(normalised)[:5].copy()
    with pytest.raises(ValueError, match="l0: n_samples=6 and n_features=4 should be 5 and 4"):
        add_clusters(data, fits)
