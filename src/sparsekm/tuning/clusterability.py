"""Are there clusters at all? Two tests that data without clusters rarely pass.

If the features are independent within clusters, a partition found from half of them is unrelated to
the other half unless there are clusters; a permutation test of the samples decides. If the features
are correlated, any partition is related to features that were not used to find it. The clusters
must then be separated, in samples that were left out, more clearly than any cloud without a gap
would be, and more clearly than in references without clusters that have the same marginal
distributions and correlations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata
from scipy.stats import t as student

from sparsekm.cluster.matrices.dense_parts import as_dense
from sparsekm.runtime.threads import one_blas_thread
from sparsekm.tuning.references import gaussian_reference
from sparsekm.tuning.resampled_paths import ResampledPaths, resample_paths
from sparsekm.tuning.tuning_sample import take_samples

# Chance, at most, that data without clusters are taken for data with clusters.
LEVEL = 0.05
N_PERMUTATIONS = 99
# A permutation test looks at so many features and samples at most, evenly spaced.
MOST_FEATURES = 2000
MOST_SAMPLES = 1000
# A uniform cloud that is cut in two has a margin ratio of 4/3. This leaves room for the spread with
# few samples, and for taking the smallest of several.
LARGEST_RATIO = 1.15
# Of the comparison with references, which are few.
REFERENCE_LEVEL = 0.01
N_REFERENCES = 10
RESAMPLINGS_OF_REFERENCE = (0, 2)


@dataclass(frozen=True)
class Clusterability:
    """What the test that suits the data found."""

    has_clusters: bool  # whether there is evidence of clusters
    reason: str  # what was found, in a clause


def association_test(
    X: np.ndarray, resamplings: Sequence[ResampledPaths], family: int, *, seed: int
) -> Clusterability:
    """Test whether partitions found from half of the features are related to the others.

    The features of `X` are assumed independent within clusters. `family` is the position of one of
    the families of starts of the resamplings.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0, 7)))
    rows = _thin(np.arange(X.shape[0]), MOST_SAMPLES)
    p_values = [
        _permutation_p(
            as_dense(X[np.ix_(rows, _thin(held_out, MOST_FEATURES))]),
            drawn.labels[family][:, rows],
            rng,
        )
        for drawn in resamplings
        if len(held_out := np.flatnonzero(~drawn.drawn))
    ]
    if not p_values:
        return Clusterability(False, "there are too few features to hold some of them back")
    # Twice the median of dependent p-values is one (Meinshausen, Meier & Buehlmann 2009,
    # doi:10.1198/jasa.2009.tm08647); unlike twice the mean it bears halves without the signal.
    p_value = min(1.0, 2 * float(np.median(p_values)))
    return Clusterability(
        p_value <= LEVEL,
        f"partitions made from half of the features "
        f"{'hold' if p_value <= LEVEL else 'do not hold'} in the other half "
        f"(permutation test, p = {p_value:.2g})",
    )


def separation_test(
    estimator,
    X: np.ndarray,
    sparsities: np.ndarray,
    separation: np.ndarray,
    family: str,
    *,
    seed: int,
    blocks: np.ndarray | None = None,
) -> Clusterability:
    """Test whether clusters are better separated than a cloud without a gap would be.

    `separation` is the mean margin ratio of the data at each of `sparsities`, and `family` the
    family of starts that it belongs to. `blocks` (n_samples,) are those of the resamplings of the
    data, if samples were left out block by block; samples of references are independent.
    """
    own = float(np.min(separation))
    if own >= LARGEST_RATIO:
        return Clusterability(
            False,
            f"samples that were left out have a margin ratio of {own:.2f} where it is smallest; a "
            f"cloud without a gap has 1.33, and below {LARGEST_RATIO} is evidence",
        )
    rows = _thin(np.arange(X.shape[0]), MOST_SAMPLES)
    estimator, part, of_rows = take_samples(rows, estimator, X, blocks)
    sample = as_dense(part)
    if len(rows) < X.shape[0]:
        # With fewer samples clusters fit them more closely: data and references have equally many.
        own = _separation(estimator, sample, sparsities, family, seed, of_rows)
    references = np.array(
        [
            _separation(
                estimator,
                copula_reference(sample, index=index, seed=seed),
                sparsities,
                family,
                seed + 1 + index,
            )
            for index in range(N_REFERENCES)
        ]
    )
    spread = references.std(ddof=1) * np.sqrt(1 + 1 / N_REFERENCES)
    reach = student.ppf(1 - REFERENCE_LEVEL, N_REFERENCES - 1) * spread
    return Clusterability(
        bool(own < references.mean() - reach),
        f"the smallest margin ratio of samples that were left out is {own:.2f}, in references "
        f"without clusters and with the same correlations it is {references.mean():.2f} on average "
        f"and seldom below {references.mean() - reach:.2f}",
    )


def copula_reference(X: np.ndarray, *, index: int, seed: int) -> np.ndarray:
    """Draw from a Gaussian with the data's correlations, and give it the data's own margins.

    `index`, `seed` and the dtype are as in `sparsekm.tuning.references.permuted_reference`.
    """
    drawn = gaussian_reference(X, index=index, seed=seed)
    ranks = rankdata(drawn, axis=0, method="ordinal").astype(np.int64) - 1
    return np.take_along_axis(np.sort(X, axis=0), ranks, axis=0)


def _separation(estimator, X, sparsities, family, seed, blocks=None) -> float:
    """Return the smallest mean margin ratio of a few resamplings."""
    drawn = [
        resample_paths(
            estimator, X, sparsities, index=number, seed=seed, families=[family], blocks=blocks
        ).separation[0]
        for number in RESAMPLINGS_OF_REFERENCE
    ]
    return float(np.nanmin(np.mean(drawn, axis=0)))


@one_blas_thread
def _permutation_p(X: np.ndarray, partitions: np.ndarray, rng: np.random.Generator) -> float:
    """Compare the squared shares of variance that partitions explain with permuted samples'."""
    centred = X - X.mean(axis=0, dtype=np.float64)
    norms = np.linalg.norm(centred, axis=0)
    centred = centred[:, norms > 0] / norms[norms > 0]
    indicators = np.concatenate(
        [np.eye(int(labels.max()) + 1)[labels] for labels in partitions], axis=1
    )
    indicators /= np.sqrt(np.maximum(indicators.sum(axis=0), 1))
    first = np.concatenate([[0], np.cumsum([int(labels.max()) + 1 for labels in partitions])[:-1]])

    def explained(order):
        shares = np.add.reduceat((indicators[order].T @ centred) ** 2, first, axis=0)
        return float((shares**2).sum())

    own = explained(np.arange(len(X)))
    beaten = sum(explained(rng.permutation(len(X))) >= own for _ in range(N_PERMUTATIONS))
    return (1 + beaten) / (1 + N_PERMUTATIONS)


def _thin(indices: np.ndarray, most: int) -> np.ndarray:
    if len(indices) <= most:
        return indices
    return indices[np.linspace(0, len(indices) - 1, most).round().astype(int)]
