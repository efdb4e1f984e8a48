"""Starts see clipped values and have no tiny clusters; together they find plain groups."""

import warnings

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from sparsekm import L0KMeans, SparseKMeans
from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.tuning.candidates import (
    STARTS,
    Samples,
    first_start,
    fit_optima,
    kept_features,
)
from sparsekm.tuning.feature_ranking import count_differing
from sparsekm.tuning.fold_fits import Folds

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


def ten_of_forty(rng):
    X = rng.standard_normal((90, 40))
    X[THREE == 0, :10] += 5
    X[THREE == 1, :5] -= 5
    return X


def beside_a_factor(rng):
    X = rng.standard_normal((90, 100))
    X[:, :10] += 4 * (THREE[:, None] == np.arange(10) % 3)
    X[:, 10:30] += 2 * rng.standard_normal((90, 1))
    return X


@pytest.mark.parametrize("draw", [two_of_fifty, ten_of_forty, copies_of_noise, beside_a_factor])
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


def samples_of(X, n_clusters):
    data, estimator = ScaledData.standardise(X), L0KMeans(n_clusters, random_state=1, n_jobs=1)
    return Folds(data, estimator, "all", np.arange(len(X)), []).whole


@pytest.mark.parametrize(
    ("n_features", "numbers", "marginals"),
    [
        # Half of few features, all of them, and a half and a quarter of the half.
        (6, [3, 6, 1], ["1", "1 settled", "2", "2 settled"]),
        (40, [20, 40, 5, 2, 1], ["1", "1 settled", "2", "2 settled", "4 settled"]),
        (101, [50, 12, 6, 3], ["1", "1 settled", "2", "2 settled", "4 settled"]),
    ],
)
def test_the_list_of_candidates_is_fixed(n_features, numbers, marginals):
    samples = samples_of(np.random.default_rng(0).standard_normal((45, n_features)), 3)
    found = [str(name) for start in STARTS.values() for name, _ in start(samples)]
    expected = [f"components {number}" for number in numbers]
    assert found == expected + [f"marginals {number}" for number in marginals]


def test_starts_see_values_that_no_single_sample_stretches():
    X = np.random.default_rng(0).standard_normal((60, 8))
    X[7, 2] = 99
    samples = samples_of(X, 2)
    z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    np.testing.assert_allclose(samples.clipped(8), np.clip(z, -3, 3))
    np.testing.assert_allclose(samples.clipped(3, 5.0), np.clip(z, -5, 5)[:, :3])


def test_optima_see_what_marks_a_cluster_of_the_smallest_size(monkeypatch):
    limits, clipped = [], Samples.clipped
    monkeypatch.setattr(Samples, "clipped", lambda *of: limits.append(of[2]) or clipped(*of))
    samples = samples_of(np.random.default_rng(0).standard_normal((80, 8)), 2)
    fits = list(fit_optima(samples))
    # A value that five of 80 samples have is within the root of 16 deviations.
    assert limits == [4.0]
    assert [np.count_nonzero(fit.weights) for fit in fits] == [2, 4, 8]


@pytest.mark.parametrize("seed", range(1, 4))
def test_a_settled_fit_keeps_as_many_features_as_differ(seed):
    X = np.random.default_rng(seed).standard_normal((90, 40))
    X[:, :16] += 1.6 * (THREE[:, None] == np.arange(16) % 3)
    samples = samples_of(X, 3)
    start = np.where(np.arange(90) % 7 == 0, (THREE + 1) % 3, THREE).astype(np.int32)
    fit = samples.settle(samples.fit(start, 1))
    assert count_differing(samples.matrix, fit.labels, fit.scores) == np.count_nonzero(fit.weights)
    assert fit.weights[:16].all()


@pytest.mark.parametrize("seed", range(3))
def test_copies_of_one_feature_count_as_the_root_of_their_number(seed):
    # 38 copies of noise vary more than 24 features of two classes, but their root is less.
    rng, truth = np.random.default_rng(seed), np.arange(90) % 2
    X = rng.standard_normal((90, 62))
    X[:, :24] += 5 * (truth[:, None] == np.arange(24) % 2)
    X[:, 24:] = X[:, 24:25] + 0.1 * X[:, 24:]
    assert adjusted_rand_score(truth, first_start(samples_of(X, 2))) == 1


def test_marginals_start_from_features_that_do_not_follow_each_other(monkeypatch):
    # Four copies show two classes, and one feature less clearly two others across these.
    rng, truth = np.random.default_rng(0), np.arange(80) % 4
    X = rng.standard_normal((80, 12))
    X[:, 2:6] = 5 * (truth // 2)[:, None] + 0.6 * X[:, 2:3] + 0.2 * X[:, 2:6]
    X[:, 7] = 4 * (truth % 2) + 0.8 * X[:, 7]
    starts, fit, seen, cluster = {}, Samples.fit, [], Samples.cluster
    monkeypatch.setattr(Samples, "fit", lambda *given: starts.update([given[:0:-1]]) or fit(*given))
    monkeypatch.setattr(Samples, "cluster", lambda *given: seen.append(given[1]) or cluster(*given))
    list(STARTS["marginals"](samples_of(X, 4)))
    assert adjusted_rand_score(truth, starts[2]) > 0.95
    # No two of the four have a correlation of 0.7: one copy is enough.
    assert [values.shape[1] for values in seen] == [1, 2, 4]
    assert (np.abs(np.corrcoef(seen[-1].T)) - np.eye(4)).max() < 0.7


@pytest.mark.parametrize(
    ("n_clusters", "n_features", "n_kept"), [(2, 999, 50), (3, 999, 50), (5, 999, 100), (5, 41, 21)]
)
def test_fits_keep_25_features_a_cluster_but_the_first(n_clusters, n_features, n_kept):
    assert kept_features(n_clusters, n_features) == n_kept


@pytest.mark.parametrize(("seed", "n_clusters"), [(1, 7), (3, 3)])
def test_starts_whose_centres_coincide_warn_of_nothing_that_the_user_could_change(seed, n_clusters):
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.15, (80, 40)).astype(float)
    X[:40, :5] += rng.poisson(2, (40, 5))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        SparseKMeans(n_clusters, random_state=seed).fit(X)
    assert not [one for one in told if "same centre" in str(one.message)]
