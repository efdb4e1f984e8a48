"""Margin ratios: how the distances from the nearest boundary between clusters spread."""

import numpy as np
import pytest

from sparsekm.tuning.separation import margin_ratio


def halves(x):
    return (x[:, 0] > 0).astype(np.int32)


@pytest.mark.parametrize("shift", [0.0, -40.0])
def test_two_centres_on_a_line_worked_by_hand(shift):
    # The boundary is at 5: distances 4, 3 and 4, so (41/3) / (11/3)^2.
    part = np.array([[-1.0], [1.0], [10.0]]) + shift
    X = np.array([[1.0], [2.0], [9.0]]) + shift
    ratio = margin_ratio(X, part, np.array([0, 0, 1]), np.ones(1))
    assert ratio == pytest.approx(123 / 121, rel=1e-12)


def test_only_the_two_nearest_of_three_centres_count():
    # Boundaries at 5 and 20: distances 5, 4 and 10.
    part = np.array([[0.0], [10.0], [30.0]])
    X = np.array([[0.0], [9.0], [30.0]])
    ratio = margin_ratio(X, part, np.arange(3), np.ones(1))
    assert ratio == pytest.approx((25 + 16 + 100) / 3 / (19 / 3) ** 2, rel=1e-12)


def test_weights_scale_the_squared_differences_of_features():
    # Weights 1 and 4: the second axis counts twice, and centres at (0, 0) and (0, 10) there become
    # 0 and 20; the third feature has no weight.
    part = np.array([[0.0, 0.0, 9.0], [30.0, 10.0, -9.0]])
    X = np.array([[5.0, 5.0, 3.0], [5.0, 0.0, 3.0], [30.0, 10.0, 3.0]])
    weights = np.array([1.0, 4.0, 0.0])
    centers = np.array([[0.0, 0.0], [30.0, 20.0]])
    axis = (centers[1] - centers[0]) / np.linalg.norm(centers[1] - centers[0])
    margins = np.abs((X[:, :2] * [1.0, 2.0] - centers.mean(axis=0)) @ axis)
    expected = np.mean(margins**2) / np.mean(margins) ** 2
    ratio = margin_ratio(X, part, np.arange(2), weights)
    assert ratio == pytest.approx(expected, rel=1e-12)


def test_two_point_masses_have_the_smallest_ratio():
    X = np.repeat([[0.0, 1.0], [3.0, 7.0]], 10, axis=0)
    labels = np.repeat([0, 1], 10)
    assert margin_ratio(X, X, labels, np.ones(2)) == pytest.approx(1.0, abs=1e-12)
    moved = X + np.linspace(0, 0.5, 20)[:, None]
    assert margin_ratio(moved, X, labels, np.ones(2)) > 1 + 1e-6


@pytest.mark.parametrize(
    ("law", "ratio"), [("uniform", 4 / 3), ("normal", np.pi / 2), ("two", 1.0)]
)
@pytest.mark.parametrize("n_features", [1, 3])
def test_ratios_of_known_laws_cut_in_two(law, ratio, n_features, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (40_000, n_features)) * 0.01
    X[:, 0] = {
        "uniform": rng.uniform(-1, 1, 40_000),
        "normal": rng.standard_normal(40_000),
        "two": np.sign(rng.uniform(-1, 1, 40_000)),
    }[law]
    assert margin_ratio(X, X, halves(X), np.ones(n_features)) == pytest.approx(ratio, abs=0.02)


def test_clearer_clusters_have_smaller_ratios(seed):
    rng = np.random.default_rng(seed)
    labels = np.repeat([0, 1], 2000)
    noise = rng.standard_normal((4000, 2))
    ratios = []
    for distance in (0.0, 2.0, 4.0, 8.0, 16.0):
        X = noise + np.outer(labels - 0.5, [distance, 0.0])
        ratios.append(margin_ratio(X, X, halves(X), np.ones(2)))
    assert (np.diff(ratios) < -0.01).all()


@pytest.mark.parametrize("scale", [1e-5, 7.0, -1.0])
def test_scale_shift_order_and_names_do_not_matter(scale, seed):
    rng = np.random.default_rng(seed)
    part, X = rng.standard_normal((30, 4)), rng.standard_normal((50, 4))
    labels = rng.permutation(np.arange(30) % 3)
    weights = np.array([1.0, 0.3, 0.0, 2.0])
    ratio = margin_ratio(X, part, labels, weights)
    assert 1 < ratio < 10
    shift = 100 * scale * np.arange(4)
    rows, order = rng.permutation(30), rng.permutation(50)
    for other in (
        margin_ratio(scale * X + shift, scale * part + shift, labels, weights),
        margin_ratio(X[order], part[rows], labels[rows], weights),
        margin_ratio(X, part, np.array([2, 0, 1])[labels], weights),
        margin_ratio(X, part, labels, 5 * weights),
    ):
        assert other == pytest.approx(ratio, rel=1e-8)


def test_features_without_weight_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    part, X = rng.standard_normal((20, 3)), rng.standard_normal((30, 3))
    labels, weights = np.arange(20) % 2, np.array([1.0, 0.0, 0.5])
    ratio = margin_ratio(X, part, labels, weights)
    X[:, 1] *= 1e6
    assert margin_ratio(X, part, labels, weights) == ratio


def test_a_single_cluster_has_no_ratio():
    X = np.arange(6.0).reshape(3, 2)
    assert np.isnan(margin_ratio(X, X, np.zeros(3, np.int32), np.ones(2)))


def test_coinciding_centres_have_no_ratio():
    part = np.array([[0.0], [2.0], [0.0], [2.0]])
    X = np.array([[1.0], [5.0]])
    assert np.isnan(margin_ratio(X, part, np.array([0, 0, 1, 1]), np.ones(1)))


def test_float32_samples_are_judged_as_float64_ones(seed):
    rng = np.random.default_rng(seed)
    part, X = rng.standard_normal((30, 4)) + 1000, rng.standard_normal((50, 4)) + 1000
    part, X = part.astype(np.float32), X.astype(np.float32)
    labels = np.arange(30) % 3
    single = margin_ratio(X, part, labels, np.ones(4))
    double = margin_ratio(X.astype(float), part.astype(float), labels, np.ones(4))
    assert single == pytest.approx(double, rel=1e-6)
