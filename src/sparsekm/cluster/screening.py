r"""Marginal screening: how far the distribution of each feature is from a Gaussian.

A feature whose means differ between clusters is a mixture. Each feature gets one score, from itself
alone; Efron's empirical null (2004, doi:10.1198/016214504000000089) turns scores into p-values, and
Higher Criticism says how many stand out, as in IF-PCA (Jin & Wang 2016, doi:10.1214/15-AOS1423).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from sklearn.utils.validation import check_array

from sparsekm.cluster.matrices.inputs import as_readable
from sparsekm.cluster.matrices.streamed_matrix import Data
from sparsekm.cluster.validation import check_count, check_numbers
from sparsekm.metrics import mark_missing
from sparsekm.runtime.compiled import compiled
from sparsekm.runtime.threads import count_threads, run_in_slices

# The number of values that are sorted at once.
BLOCK_VALUES = 1_000_000
# One in this many sorted values is examined first.
STRIDE = 8
LEAST = float(np.finfo(np.float64).tiny)

# The largest numbers of values, columns and samples from which a null distribution is simulated.
NULL_VALUES = 20_000_000
NULL_COLUMNS = 100_000
NULL_SAMPLES = 500


def marginal_scores(X: Data, *, n_jobs: int | None = None) -> np.ndarray:
    r"""Score each feature by how far its distribution is from a Gaussian.

    The score is the Kolmogorov-Smirnov statistic of IF-PCA,
    :math:`\psi_j = \sqrt n \sup_t |F_{n,j}(t) - \Phi(t)|`, with :math:`F_{n,j}` the empirical
    distribution function of the feature, standardised with ddof = 0. The score also increases with
    heavy tails and single outliers. It does not depend on the location, scale and sign of a
    feature.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        At least two samples.
    n_jobs : int, default=None
        Number of threads, which does not change the scores. None and -1 use all cores that the
        process may use.

    Returns
    -------
    ndarray of shape (n_features,), float64
        The scores. They are positive, except for constant features: their score is 0, so that they
        rank last.

    Raises
    ------
    ValueError
        If X holds NaN or infinity, or has fewer than two samples.

    Examples
    --------
    >>> from sparsekm.cluster.screening import marginal_scores
    >>> marginal_scores([[0.0, 5.0], [0.0, 5.0], [3.0, 5.0]]).round(4).tolist()
    [0.7394, 0.0]
    """
    values = check_array(
        as_readable(X), accept_sparse="csc", dtype=[np.float64, np.float32], ensure_min_samples=2
    )
    n_samples, n_features = values.shape
    scores = np.zeros(n_features)
    step = max(1, BLOCK_VALUES // n_samples)

    def score_slice(first, last):
        for start in range(first, last, step):
            block = values[:, start : min(start + step, last)]
            columns = np.asarray(block.T if isinstance(block, np.ndarray) else block.toarray().T)
            scores[start : start + len(columns)] = _score_columns(columns)

    run_in_slices(score_slice, n_features, count_threads(n_jobs))
    return scores


def _score_columns(columns: np.ndarray) -> np.ndarray:
    """Score each column of an array (n_columns, n_samples): positive, 0 for a constant one."""
    scores = np.zeros(len(columns))
    # Values are sorted first, so that sums do not depend on the order of the samples.
    measure_distances(np.sort(columns, axis=1), scores)
    return np.sqrt(columns.shape[1]) * scores


@compiled
def measure_distances(columns, distances):
    """Write the Kolmogorov-Smirnov distance of each sorted column that is not constant."""
    n = columns.shape[1]
    last = (n - 2) // STRIDE + 1
    shares = np.empty(last + 1)
    for j in range(columns.shape[0]):
        column = columns[j]
        low = np.float64(column[0])
        span = np.float64(column[n - 1]) - low
        if not span > 0.0:
            continue
        # Values are scaled to 0 to 1, so that the squares of very large and very small values stay
        # finite.
        mean = 0.0
        for x in column:
            mean += (x - low) / span
        mean /= n
        square = 0.0
        for x in column:
            square += ((x - low) / span - mean) ** 2
        scale = math.sqrt(0.5 * n / square)
        largest = LEAST
        for q in range(last + 1):
            i = min(q * STRIDE, n - 1)
            shares[q] = 0.5 * math.erfc((mean - (column[i] - low) / span) * scale)
            largest = max(largest, (i + 1) / n - shares[q], shares[q] - i / n)
        # Between two of these values, both functions increase from one value to the next.
        for q in range(last):
            first, end = q * STRIDE, min((q + 1) * STRIDE, n - 1)
            if max(end / n - shares[q], shares[q + 1] - (first + 1) / n) > largest:
                for i in range(first + 1, end):
                    share = 0.5 * math.erfc((mean - (column[i] - low) / span) * scale)
                    largest = max(largest, (i + 1) / n - share, share - i / n)
        distances[j] = largest


def marginal_p_values(scores: np.ndarray, n_samples: int) -> np.ndarray:
    """Turn marginal scores into p-values with Efron's empirical null.

    In real data, few features are exactly Gaussian, even without clusters. Therefore the scores are
    first shifted and scaled to the mean and standard deviation that they have for Gaussian
    features. IF-PCA also does this.

    Parameters
    ----------
    scores : ndarray of shape (n_features,)
        Finite scores from `marginal_scores`. Constant features (score 0) are left out of the mean
        and the standard deviation.
    n_samples : int
        Number of samples behind the scores.

    Returns
    -------
    ndarray of shape (n_features,)
        In (0, 1]; 1 for constant features.
    """
    scores = check_numbers("scores", scores)
    null = null_scores(n_samples)
    p_values = np.ones(len(scores))
    varies = scores > 0
    if not varies.any():
        return p_values
    deviations = scores[varies] - scores[varies].mean()
    spread = np.sqrt((deviations**2).sum() / max(1, len(deviations) - 1))
    scale = null.std(ddof=1) / spread if spread > 0 else 0.0
    as_null = null.mean() + scale * deviations
    n_above = len(null) - np.searchsorted(null, as_null, side="left")
    p_values[varies] = (1 + n_above) / (1 + len(null))
    return p_values


@lru_cache(maxsize=64)
def null_scores(n_samples: int) -> np.ndarray:
    """Simulate the distribution of the score over standardised Gaussian features, ascending.

    Beyond 500 samples, the distribution for 500 is used, because it hardly changes any more.
    """
    size = min(check_count("n_samples", n_samples, 2), NULL_SAMPLES)
    n_columns = min(NULL_COLUMNS, NULL_VALUES // size)
    rng = np.random.default_rng(size)
    step = max(1, BLOCK_VALUES // size)
    heights = (min(step, n_columns - first) for first in range(0, n_columns, step))
    drawn = [_score_columns(rng.standard_normal((height, size))) for height in heights]
    scores = np.sort(np.concatenate(drawn))
    scores.setflags(write=False)
    return scores


def higher_criticism_threshold(p_values: np.ndarray, n_samples: int) -> int:
    r"""Count the features that Higher Criticism keeps (Jin & Wang 2016).

    With the p-values in ascending order :math:`\pi_{(1)} \le \ldots \le \pi_{(p)}`, the functional
    is

    .. math:: HC_j = \frac{\sqrt p \, (j/p - \pi_{(j)})}
              {\sqrt{\max\{\sqrt n (j/p - \pi_{(j)}), 0\} + j/p}} ,

    where j/p is computed as j/(p + 1), as in the authors' programs. The number of features kept is
    the j at which :math:`HC_j` is largest, among the j with :math:`\pi_{(j)} > \log(p) / p` and
    :math:`j \le p / 2`. Among equal maxima, the last one counts. Features with the same p-value are
    kept or dropped together.

    Parameters
    ----------
    p_values : array-like of shape (n_features,)
        The p-values of the features that vary, at least one, in [0, 1].
    n_samples : int
        Number of samples n behind the p-values.

    Returns
    -------
    int
        The number of features kept, at least 1. If half of the p-values are at most
        :math:`\log(p) / p`, half of the features are kept.
    """
    ordered = np.sort(np.asarray(mark_missing(p_values), dtype=np.float64))
    if ordered.ndim != 1 or len(ordered) == 0 or not (ordered[0] >= 0 and ordered[-1] <= 1):
        raise ValueError("p_values should be a non-empty vector of numbers in [0, 1].")
    n_features = len(ordered)
    shares = np.arange(1, n_features + 1) / (n_features + 1)
    excess = shares - ordered
    values = np.sqrt(n_features) * excess
    values /= np.sqrt(np.maximum(np.sqrt(check_count("n_samples", n_samples)) * excess, 0) + shares)
    half = max(1, (n_features + 1) // 2)
    allowed = np.flatnonzero(ordered[:half] > np.log(n_features) / n_features)
    if len(allowed) == 0:
        return half
    best = allowed[np.flatnonzero(values[allowed] == values[allowed].max())[-1]]
    return int(np.searchsorted(ordered, ordered[best], side="right"))
