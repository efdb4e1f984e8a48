"""The estimator and the workflow find the same, whatever is asked for."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score
from written_files import save_matrix

from sparsekm import SparseKMeans
from sparsekm.cluster.batches import centre_batches, conclude_with_batches, count_batches
from sparsekm.cluster.description import Description
from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.pipeline.problem import define_problem
from sparsekm.pipeline.provenance import derive_seed
from sparsekm.tuning.chosen_fit import find_clusters

pytestmark = pytest.mark.usefixtures("one_repeat")
N, P = 60, 40
KIND = np.arange(N) % 3
RNG = np.random.default_rng(4)
WEIGHTS = np.where(np.arange(N) < 4, 0.0, RNG.uniform(0.5, 3, N))
DONORS = np.array([f"donor {number}" for number in RNG.integers(0, 15, N)])
GENE_GROUPS = np.array([f"module {j // 4}" for j in range(P)])
OPTIONS = {
    "nothing": {},
    "a number that is chosen": {"n_clusters": "auto"},
    "l1": {"penalty": "l1"},
    "weights": {"weights": WEIGHTS},
    "weights and a number that is chosen": {"weights": WEIGHTS, "n_clusters": "auto"},
    "trim": {"trim": 0.1},
    "trim and a number that is chosen": {"trim": 0.1, "n_clusters": "auto"},
    "donors": {"groups": DONORS},
    "donors and weights": {"groups": DONORS, "weights": WEIGHTS},
    "groups of features": {"feature_groups": GENE_GROUPS},
    "some samples": {"max_samples": 40},
    "the signature": {"selection": "signature"},
}


@pytest.fixture(name="X", scope="module")
def matrix():
    X = RNG.normal(size=(N, P))
    X[:, :8] += 3.0 * (np.arange(8) % 3 == KIND[:, None])
    X[:3] *= 4
    return X * RNG.uniform(0.5, 4, P) + RNG.normal(size=P)


@pytest.fixture(name="find")
def find_in_workflow(tmp_path):
    """Find clusters as the rules choose_cluster_count and find_consensus do."""

    def find(X, n_clusters=3, *, weights=None, groups=None, feature_groups=None, **search):
        mean, deviation = X.mean(axis=0), X.std(axis=0, ddof=1)
        Z = ((X - mean) / deviation).astype(np.float32)
        known = {"mean": mean, "deviation": deviation, "group": feature_groups}
        var = {name: value for name, value in known.items() if value is not None}
        obs = {"weight": weights, "group": groups}
        obs = {name: value for name, value in obs.items() if value is not None}
        file = save_matrix(tmp_path / "normalised.h5ad", Z, obs, var, {"source": "matrix"})

        def pose(k, numbers=None):
            asked = {"n_clusters": k, "search": search, "grid": {}, "seed": 1, "numbers": numbers}
            most = search.get("max_samples")
            return define_problem(file, "own", "sparse", **asked, max_samples=most, code_digest="")

        if n_clusters != "auto":
            return pose(n_clusters).find()
        return pose("auto", pose("auto").find().numbers).find()

    return find


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_the_estimator_and_the_rules_find_the_same(X, find, options):
    found, seed = find(X, **options), derive_seed(1, "own")
    given = {"n_clusters": 3, **options}
    known = {name: given.pop(name, None) for name in ("weights", "groups")}
    estimator = SparseKMeans(**given, random_state=seed)
    estimator.fit(X, groups=known["groups"], sample_weight=known["weights"])
    np.testing.assert_array_equal(found.clustered, estimator.labels_)
    np.testing.assert_allclose(found.weights, estimator.feature_weights_, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found.scores, estimator.feature_scores_, rtol=1e-3, atol=1e-3)
    np.testing.assert_array_equal(found.left_out, estimator.left_out_labels_)
    assert found.conclusion.split(", but in")[0] == estimator.conclusion_.split(", but in")[0]
    np.testing.assert_allclose(found.separation["p"], estimator.separation_["p"], rtol=1e-6)


@pytest.mark.filterwarnings("ignore:cluster")
def test_values_centred_within_batches_are_clustered_alike(X):
    batch = np.where(RNG.random(N) < 0.5, "first", "second")
    shifted = X + 6 * (batch == "second")[:, None] * (np.arange(P) >= 20)
    estimator = SparseKMeans(3, random_state=0).fit(shifted, batch=batch)
    data = ScaledData.standardise(shifted)
    about = Description(batch=batch, features=np.arange(P))
    found, centred = (
        find_clusters(SparseKMeans(3, random_state=0), each)
        for each in (
            dataclasses.replace(data, about=about),
            centre_batches(dataclasses.replace(data, about=about)),
        )
    )
    np.testing.assert_array_equal(found.labels, estimator.labels_)
    np.testing.assert_array_equal(centred.labels, estimator.batch_centred_.labels_)
    counts = count_batches(found.labels, pd.factorize(batch)[0])
    assert conclude_with_batches(found.conclusion, counts) == estimator.conclusion_
    assert adjusted_rand_score(batch, found.labels) > 0.9
    assert "coincide with batches and cannot be told" in estimator.conclusion_.split(". ")[0]
