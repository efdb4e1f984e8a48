"""How often genes are kept in halves, and the files of what was found."""

import json
from dataclasses import replace
from types import SimpleNamespace

import anndata
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from sparsekm.annotation.clusters import add_clusters, tabulate_clusters
from sparsekm.annotation.stability import count_kept, draw_half, read_stability, write_stability
from sparsekm.cluster.estimators import L0KMeans, L1KMeans
from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.cluster.sparsity_path import ChosenFit
from sparsekm.io.normalised_file import read_anndata, write_normalised, write_with_matrix
from sparsekm.io.tables import CLUSTERS


def test_halves_differ_but_come_back_with_their_number_and_seed():
    first, again, other, seeded = (
        draw_half(100, number, seed=seed).tolist()
        for number, seed in [(3, 5), (3, 5), (4, 5), (3, 6)]
    )
    assert first == again
    assert other != first != seeded


@pytest.mark.parametrize(("estimator", "sparsity"), [(L0KMeans(3), 4), (L1KMeans(3), 1.9)])
def test_features_that_make_the_clusters_are_kept_in_every_half(seed, estimator, sparsity):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 12))
    means = rng.permuted(np.array([[-4.0], [0], [4]]) * np.ones((3, 4)), axis=0)
    X[:, :4] += np.repeat(means, 20, axis=0)
    counts = count_kept(ScaledData.standardise(X), estimator, sparsity, 6, seed=1)
    assert (counts[:4] == 6).all()
    assert counts[4:].max() < 6


def test_without_clusters_the_kept_features_are_rarely_kept_in_halves():
    shares = []
    for seed in range(3):
        X = np.random.default_rng(seed).normal(size=(120, 60))
        kept = L0KMeans(3, sparsity=12, n_init=2, random_state=seed).fit(X).get_support()
        counts = count_kept(ScaledData.standardise(X), L0KMeans(3), 12, 10, seed)
        shares.append(counts[kept].mean() / 10)
    # By chance .2, and somewhat more since a half is a part of the whole. From the labels of the
    # whole it is above .8.
    assert np.mean(shares) < 0.45


@pytest.mark.parametrize("container", [np.asarray, csr_array])
def test_halves_start_from_the_features_that_rank_first_as_the_folds_of_the_consensus_do(container):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 400))
    X[:, :20] += 2 * np.repeat([0, 1], 120)[:, None]
    # Features of little variance share a factor: of their z-scores, halves of it hold more.
    X[:, 220:] = 0.1 * (rng.normal(size=(240, 1)) + 0.2 * X[:, 220:])
    data = ScaledData.standardise(container(X))
    asked = data, L0KMeans(2), 20, 4, 1
    optimum, screened = (count_kept(*asked, screening=how) for how in (None, "variance"))
    assert optimum[:20].max() == 0
    assert screened[:20].min() >= 3
    assert screened[20:].max() < 3


def test_shares_survive_their_file_and_another_data_sets_file_is_refused(tmp_path):
    file = tmp_path / "stability.csv"
    write_stability(file, ["NA", "1", "x"], np.array([0, 5, 20]), 20)
    assert list(read_stability(file, ["NA", "1", "x"])) == [0, 0.25, 1]
    with pytest.raises(ValueError, match="written by rule gene_stability"):
        read_stability(file, ["NA", "x", "1"])
    write_stability(file, ["NA"], np.array([3]), 2)
    with pytest.raises(ValueError, match="between 0 and 'subsamples'"):
        read_stability(file, ["NA"])


N, P, K = 6, 4, 3


def make_fit(method, weights, seed):
    rng = np.random.default_rng(seed)
    labels = np.array([0, 0, 1, 1, 1, 0], dtype=np.int32)
    about = {"method": method, "n_clusters": K, "seed": 1, "rule": "max"}
    about |= {"parameters": {"n_init": 2, "init": None}, "versions": {"numpy": "2.0"}}
    known = {"labels": labels, "scores": rng.random(P), "weights": np.array(weights)}
    known |= {"sparsity": 2.0, "objective": 7.5, "centers": rng.random((K, P))}
    return ChosenFit(**known, attributes=about)


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
    write_with_matrix(file, data, normalised)
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
        assert (about["sparsity"], about["objective"]) == (2.0, 7.5)
        assert about["n_features_kept"] == 2
        assert json.loads(about["versions"]) == fit.attributes["versions"]
    assert read.var["kept_l0"].tolist() == [False, True, True, False]
    assert read.obs["label"].tolist() == list("bababa")
    assert read.obsm["spatial"][5].tolist() == [15, 16, 17]
    assert read.uns["regions"]["id"].tolist() == [2**40, 7]
    assert read.uns["provenance"]["dataset"] == "toy"


def test_shares_of_the_fits_of_folds_stand_beside_samples_and_features(normalised, fits):
    shares = {"reproducibility": np.arange(N) / N, "selection_frequency": np.arange(P) / P}
    data = read_anndata(normalised)
    add_clusters(data, {"sparse": replace(fits["l0"], **shares), "l0": fits["l0"]})
    np.testing.assert_array_equal(data.obs["reproducibility_sparse"], shares["reproducibility"])
    frequency = data.var["selection_frequency_sparse"]
    np.testing.assert_array_equal(frequency, shares["selection_frequency"])
    assert "reproducibility_l0" not in data.obs
    assert "selection_frequency_l0" not in data.var
    # A fit of other data is refused.
    with pytest.raises(ValueError, match="does not match length"):
        add_clusters(read_anndata(normalised)[:5].copy(), fits)


def test_clusters_are_numbers_beside_names_and_classes_that_stay_strings(tmp_path):
    labels, shares = np.array([2, 1, 2], dtype=np.int32), np.array([0.75, 1.0, 0.5])
    known = {"clustered": labels, "batch_centred": None}
    l0, sparse = (SimpleNamespace(reproducibility=r, **known) for r in (None, shares))
    table = tabulate_clusters(["NA", "1", "a,b"], ["x", "nan", "2"], {"sparse": sparse, "l0": l0})
    CLUSTERS.write(tmp_path / "clusters.csv", table)
    read = CLUSTERS.read(tmp_path / "clusters.csv")
    assert read["sample"].tolist() == ["NA", "1", "a,b"]
    assert read["label"].tolist() == ["x", "nan", "2"]
    assert read["cluster_l0"].tolist() == [2, 1, 2]
    # That of a method that has it.
    assert read.columns.tolist()[2:] == ["cluster_sparse", "reproducibility_sparse", "cluster_l0"]
    assert read["reproducibility_sparse"].tolist() == shares.tolist()
    # Where batches are known, the clusters within them follow.
    centred = SimpleNamespace(**{**vars(l0), "batch_centred": np.array([1, -1, 0])})
    CLUSTERS.write(tmp_path / "b.csv", tabulate_clusters(["a", "b", "c"], None, {"l0": centred}))
    read = CLUSTERS.read(tmp_path / "b.csv")
    assert read["cluster_l0_within_batches"].tolist() == [1, -1, 0]
    # Without known classes their column is empty.
    CLUSTERS.write(tmp_path / "c.csv", tabulate_clusters(["a", "b", "c"], None, {"l0": l0}))
    assert (tmp_path / "c.csv").read_text() == "sample,label,cluster_l0\na,,2\nb,,1\nc,,2\n"
