"""Starts see clipped values and have no tiny clusters; together they find plain groups."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from sparsekm import SparseKMeans
from sparsekm.tuning.candidates import Samples, kept_features

pytestmark = pytest.mark.usefixtures("one_repeat")
THREE = np.arange(90) % 3


def score(X, truth, **parameters):
    fit = SparseKMeans(len(np.unique(truth)), random_state=0, **parameters).fit(X)
    return adjusted_rand_score(truth, fit.labels_)


def two_of_fifty(rng):
    X = rng.standard_normal((90, 50))
    X[:, :2] += 6 * THREE[:, None]
    return X


def copies_of_noise(rng):
    X = rng.standard_normal((90, 50))
    X[:, :10] += 3 * (THREE[:, None] == np.arange(10) % 3)
    X[:, 10:] = X[:, 10:11] + 0.1 * X[:, 10:]
    return X


def beside_a_factor(rng):
    X = rng.standard_normal((90, 100))
    X[:, :10] += 4 * (THREE[:, None] == np.arange(10) % 3)
    X[:, 10:30] += 2 * rng.standard_normal((90, 1))
    return X


@pytest.mark.parametrize("draw", [two_of_fifty, copies_of_noise, beside_a_factor])
def test_plain_groups_are_found(draw):
    for seed in range(2):
        X = draw(np.random.default_rng(seed))
        assert score(X, THREE) > 0.95
    assert score(X, THREE, penalty="l1") > 0.95


def test_the_classes_are_found_beside_a_factor_that_misleads(test_data):
    with np.load(test_data / "designs" / "factor_120x2000.npz") as arrays:
        assert score(arrays["X"], arrays["y"]) == 1


@pytest.mark.parametrize("seed", range(2))
def test_a_wild_sample_is_a_cluster_of_no_start(seed, monkeypatch):
    starts, fit = [], Samples.fit

    def remember(self, labels, count):
        # Other numbers go on from a fit before.
        if self.matrix.n_samples == 60 and count in (1, 2, 4, 50, 100):
            starts.append(labels)
        return fit(self, labels, count)

    monkeypatch.setattr(Samples, "fit", remember)
    X = np.random.default_rng(seed).standard_normal((60, 100))
    X[0] *= 12
    SparseKMeans(2, random_state=0).fit(X)
    # Components at two numbers of features, and marginals at three.
    assert len(starts) >= 5
    assert min(np.bincount(labels).min() for labels in starts) >= 5
    X[::2, :12] += 3
    assert score(X[1:], np.arange(1, 60) % 2) == 1


def test_groups_of_three_samples_are_possible():
    truth = np.repeat([0, 1, 2], [30, 27, 3])
    X = np.random.default_rng(0).standard_normal((60, 60))
    X[:, :15] += 4 * (truth[:, None] == np.arange(15) % 3)
    assert score(X, truth) == 1


@pytest.mark.parametrize(
    ("n_clusters", "n_features", "n_kept"), [(2, 999, 50), (3, 999, 50), (5, 999, 100), (5, 41, 21)]
)
def test_fits_keep_25_features_a_cluster_but_the_first(n_clusters, n_features, n_kept):
    assert kept_features(n_clusters, n_features) == n_kept
