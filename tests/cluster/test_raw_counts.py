"""Raw counts are told from other whole numbers, by one function, and get a warning."""

import warnings

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from scipy.sparse import csr_array

from sparsekm import SparseKMeans
from sparsekm.cluster.raw_counts import judge_counts


def draw_counts(rng, depth=0.3, spread=1.5, shape=(60, 400), dispersion=5):
    """Draw counts of samples whose depths, and features whose means, differ by these log-sds."""
    means = np.exp(rng.normal(0, spread, shape[1])) * np.exp(rng.normal(0, depth, (shape[0], 1)))
    return rng.poisson(means * rng.gamma(dispersion, 1 / dispersion, shape))


def draw_answers(rng, top=5, share=0.3):
    """Draw answers on one scale; some people give high ones throughout."""
    people, noise = rng.standard_normal((60, 1)), rng.standard_normal((60, 250))
    z = np.sqrt(share) * people + np.sqrt(1 - share) * noise + rng.normal(0, 0.7, 250)
    return np.clip(np.rint((1 + top) / 2 + z * (top - 1) / 4), 1, top)


def draw_ratings(rng):
    """Draw what people rate of many things, 0 for what they do not; some rate more."""
    rates = rng.normal(size=(60, 300)) + rng.normal(size=(60, 1)) < -1
    return np.where(rates, np.clip(np.rint(rng.normal(3.5, 1, (60, 300))), 1, 5), 0)


def draw_images(rng):
    """Draw smooth images of different brightness."""
    smooth = [gaussian_filter(rng.standard_normal((20, 20)), 2) * 300 for _ in range(60)]
    light = np.exp(rng.normal(0, 0.2, (60, 1)))
    return np.clip(np.rint((np.reshape(smooth, (60, 400)) + 120) * light), 0, 255)


def draw_words(rng):
    """Draw words, some of which are frequent, in texts of different length."""
    shares = rng.gamma(0.3 * 400 / np.arange(1, 401) / 6.6 + 0.02, 1, (60, 400))
    lengths = np.exp(rng.normal(5.3, 0.7, (60, 1)))
    return rng.poisson(shares / shares.sum(axis=1, keepdims=True) * lengths)


def draw_different_scales(rng):
    """Draw answers of which a third is yes or no, a third on a scale of 5 and a third of 100."""
    return np.hstack([draw_answers(rng, top)[:, :80] - (top == 2) for top in (2, 5, 100)])


def draw_ages(rng):
    """Draw answers, and ages."""
    answers = draw_answers(rng)
    answers[:, :5] = rng.integers(18, 90, (60, 5))
    return answers


COUNTS, OTHERS = (True, True), (False, True)
NOT_CERTAIN = {True: (True, False), False: (False, False)}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("draw", "expected"),
    [
        (draw_counts, COUNTS),
        (lambda rng: draw_counts(rng, depth=0.15, shape=(20, 1000)), COUNTS),
        (lambda rng: draw_counts(rng, depth=0.6, spread=2.2, dispersion=0.5), COUNTS),
        (draw_words, COUNTS),
        (lambda rng: draw_counts(rng, shape=(60, 60)), OTHERS),
        (draw_answers, OTHERS),
        (lambda rng: draw_answers(rng, top=100), OTHERS),
        (draw_ages, OTHERS),
        (draw_ratings, OTHERS),
        (lambda rng: draw_answers(rng) > 3, OTHERS),
        (lambda rng: rng.binomial(2, rng.uniform(0.05, 0.5, 250), (60, 250)), OTHERS),
        (draw_images, OTHERS),
        (lambda rng: draw_counts(rng) + 0.5, OTHERS),
        (lambda rng: draw_counts(rng) - 1, OTHERS),
        (lambda rng: draw_counts(rng, depth=0, dispersion=1e6), NOT_CERTAIN[False]),
        (lambda rng: draw_counts(rng, spread=0.3), NOT_CERTAIN[False]),
        (draw_different_scales, NOT_CERTAIN[True]),
    ],
)
def test_counts_are_told_from_other_whole_numbers_however_they_are_stored(draw, expected, seed):
    X = np.asarray(draw(np.random.default_rng(seed)), np.float32)
    assert judge_counts([X]) == expected
    assert judge_counts([csr_array(X[:7]), csr_array(X[7:])]) == expected
    if expected == COUNTS:
        X[3, 4] = np.nan
        assert judge_counts([X]) == expected


@pytest.mark.parametrize(("share", "expected"), [(0.45, True), (0.55, False)])
def test_of_one_scale_are_values_of_which_most_features_reach_half_of_the_largest(share, expected):
    tops = np.where(np.arange(200) < 200 * share, 100, 40)
    X = np.rint(np.linspace(0.2, 1, 30)[:, None] * tops)
    assert judge_counts([X]).are_counts == expected
    # Fewer features are a panel.
    assert not judge_counts([X[:, 1:]]).are_counts


@pytest.mark.usefixtures("one_repeat")
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_an_estimator_warns_of_raw_counts_with_the_cure(kind):
    counts = draw_counts(np.random.default_rng(0), shape=(30, 200)).astype(float)
    with pytest.warns(UserWarning, match=r"looks like raw counts.*log1p.*layer=") as caught:
        SparseKMeans(2, sparsity=20, random_state=0).fit(kind(counts))
    assert [warning.filename for warning in caught] == [__file__]
    logs = np.log1p(counts / counts.sum(axis=1, keepdims=True) * 1e4)
    with warnings.catch_warnings(action="error"):
        SparseKMeans(2, sparsity=20, random_state=0).fit(kind(logs))
