r"""Statistics that tell how far the distribution of a feature is from a Gaussian.

"kolmogorov-smirnov" is the statistic of IF-PCA,

.. math:: \psi_j = \sqrt n \sup_t |F_{n,j}(t) - \Phi(t)| ,

with :math:`F_{n,j}` the empirical distribution function of the standardised feature. It also grows
with heavy tails and with single outliers. "mixture" does not: it is the root of twice the log
likelihood ratio of two Gaussians with the same variance against one, after values more than 2.5
robust standard deviations from the median have been moved there, and with at least a tenth of the
samples in each part. Neither tells a mixture from a skewed distribution.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from sparsekm.runtime.compiled import compiled

STATISTICS = ("kolmogorov-smirnov", "mixture")

# The mixture: robust standard deviations kept on either side of the median, the smallest share of
# the samples in a part, and the smallest variance within the parts, as a share of the total
# (without one, tied values would make the likelihood infinite).
WINSOR_LIMIT = 2.5
SMALLEST_SHARE = 0.1
SMALLEST_VARIANCE = 0.05
SPLITS = np.array([0.2, 0.5, 0.8])
# Of more samples, this many evenly spaced order statistics give the same ratio in a fraction of the
# time.
MIXTURE_VALUES = 1_000
MAX_ROUNDS = 50
ROUND_TOLERANCE = 1e-4


def score_columns(columns: np.ndarray, statistic: str) -> np.ndarray:
    """Score each column of an array (n_columns, n_samples).

    Returns an ndarray of shape (n_columns,), positive, with 0 for a constant column.
    """
    # Sorted first: sums then do not depend on the order of the samples.
    columns = np.sort(columns, axis=1).astype(np.float64)
    columns -= columns[:, :1]
    ranges = columns[:, -1].copy()
    varies = ranges > 0
    # From 0 to 1, so that the squares of very large and very small values stay finite.
    columns = columns[varies] / ranges[varies, None]
    scores = np.zeros(len(ranges))
    scores[varies] = np.maximum(_SCORES[statistic](columns), np.finfo(np.float64).tiny)
    return scores


def _distances_from_gaussian(columns: np.ndarray) -> np.ndarray:
    n_samples = columns.shape[1]
    probabilities = ndtr(_standardise(columns))
    steps = np.arange(n_samples + 1) / n_samples
    above = (steps[1:] - probabilities).max(axis=1)
    below = (probabilities - steps[:-1]).max(axis=1)
    return np.sqrt(n_samples) * np.maximum(above, below)


def _mixture_ratios(columns: np.ndarray) -> np.ndarray:
    n_samples = columns.shape[1]
    if n_samples > MIXTURE_VALUES:
        places = (np.arange(MIXTURE_VALUES) + 0.5) * (n_samples / MIXTURE_VALUES)
        columns = np.ascontiguousarray(columns[:, places.astype(np.intp)])
    medians = np.median(columns, axis=1, keepdims=True)
    distances = np.abs(columns - medians)
    spreads = 1.4826 * np.median(distances, axis=1, keepdims=True)
    # Where more than half of the values are tied: the mean deviation, scaled for a Gaussian too.
    mean_spreads = np.sqrt(np.pi / 2) * distances.mean(axis=1, keepdims=True)
    limits = WINSOR_LIMIT * np.where(spreads > 0, spreads, mean_spreads)
    columns = _standardise(np.clip(columns, medians - limits, medians + limits))
    ratios = np.empty(len(columns))
    _fit_mixtures(columns, SPLITS, ratios)
    # A feature that varies in very few of many samples can be constant among those kept.
    ratios[~columns.any(axis=1)] = 0.0
    return np.sqrt(2 * ratios * (n_samples / columns.shape[1]))


def _standardise(columns: np.ndarray) -> np.ndarray:
    columns = columns - columns.mean(axis=1, keepdims=True)
    deviations = np.sqrt((columns**2).mean(axis=1, keepdims=True))
    return columns / np.where(deviations > 0, deviations, 1.0)


@compiled
def _fit_mixtures(columns, splits, ratios):
    """Find the best log likelihood ratio of each column by EM from splits of the sorted values."""
    for j in range(columns.shape[0]):
        best = 0.0
        for split in splits:
            best = max(best, _fit_mixture(columns[j], split))
        ratios[j] = best


@compiled
def _fit_mixture(values, split):
    # The values have mean 0 and variance 1, so the sum over the upper part gives all the rest.
    n = len(values)
    n_lower = min(max(1, round(split * n)), n - 1)
    upper_size = float(n - n_lower)
    upper_sum = values[n_lower:].sum()
    lower_mean, upper_mean = 0.0, 0.0
    for _ in range(MAX_ROUNDS):
        before = upper_mean - lower_mean
        upper_mean = upper_sum / upper_size
        lower_mean = -upper_sum / (n - upper_size)
        share = min(max(upper_size / n, SMALLEST_SHARE), 1 - SMALLEST_SHARE)
        variance = 1.0 - upper_sum * (upper_mean - lower_mean) / n
        variance = max(variance, SMALLEST_VARIANCE)
        slope = (upper_mean - lower_mean) / variance
        if abs(upper_mean - lower_mean - before) < ROUND_TOLERANCE:
            break
        odds = np.log(share / (1 - share)) - slope * (upper_mean + lower_mean) / 2
        upper_size, upper_sum = 0.0, 0.0
        for value in values:
            responsibility = 1.0 / (1.0 + np.exp(-(odds + slope * value)))
            upper_size += responsibility
            upper_sum += responsibility * value
    likelihood = 0.0
    for value in values:
        lower = (1 - share) * np.exp(-((value - lower_mean) ** 2) / (2 * variance))
        upper = share * np.exp(-((value - upper_mean) ** 2) / (2 * variance))
        likelihood += np.log(lower + upper)
    return likelihood + n * (1.0 - np.log(variance)) / 2


_SCORES = dict(zip(STATISTICS, (_distances_from_gaussian, _mixture_ratios), strict=True))
