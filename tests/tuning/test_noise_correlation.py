"""Whether features correlate beyond the clusters: chance is one, clusters do not count."""

import numpy as np
import pytest

from sparsekm.simulation import gaussian_clusters
from sparsekm.tuning.feature_limit import noise_correlation

MEANS = np.outer([2.0, -2.0, 0.0], np.ones(20))


def drawn(correlation, seed=0):
    return gaussian_clusters(MEANS, 20, 200, correlation=correlation, random_state=seed)


def test_two_features_hand_worked():
    # Residuals within two clusters of two: (-1, 1, -1, 1) and (-1, 1, 1, -1), correlation 0;
    # and the first with itself, correlation 1 for n - K = 2.
    labels = np.array([0, 0, 1, 1], dtype=np.int32)
    one, two = np.array([-1.0, 1, -1, 1]), np.array([-1.0, 1, 1, -1])
    apart = np.array([0.0, 0, 100, 100])
    assert noise_correlation(np.column_stack([one, two + apart]), labels, np.zeros(2)).mean == 0
    same = noise_correlation(np.column_stack([one, 3 * one + apart]), labels, np.zeros(2)).mean
    assert same == pytest.approx(2)


@pytest.mark.parametrize("seed", range(3))
def test_independent_features_score_one_whether_or_not_clusters_shift_them(seed):
    data = drawn(0.0, seed)
    labels = data.labels.astype(np.int32)
    everything = noise_correlation(data.X, labels, np.ones(200)).mean
    dropped = noise_correlation(data.X, labels, data.relevant.astype(float)).mean
    # 19,900 pairs: a standard deviation of sqrt(2 / 19900) = 0.01.
    assert everything == pytest.approx(1, abs=0.06)
    assert dropped == pytest.approx(1, abs=0.06)
    # Without their cluster means removed, relevant features correlate by 0.7.
    assert noise_correlation(data.X, np.zeros(60, np.int32), np.ones(200)).mean > 1.2


def test_correlated_features_score_more():
    data = drawn(0.9)
    labels = data.labels.astype(np.int32)
    assert noise_correlation(data.X, labels, data.relevant.astype(float)).mean > 2


def test_neither_scale_nor_constant_features_matter():
    data = drawn(0.5)
    labels, weights = data.labels.astype(np.int32), np.zeros(200)
    scaled = data.X * np.geomspace(0.1, 10, 200) + 5
    expected = noise_correlation(data.X, labels, weights).mean
    assert noise_correlation(scaled, labels, weights).mean == pytest.approx(expected)
    with_constant = np.column_stack([data.X, np.full(60, 3.0)])
    value = noise_correlation(with_constant, labels, np.zeros(201)).mean
    assert value == pytest.approx(expected)
    assert noise_correlation(np.ones((60, 3)), labels, np.zeros(3)).mean == 1


@pytest.mark.parametrize("seed", range(20))
def test_independent_features_are_within_chance_and_weakly_correlated_ones_are_not(seed):
    for correlation, expected in ((0.0, False), (0.6, True)):
        data = drawn(correlation, seed)
        found = noise_correlation(data.X, data.labels.astype(np.int32), data.relevant.astype(float))
        assert found.is_beyond_chance == expected
