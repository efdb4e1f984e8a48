"""Raw counts are told from other whole numbers, by one function, and get a warning."""

import warnings

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from scipy.sparse import csr_array

from sparsekm import SparseKMeans
from sparsekm.cluster.raw_counts import are_raw_counts


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


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("draw", "expected"),
    [
        (draw_counts, True),
        (lambda rng: draw_counts(rng, depth=0.15, shape=(20, 1000)), True),
        (lambda rng: draw_counts(rng, depth=0.07), True),
        (lambda rng: draw_counts(rng, depth=0.6, spread=2.2, dispersion=0.5), True),
        (draw_words, True),
        (lambda rng: draw_counts(rng, depth=0, dispersion=1e6), False),
        (lambda rng: draw_counts(rng, shape=(60, 60)), False),
        (draw_answers, False),
        (lambda rng: draw_answers(rng, top=100), False),
        (draw_ratings, False),
        (lambda rng: draw_answers(rng) > 3, False),
        (draw_images, False),
        (lambda rng: draw_counts(rng) + 0.5, False),
        (lambda rng: draw_counts(rng) - 1, False),
    ],
)
def test_counts_are_told_from_other_whole_numbers_however_they_are_stored(draw, expected, seed):
    X = np.asarray(draw(np.random.default_rng(seed)), np.float32)
    assert are_raw_counts([X]) == expected
    assert are_raw_counts([csr_array(X[:7]), csr_array(X[7:])]) == expected
    if expected:
        X[3, 4] = np.nan
        assert are_raw_counts([X])


@pytest.mark.parametrize(("share", "expected"), [(0.45, True), (0.55, False)])
def test_of_one_scale_are_values_of_which_most_features_reach_half_of_the_largest(share, expected):
    tops = np.where(np.arange(200) < 200 * share, 100, 40)
    X = np.rint(np.linspace(0.2, 1, 30)[:, None] * tops)
    assert are_raw_counts([X]) == expected
    # Fewer features are a panel.
    assert not are_raw_counts([X[:, 1:]])


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
