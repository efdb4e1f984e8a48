"""Scores by correlation, and the start from the features that have the highest."""

import numpy as np
import pytest

import sparsekm.cluster.correlation_scores as module
from sparsekm import L0KMeans, classification_error_rate
from sparsekm.cluster.correlation_scores import correlation_scores
from sparsekm.cluster.matrices.matrix import CentredMatrix
from sparsekm.cluster.search.starts import make_start
from sparsekm.runtime.random_state import seed_sequence


def columns_of(X):
    return CentredMatrix(X).columns


def test_squared_correlations_beyond_chance_are_added_up(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 30))
    X[:, :6] += 1.5 * rng.normal(size=(40, 1))
    X[:, 9] = 4
    with np.errstate(invalid="ignore", divide="ignore"):
        squares = np.nan_to_num(np.corrcoef(X.T)) ** 2
    np.fill_diagonal(squares, 0)
    expected = np.where(squares >= 4 * np.log(30) / 40, squares, 0).sum(axis=0)
    assert np.count_nonzero(expected) >= 6
    assert expected[9] == 0
    np.testing.assert_allclose(correlation_scores(columns_of(X)), expected, rtol=1e-4)


def test_neither_scale_nor_sign_nor_order_counts(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 20)) + 2 * rng.normal(size=(50, 1)) * (np.arange(20) < 8)
    scores = correlation_scores(columns_of(X))
    changed = X * rng.choice([-3.0, 0.5], size=20) + 7
    np.testing.assert_allclose(correlation_scores(columns_of(changed)), scores, rtol=1e-4)
    order = rng.permutation(20)
    np.testing.assert_allclose(
        correlation_scores(columns_of(X[:, order])), scores[order], rtol=1e-4
    )


def test_blocks_and_threads_change_nothing(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    columns = columns_of(rng.normal(size=(60, 50)) + rng.normal(size=(60, 1)))
    whole = correlation_scores(columns)
    monkeypatch.setattr(module, "BLOCK", 7)
    parts = correlation_scores(columns)
    np.testing.assert_allclose(parts, whole, rtol=1e-5)
    for n_threads in (2, 5):
        np.testing.assert_array_equal(correlation_scores(columns, n_threads), parts)


def test_clusters_that_a_search_from_all_features_misses_are_found(seed):
    # Twenty clusters, each two standard deviations from the others in five of 12,000 features.
    rng = np.random.default_rng(seed)
    labels = rng.integers(20, size=1200)
    X = rng.normal(size=(1200, 12_000)).astype(np.float32)
    X[:, :100] += 2.0 * (labels[:, None] == np.arange(100) % 20)
    rates = {}
    for init in (None, "correlated"):
        settings = {"init": init, "search": "global", "n_init": 1, "random_state": seed}
        fit = L0KMeans(20, sparsity=100, **settings).fit(X)
        rates[init] = classification_error_rate(labels, fit.labels_)
    # Labels at random are wrong in .095 of the pairs.
    assert rates["correlated"] < 0.02
    assert rates[None] > 0.05
    assert np.count_nonzero(fit.feature_weights_[:100]) >= 90


def test_where_nothing_correlates_there_is_no_such_start(seed):
    X = np.random.default_rng(seed).normal(size=(12, 40))
    assert make_start("correlated", CentredMatrix(X), 3, seed_sequence(0)) is None
    settings = {"sparsity": 5, "search": "global", "n_init": 2, "random_state": 0}
    without, found = (L0KMeans(2, init=init, **settings).fit(X) for init in (None, "correlated"))
    assert found.objective_ == pytest.approx(without.objective_)
    assert L0KMeans(2, sparsity=5, init="correlated", random_state=0).fit(X).search_ == "alternate"
