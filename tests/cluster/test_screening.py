"""Marginal scores, their p-values and the Higher Criticism threshold."""

import numpy as np
import pytest
from scipy import sparse, stats

from sparsekm.cluster.screening import (
    higher_criticism_threshold,
    marginal_p_values,
    marginal_scores,
    null_scores,
)


def test_kolmogorov_smirnov_distances_agree_with_scipy(seed):
    # With ties.
    X = np.random.default_rng(seed).gamma(2.0, size=(37, 20)).round(1)
    expected = [np.sqrt(37) * stats.kstest((x - x.mean()) / x.std(), "norm").statistic for x in X.T]
    np.testing.assert_allclose(marginal_scores(X), expected, rtol=1e-12)


def test_neither_order_nor_storage_nor_threads_change_a_bit_of_a_score(seed):
    rng = np.random.default_rng(seed)
    X = rng.poisson(1.0, (40, 60)).astype(np.float32)
    scores, columns = marginal_scores(X), rng.permutation(60)
    np.testing.assert_array_equal(marginal_scores(X[:, columns]), scores[columns])
    same = [X.astype(np.float64), np.asfortranarray(X), sparse.csr_array(X), X[rng.permutation(40)]]
    for values in same:
        assert marginal_scores(values).tobytes() == scores.tobytes()
    assert marginal_scores(X, n_jobs=2).tobytes() == scores.tobytes()


@pytest.mark.parametrize("scale", [1e-200, -1e200])
def test_location_scale_and_sign_of_a_feature_do_not_matter(scale, seed):
    X = np.random.default_rng(seed).gamma(2.0, size=(50, 30))
    np.testing.assert_allclose(marginal_scores(scale * (X + 7)), marginal_scores(X), rtol=1e-6)


def test_a_constant_feature_scores_zero_and_ranks_last(seed):
    rng = np.random.default_rng(seed)
    one_differs = np.zeros(300)
    one_differs[0] = 1.0
    counts = rng.poisson(0.2, 300)
    X = np.column_stack([np.full(300, 0.1), one_differs, counts, rng.standard_normal(300)])
    scores = marginal_scores(X)
    assert scores[0] == 0
    assert (scores[1:] > 0).all()
    assert marginal_p_values(scores, 300)[0] == 1
    assert marginal_scores(np.ones((5, 2))).tolist() == [0.0, 0.0]
    assert marginal_p_values(np.zeros(2), 5).tolist() == [1.0, 1.0]


def test_p_values_of_gaussian_features_are_uniform(seed):
    X = np.random.default_rng(seed).standard_normal((1000, 2000))
    p_values = marginal_p_values(marginal_scores(X), 1000)
    assert (p_values > 0).all()
    for level in (0.05, 0.2, 0.5):
        assert (p_values <= level).mean() == pytest.approx(level, abs=0.04)


def test_the_null_distribution_is_that_of_lilliefors():
    # Upper 5 % points for n = 30 and for many samples, by Lilliefors (1967) corrected in 1969.
    for n_samples, point in ((30, 0.161), (500, 0.886 / np.sqrt(500))):
        quantile = np.quantile(null_scores(n_samples), 0.95) / np.sqrt(n_samples)
        assert quantile == pytest.approx(point, rel=0.02)
    # Of 20 million values, in columns of as many samples, and of 100,000 columns at most.
    assert [len(null_scores(n_samples)) for n_samples in (30, 500)] == [100_000, 40_000]


def test_the_empirical_null_forgets_location_and_scale_of_the_scores(seed):
    scores = marginal_scores(np.random.default_rng(seed).standard_normal((50, 100)))
    p_values = marginal_p_values(scores, 50)
    np.testing.assert_allclose(marginal_p_values(2 * scores + 3, 50), p_values, atol=2e-5)
    # The score at the mean of all has the p-value of the null's mean.
    null = null_scores(50)
    middle = (null >= null.mean()).mean()
    assert marginal_p_values([1.0, 2.0, 3.0], 50)[1] == pytest.approx(middle, abs=1e-4)
    assert marginal_p_values([2.0], 50) == pytest.approx([middle], abs=1e-4)


def test_a_higher_criticism_threshold_worked_by_hand():
    # p = 10, n = 4: log(10)/10 = .23 leaves j = 3, 4, 5. With j/11 - p: .0327, .0636, -.0455;
    # HC: .178, .287, negative.
    p_values = [0.5, 0.01, 0.3, 0.02, 0.24, 0.6, 0.95, 0.7, 0.9, 0.8]
    assert higher_criticism_threshold(p_values, 4) == 4
    # Where the fourth is not below its share, the third is the last with the largest value.
    p_values[2] = 0.4
    assert higher_criticism_threshold(p_values, 4) == 3
    # Where each is at its share, the third to the fifth have the same value: the last decides.
    assert higher_criticism_threshold(np.arange(1, 10) / 10, 4) == 5


def test_small_p_values_do_not_decide_and_at_most_half_are_looked_at():
    # Without the lower bound on the p-values the first would decide.
    p_values = np.concatenate([[1e-12], np.full(3, 0.3), np.linspace(0.5, 1, 6)])
    assert higher_criticism_threshold(p_values, 100) == 4
    assert higher_criticism_threshold(np.full(10, 1e-9) * np.arange(10), 5) == 5
    assert higher_criticism_threshold([0.3], 5) == 1


@pytest.mark.parametrize("p_values", [[], [0.1, np.nan], [0.5, 1.1], [[0.5]]])
def test_what_are_no_p_values_is_refused(p_values):
    with pytest.raises(ValueError, match=r"p_values should be .* in \[0, 1\]"):
        higher_criticism_threshold(p_values, 5)


def test_what_cannot_be_scored_is_refused():
    with pytest.raises(ValueError, match="NaN"):
        marginal_scores([[0.0], [np.nan], [1.0]])
    with pytest.raises(ValueError, match="minimum of 2"):
        marginal_scores([[0.0, 1.0]])
    with pytest.raises(ValueError, match="n_samples=1 should be >= 2"):
        null_scores(1)
