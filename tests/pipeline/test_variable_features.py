"""The most variable features of raw counts, by Seurat v3's criterion."""

import numpy as np
import pytest

from sparsekm.io.readers.raw_matrix import MatrixError, RawMatrix
from sparsekm.io.row_stream import RowStream
from sparsekm.pipeline.local_regression import local_quadratic
from sparsekm.pipeline.normalisation import normalise
from sparsekm.pipeline.variable_features import most_variable, standardised_variances


def raw(X):
    X = np.array(X, dtype=np.float32)
    return RawMatrix(RowStream.of(X), np.zeros(X.shape[1]), [f"g{j}" for j in range(X.shape[1])])


def draw():
    """Draw Poisson counts, of which ten features also differ between two groups."""
    rng = np.random.default_rng(0)
    rates = np.tile(10 ** rng.uniform(-1, 1.3, 400), (150, 1))
    rates[:, 40:50] = 3
    rates[:75, 40:50] *= 4
    return rng.poisson(rates)


def test_a_quadratic_is_its_own_local_regression():
    x = np.random.default_rng(0).uniform(-1, 2, 80)
    y = 1 - 2 * x + 3 * x**2
    np.testing.assert_allclose(local_quadratic(x, y), y, atol=1e-8)


def test_a_local_regression_worked_by_hand():
    # The 3 nearest of 0 are 0, 1 and 2; at the farthest the weight is 0: a line through (0, 1) and
    # (1, 3), and of all quadratics through them the value at 0 is 1.
    fitted = local_quadratic(np.array([0.0, 1, 2, 3, 4]), np.array([1.0, 3, 0, 0, 0]), span=0.6)
    assert fitted[0] == pytest.approx(1)
    # Where all means are equal the regression is the mean of all.
    fitted = local_quadratic(np.zeros(4), np.array([1.0, 2, 3, 6]), span=1.0)
    np.testing.assert_allclose(fitted, 3.0)


def test_standardised_variances_worked_by_hand():
    # All means are 1. The variances are 4/3 and 4, so the mean of their logarithms is that of
    # sqrt(4/3 * 4) = 2.31.
    X = np.array([[0, 0, 0, 0], [2, 2, 0, 0], [0, 0, 4, 4], [2, 2, 0, 0]])
    variances = X.var(axis=0, ddof=1)
    np.testing.assert_allclose(variances, [4 / 3, 4 / 3, 4, 4])
    expected = np.sqrt(4 / 3 * 4)
    # 4 is (4 - 1) / sqrt(2.31) = 1.97 standard deviations up, just below the clip at sqrt(4).
    np.testing.assert_allclose(standardised_variances(RowStream.of(X)), variances / expected)
    X = np.concatenate([X, np.full((4, 1), 7)], axis=1)
    assert standardised_variances(RowStream.of(X))[4] == 0


def test_features_that_differ_between_groups_come_first_and_ties_go_to_the_lowest_index():
    X = draw()
    assert set(most_variable(RowStream.of(X), 12)) >= set(range(40, 50))
    assert most_variable(RowStream.of(np.tile(X[:, [0]], 5)), 2).tolist() == [0, 1]
    assert most_variable(RowStream.of(X), 10_000).tolist() == list(range(400))


def test_the_chosen_features_are_normalised_with_the_totals_of_all():
    X = draw()
    chosen = most_variable(RowStream.of(X.astype(np.float32)), 20)
    found, everything = normalise(raw(X), "counts", 20), normalise(raw(X), "counts")
    np.testing.assert_array_equal(np.flatnonzero(found.kept), chosen)
    np.testing.assert_array_equal(found.X.collect(), everything.X.collect()[:, chosen])
    assert (found.n_filtered, everything.n_filtered) == (380, 0)
    assert normalise(raw(X), "counts", 400).n_filtered == 0


@pytest.mark.parametrize(("value", "n_features"), [(0.5, 20), (-1.0, 500)])
def test_what_is_no_count_is_refused_however_many_features_are_kept(value, n_features):
    X = draw().astype(float)
    X[3, 4] = value
    with pytest.raises(MatrixError, match="n_top_features chooses by the variance of raw counts"):
        normalise(raw(X), "zscore", n_features)


def test_scanpy_chooses_the_same_features_but_for_what_its_regression_interpolates():
    """Against `highly_variable_genes(flavor="seurat_v3")` of scanpy 1.11.5, scikit-misc 0.5.3."""
    rng = np.random.default_rng(11)
    means = np.exp(rng.normal(0, 1.5, 400))
    groups = rng.integers(3, size=300)
    factors = np.ones((3, 400))
    factors[:, :60] = np.exp(rng.normal(0, 1, (3, 60)))
    X = rng.poisson(rng.gamma(2.0, means * factors[groups] / 2.0)).astype(float)
    of_scanpy = [
        0, 1, 2, 3, 5, 6, 7, 10, 11, 12, 13, 15, 16, 17, 22, 23, 31, 32, 34, 35, 36, 38, 40, 41, 42,
        43, 44, 46, 48, 50, 51, 52, 56, 57, 59, 166, 201, 205, 268, 376,
    ]  # fmt: skip
    first = [1.34229, 1.18138, 1.27778, 1.3869, 1.13937, 1.67047, 1.80385, 1.89893]
    np.testing.assert_allclose(standardised_variances(RowStream.of(X))[:8], first, rtol=0.02)
    assert len(np.intersect1d(most_variable(RowStream.of(X), 40), of_scanpy)) >= 39
