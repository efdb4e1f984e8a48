"""Clusters that all samples show, hidden in a search's sample of fewer samples than features."""

import numpy as np
import pytest

import sparsekm.cluster.partition_step as partition_step
from sparsekm import L0KMeans, classification_error_rate
from sparsekm.tuning.references import permuted_reference

N_CLUSTERS, PLANTED = 20, 60


@pytest.fixture
def seed(monkeypatch):
    # As 2,048 samples of 16,000 features, in a 250th of the time.
    monkeypatch.setattr(partition_step, "SEEDING_SAMPLE", 128)
    return 0


def draw(seed):
    """Twenty clusters, each two standard deviations from the others in three of 1,000 features."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(N_CLUSTERS, size=3000)
    X = rng.normal(size=(3000, 1000))
    X[:, :PLANTED] += 2.0 * (labels[:, None] == np.arange(PLANTED) % N_CLUSTERS)
    return X, labels


def test_the_gap_finds_them(seed):
    X, labels = draw(seed)
    estimator = L0KMeans(N_CLUSTERS, n_init=1, random_state=seed)
    grid = [PLANTED // 2, PLANTED, 2 * PLANTED, 4 * PLANTED, X.shape[1]]
    path = estimator.path(X, grid)
    reference = permuted_reference(X, index=0, seed=seed)
    gap = np.log(path.first_objectives / estimator.search_objectives(reference, grid))
    # In a sample of 128 the gap is .02 at most, and largest anywhere.
    assert gap.argmax() == 1
    assert gap[1] > 0.4
    assert classification_error_rate(labels, path.labels[1]) < 0.03


@pytest.mark.release
def test_clusters_are_sought_anew_on_the_features_that_were_found(seed):
    # Among so many features the clusters of the sample stay wrong where the features are right.
    n_planted = 200
    rng = np.random.default_rng(seed)
    labels = rng.integers(N_CLUSTERS, size=1500)
    X = rng.normal(size=(1500, 6000))
    X[:, :n_planted] += 1.5 * (labels[:, None] == np.arange(n_planted) % N_CLUSTERS)
    path = L0KMeans(N_CLUSTERS, n_init=1, random_state=seed).path(X, [n_planted])
    assert np.count_nonzero(path.weights[0, :n_planted]) > 0.9 * n_planted
    assert classification_error_rate(labels, path.labels[0]) < 0.02
