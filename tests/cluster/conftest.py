"""Small data, and oracles that do not use the engine, for the tests of the method."""

import json

import numpy as np
import pytest

from sparsekm.cluster.estimators import KMeans, L0KMeans, L1KMeans
from sparsekm.simulation import gaussian_clusters

# Each with a sparsity that binds on the data of these tests.
ESTIMATORS = {
    "kmeans": (KMeans, {}),
    "l0": (L0KMeans, {"sparsity": 4}),
    "l1": (L1KMeans, {"sparsity": 1.8}),
}


def maker(kind):
    Estimator, binding = ESTIMATORS[kind]
    return lambda n_clusters=3, **parameters: Estimator(n_clusters, **binding | parameters)


@pytest.fixture(params=["kmeans", "l0", "l1"])
def make_estimator(request):
    """Each estimator in turn, at a sparsity that binds."""
    return maker(request.param)


@pytest.fixture(params=["l0", "l1"])
def make_sparse_estimator(request):
    return maker(request.param)


@pytest.fixture(scope="session")
def clear_data():
    """Three clusters of 12 that nobody can miss, in 4 of 20 features. X is read-only."""
    means = np.outer([5.0, -5.0, 0.0], [1.0, 1.2, 1.4, 1.6])
    data = gaussian_clusters(means, 12, 20, standardise=False, random_state=7)
    data.X.setflags(write=False)
    return data


@pytest.fixture(scope="session")
def faint_data():
    """Three clusters of 10 hard to see, in 5 of 25 features (as Experiment 3, with mu = 0.8)."""
    data = gaussian_clusters(np.outer([0.8, -0.8, 0.0], np.ones(5)), 10, 25, random_state=8)
    data.X.setflags(write=False)
    return data


@pytest.fixture(scope="session")
def score_by_pairs():
    """a_j as half of the paper's defining equation: squared differences over all pairs."""

    def score(X, labels):
        X, labels = np.asarray(X, dtype=np.float64), np.asarray(labels)
        squares = (X[:, None, :] - X[None, :, :]) ** 2
        total = squares.sum(axis=(0, 1)) / (2 * len(X))
        within = sum(
            squares[np.ix_(labels == k, labels == k)].sum(axis=(0, 1)) / (2 * (labels == k).sum())
            for k in np.unique(labels)
        )
        return total - within

    return score


@pytest.fixture(scope="session")
def best_value():
    """The largest w'a over the weights that a penalty allows, by the dual problem for l1."""

    def value(scores, penalty, sparsity):
        scores = np.atleast_2d(np.asarray(scores, dtype=np.float64))
        if penalty == "l0":
            return np.sort(scores, axis=1)[:, ::-1][:, :sparsity].sum(axis=1)

        def dual(threshold):
            excess = np.maximum(scores - threshold[:, None], 0)
            return sparsity * threshold + np.sqrt((excess**2).sum(axis=1))

        low, high = np.zeros(len(scores)), scores.max(axis=1)
        for _ in range(90):
            left, right = low + (high - low) / 3, high - (high - low) / 3
            go_left = dual(left) <= dual(right)
            low, high = np.where(go_left, low, left), np.where(go_left, right, high)
        return np.minimum(dual((low + high) / 2), dual(np.zeros(len(scores))))

    return value


@pytest.fixture(scope="session")
def all_partitions():
    """Every partition of n samples into exactly K clusters, one a row (restricted growth)."""

    def partitions(n_samples, n_clusters):
        rows = np.zeros((1, 1), dtype=np.int8)
        for _ in range(1, n_samples):
            highest = rows.max(axis=1)
            rows = np.concatenate(
                [
                    np.column_stack([rows[highest >= k - 1], np.full((highest >= k - 1).sum(), k)])
                    for k in range(n_clusters)
                ]
            ).astype(np.int8)
        return rows[rows.max(axis=1) == n_clusters - 1]

    return partitions


@pytest.fixture(scope="session")
def try_every_partition(all_partitions, best_value):
    def optimum(X, n_clusters, penalty, sparsity, min_cluster_size=1, sample_weight=None):
        weights = np.ones(len(X)) if sample_weight is None else sample_weight
        X = X - np.average(X, axis=0, weights=weights)
        scores, smallest = 0.0, np.inf
        labels = all_partitions(len(X), n_clusters)
        for k in range(n_clusters):
            members = (labels == k) * weights
            smallest = np.minimum(smallest, (labels == k).sum(axis=1))
            scores = scores + (members @ X) ** 2 / members.sum(axis=1, keepdims=True)
        scores = scores[smallest >= min_cluster_size]
        return best_value(scores, penalty, sparsity).max()

    return optimum


@pytest.fixture(scope="session")
def sparcl_reference(test_data):
    """Load a data set and what the R package sparcl returned for it, or skip without the files."""

    def load(name):
        folder = test_data / "sparcl_reference"
        if not folder.is_dir():
            pytest.skip(f"no sparcl results: {folder} is absent")
        results = json.loads((folder / f"{name}.json").read_text())
        with np.load(folder / f"{name}.npz") as arrays:
            return arrays["Z"], int(arrays["K"]), results["fits"]

    return load
