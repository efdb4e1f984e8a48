"""The whole fit repeated on folds: every sample is left out once in each repeat.

In each fold the features are ranked by the samples that were drawn, k-means is run on the screens
that rank first, and Algorithm 1 from there picks few of their features. Independent features are
better started from the optimum of all of them, which correlated ones lead astray; on principal
components of equal variance each factor counts once, however many features follow it. k-means on
shares of partitions in which two samples are together gives the consensus (Fred & Jain 2005,
doi:10.1109/TPAMI.2005.113).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from scipy.sparse import issparse
from sklearn.base import clone

from sparsekm.cluster.estimators import KMeans, L0KMeans
from sparsekm.cluster.kmeans.many_samples import label_samples
from sparsekm.cluster.matrices.containers import count_distinct
from sparsekm.cluster.matrices.dense_parts import as_dense, feature_means
from sparsekm.cluster.matrices.matrix import CentredMatrix, FeatureMatrix
from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.cluster.matrices.sparse_matrix import cluster_centers
from sparsekm.cluster.sparsity_path import SparsityPath
from sparsekm.cluster.validation import check_count
from sparsekm.cluster.weight_step import PENALTIES
from sparsekm.metrics import label_codes
from sparsekm.runtime.random_state import draw_samples
from sparsekm.runtime.threads import one_blas_thread, run_side_by_side
from sparsekm.tuning.feature_ranking import (
    SCREENS,
    count_differing,
    count_units,
    first_features,
    number_units,
    rank_features,
)

N_REPEATS = 5
N_FOLDS = 10
# Enough restarts for one of many fits that are averaged.
N_INIT = 3
N_INIT_OPTIMUM = 1
# Features kept for each cluster but the first; the same number for two clusters as for three.
FEATURES_PER_CLUSTER = 25
# A single start is from so many features.
START_SCREEN = 200
# The optimum is searched among so many features at most.
MOST_FEATURES = 2000
# With heavy tails the optimum splits off single outliers: it has no cluster of fewer samples, or of
# fewer than a quarter of the mean size.
SMALLEST_CLUSTER = 5
# No more components than this, and five samples for each.
MOST_COMPONENTS = 20
SAMPLES_PER_COMPONENT = 5


class FoldFit(NamedTuple):
    """The fits of one fold: c partitions of all n samples."""

    drawn: np.ndarray  # (n_drawn,): samples that were fitted, ascending
    left_out: np.ndarray  # (n - n_drawn,)
    labels: np.ndarray  # (c, n), int16
    kept: list[np.ndarray]  # c times (n_kept,): features of non-zero weight
    starts: list[str]  # c times, such as "200 features"


def kept_features(n_clusters: int, n_features: int) -> int:
    """Return how many features fits keep: 25 a cluster but the first, at least 50, at most half."""
    return min(-(-n_features // 2), FEATURES_PER_CLUSTER * max(2, n_clusters - 1))


def draw_folds(n_samples: int, *, seed: int, blocks: np.ndarray | None = None) -> list[np.ndarray]:
    """Draw the samples left out in each fold, ascending, whole `blocks`; repeat after repeat."""
    blocks = np.arange(n_samples) if blocks is None else blocks
    n_blocks = int(blocks.max()) + 1
    n_folds = min(N_FOLDS, n_blocks)
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0, 6)))
    folds = []
    for _ in range(N_REPEATS):
        fold = (rng.permutation(n_blocks) % n_folds)[blocks]
        folds += [np.flatnonzero(fold == number) for number in range(n_folds)]
    return folds


def fit_folds(
    data: ScaledData,
    n_clusters: int,
    *,
    screening: str,
    start: str = "screens",
    min_cluster_size: int = 1,
    seed: int,
    n_jobs: int | None = None,
    blocks: np.ndarray | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[FoldFit]:
    """Fit every fold, side by side in threads; the results do not depend on their number."""
    folds = draw_folds(data.X.shape[0], seed=seed, blocks=blocks)
    work = partial(_fit_fold, data, n_clusters, screening, min_cluster_size, seed, folds, start)
    found: list[FoldFit] = []
    _ = data.matrix  # Made here, not by every thread.
    most = MOST_FEATURES if start == "optimum" else SCREENS[-1]
    size = data.X.shape[0] * min(most, data.X.shape[1]) * 8
    for one in run_side_by_side(work, range(len(folds)), n_jobs, size):
        found.append(one)
        if progress is not None:
            progress(len(found), len(folds))
    return found


def screened_start(data: ScaledData, n_clusters: int, screening: str, seed: int) -> np.ndarray:
    """Label samples by k-means on the features that rank first: (n_samples,), int32."""
    top = first_features(rank_features(data, screening), START_SCREEN, data.unit_numbers)
    return cluster_top(data, top, KMeans(n_clusters, n_init=N_INIT, random_state=seed))


def cluster_top(data: ScaledData, top: np.ndarray, means: KMeans) -> np.ndarray:
    """Label samples by k-means on some features, or on all where those cannot be clustered."""
    matrix: Any = data.matrix
    if len(top) <= MOST_FEATURES:
        matrix = CentredMatrix(as_dense(data.X[:, top]))
    return means.fit(matrix if _can_cluster(matrix, means.n_clusters) else data.matrix).labels_


def _fit_fold(data, n_clusters, screening, min_cluster_size, seed, folds, start, index) -> FoldFit:
    n_samples = data.X.shape[0]
    everyone = np.arange(n_samples)
    drawn = np.setdiff1d(everyone, folds[index])
    most = MOST_FEATURES if start == "optimum" else SCREENS[-1]
    # All samples, or at last all features, where those drawn could not be clustered.
    for samples, limit in ((drawn, most), (everyone, most), (everyone, data.n_units)):
        top = _first_features(data, screening, samples, limit)
        matrix = _take(data, top, samples)
        if _can_cluster(matrix, n_clusters):
            break
    seeds = np.random.SeedSequence(seed, spawn_key=(index, 7)).generate_state(1)
    share = len(samples) / n_samples
    guard = max(1, int(min_cluster_size * share))
    groups = None if data.unit_numbers is None else number_units(top, data.unit_numbers)
    labels, kept, starts = [], [], []
    for name, found, weights in STARTS[start](matrix, n_clusters, guard, int(seeds[0]), groups):
        places = np.flatnonzero(weights)
        values = as_dense(data.X[:, top[places]])
        labels.append(label_everyone(values, values[samples], found, weights[places]))
        kept.append(top[places])
        starts.append(name)
    left_out = np.setdiff1d(everyone, samples)
    return FoldFit(samples, left_out, np.array(labels, np.int16), kept, starts)


def _take(data: ScaledData, features: np.ndarray, samples: np.ndarray) -> CentredMatrix:
    """Copy some features of some samples, centred anew."""
    if issparse(data.X):
        return CentredMatrix(as_dense(data.X[:, features])[samples])
    # Feature after feature, which is how they are wanted.
    columns = np.take(data.matrix.columns[features], samples, axis=1, mode="clip")
    return CentredMatrix(columns.T, copy=False)


def _first_features(data, screening, samples, most) -> np.ndarray:
    """Rank features by some of the samples; what is remembered are no more than `MOST_FEATURES`."""
    if most > MOST_FEATURES:
        return rank_features(data, screening, samples)
    key = screening, samples.tobytes()
    if key not in data.ranked:
        ranked = rank_features(data, screening, samples)
        data.ranked[key] = first_features(ranked, MOST_FEATURES, data.unit_numbers)
    return first_features(data.ranked[key], most, data.unit_numbers)


def _fit_screens(matrix, n_clusters, guard, seed, groups):
    """Yield name, labels and weights: Algorithm 1 from k-means on every screen."""
    everything = np.arange(matrix.n_features)
    n_units = count_units(everything, groups)
    sizes = [size for size in SCREENS if size < n_units] + [n_units]
    for size in [size for size in sizes if size <= SCREENS[-1]] or sizes:
        screen = matrix.select(first_features(everything, size, groups))
        if _can_cluster(screen, n_clusters):
            found = _fit_few_from(matrix, screen, n_clusters, guard, seed, groups)
            yield f"{size} {_unit(groups)}", *found


def _unit(groups) -> str:
    return "features" if groups is None else "groups"


def _fit_few_from(matrix, seen, n_clusters, guard, seed, groups) -> tuple[np.ndarray, np.ndarray]:
    """Run Algorithm 1 from k-means on what is seen of the samples; return labels and weights."""
    shared = {"min_cluster_size": guard, "random_state": seed, "n_jobs": 1}
    start = KMeans(n_clusters, n_init=N_INIT, **shared).fit(seen).labels_
    estimator = L0KMeans(n_clusters, feature_groups=groups, **shared)
    n_units = count_units(np.arange(matrix.n_features), groups)
    path = fit_few(estimator, matrix, start, kept_features(n_clusters, n_units))
    return path.labels[0], path.weights[0]


def fit_few(
    estimator: Any, matrix: FeatureMatrix, labels: np.ndarray, sparsity: float
) -> SparsityPath:
    """Run Algorithm 1 from a partition; again with fewer features where far fewer differ."""
    path = fit_from(estimator, matrix, labels, sparsity)
    groups: Any = estimator.feature_groups
    differing = count_differing(matrix, path.labels[0], path.scores[0], groups)
    if 2 * differing <= count_units(np.flatnonzero(path.weights[0]), groups):
        fewer = PENALTIES[estimator.penalty].bound_of(differing)
        path = fit_from(estimator, matrix, path.labels[0], fewer)
    return path


def fit_from(estimator: Any, X: Any, labels: np.ndarray, sparsity: float) -> SparsityPath:
    """Run Algorithm 1 from a partition at one sparsity."""
    estimator = clone(estimator).set_params(init=labels, search="alternate", n_init=1)
    return estimator.path(X, [sparsity])


def _fit_optimum(matrix, n_clusters, guard, seed, groups):
    """Yield the optimum at half, once and twice the number of features that fits keep."""
    n_units = count_units(np.arange(matrix.n_features), groups)
    sparsity = kept_features(n_clusters, n_units)
    grid = np.unique(np.clip([sparsity // 2, sparsity, 2 * sparsity], 1, n_units))
    guard = max(guard, min(SMALLEST_CLUSTER, matrix.n_samples // (4 * n_clusters)))
    shared = {"min_cluster_size": guard, "random_state": seed, "n_jobs": 1}
    estimator = L0KMeans(n_clusters, n_init=N_INIT_OPTIMUM, feature_groups=groups, **shared)
    path = estimator.path(matrix, grid)
    for kept, labels, weights in zip(grid, path.labels, path.weights, strict=True):
        yield f"optimum of {kept} {_unit(groups)}", labels, weights


def _fit_components(matrix, n_clusters, guard, seed, groups):
    """Yield Algorithm 1 from k-means on principal components of equal variance."""
    components = CentredMatrix(equal_components(matrix.columns.T, n_clusters))
    seen = components if _can_cluster(components, n_clusters) else matrix
    yield "components", *_fit_few_from(matrix, seen, n_clusters, guard, seed, groups)


@one_blas_thread
def equal_components(part: np.ndarray, n_clusters: int) -> np.ndarray:
    """Compute the leading principal components, scaled to equal variance: (n_samples, d).

    Those beyond noise (Gavish & Donoho 2014, doi:10.1109/TIT.2014.2323359), n_clusters - 1 more.
    """
    left, values, _ = np.linalg.svd(part - part.mean(axis=0), full_matrices=False)
    values = values[values > 1e-9 * values[0]]
    ratio = min(part.shape) / max(part.shape)
    multiple = ((0.56 * ratio - 0.95) * ratio + 1.82) * ratio + 1.43
    beyond = int(np.count_nonzero(values > multiple * np.median(values)))
    most = max(n_clusters - 1, min(MOST_COMPONENTS, len(part) // SAMPLES_PER_COMPONENT))
    return np.ascontiguousarray(left[:, : min(beyond + n_clusters - 1, most, len(values))])


STARTS = {"screens": _fit_screens, "optimum": _fit_optimum, "components": _fit_components}


def _can_cluster(matrix: FeatureMatrix, n_clusters: int) -> bool:
    return count_distinct(matrix, n_clusters) >= n_clusters


def label_everyone(X, part, labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Label all samples by the nearest centre of a partition of `part`, in its kept features."""
    kept = part[:, np.flatnonzero(weights)]
    centers = cluster_centers(kept, labels, int(labels.max()) + 1)
    # Centred at the part's own means: distances do not change, and rounding stays small.
    shift = feature_means(kept)
    return label_samples(X, weights, shift, (centers - shift).T)


@one_blas_thread
def coassociation(labels: np.ndarray) -> np.ndarray:
    """Compute in which share of partitions, (n_partitions, n_samples), two samples are together."""
    n_partitions, n_samples = labels.shape
    width = int(labels.max()) + 1
    places = labels + width * np.arange(n_partitions)[:, None]
    # Numbers of partitions are exact in float32, in which the product takes half the time.
    indicators = np.zeros((n_samples, width * n_partitions), np.float32)
    indicators[np.arange(n_samples), places] = 1
    return (indicators @ indicators.T).astype(np.float64) / len(labels)


def consensus_partition(
    labels: np.ndarray, n_clusters: int, *, seed: int = 0, min_cluster_size: int = 1
) -> np.ndarray:
    """Cluster the rows of the co-association; return int32 labels (n_samples,).

    There are fewer clusters where the partitions, counted from 0, tell fewer groups apart.
    """
    groups, group = np.unique(labels, axis=1, return_inverse=True)
    if groups.shape[1] <= n_clusters:
        return group.astype(np.int32)
    estimator = KMeans(n_clusters, min_cluster_size=min_cluster_size, random_state=seed)
    return estimator.fit(coassociation(labels)).labels_


def agreement(labels: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Compute the adjusted Rand index of a partition with each of `others` (n_others, n_samples).

    Of partitions of the same shape as `others`, each is compared with its own.

    Examples
    --------
    >>> agreement(np.array([0, 0, 1, 1]), np.array([[1, 1, 0, 0], [0, 1, 0, 1]])).round(2).tolist()
    [1.0, -0.5]
    """
    labels, others = np.asarray(labels), np.asarray(others)
    n_others, n_samples = others.shape
    n_theirs, n_own = int(others.max()) + 1, int(labels.max()) + 1
    codes = (np.arange(n_others)[:, None] * n_theirs + others) * n_own + labels
    tables = np.bincount(codes.ravel(), minlength=n_others * n_theirs * n_own)
    tables = tables.reshape(n_others, n_theirs, n_own).astype(np.float64)

    def pairs(counts, axis):
        return (counts * (counts - 1)).sum(axis=axis) / 2

    both = pairs(tables, (1, 2))
    theirs, mine = pairs(tables.sum(axis=2), 1), pairs(tables.sum(axis=1), 1)
    total = max(1.0, n_samples * (n_samples - 1) / 2)
    chance, largest = theirs * mine / total, (theirs + mine) / 2
    same = largest == chance
    return np.where(same, 1.0, (both - chance) / np.where(same, 1.0, largest - chance))


def sample_reproducibility(labels: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Compute, for each sample, the share of matched partitions that put it into its cluster."""
    everyone = np.arange(len(labels))
    return np.mean([match_clusters(labels, other, everyone) == labels for other in others], axis=0)


def match_clusters(
    labels: np.ndarray, other: np.ndarray, samples: np.ndarray, *, mostly: bool = False
) -> np.ndarray:
    """Rename the clusters of another partition after those they match; -1 where they match none.

    With `mostly`, two clusters match only if they share more than half of the samples of each.
    """
    n_own, n_theirs = int(labels.max()) + 1, int(other.max()) + 1
    samples = samples[other[samples] >= 0]
    codes = labels[samples].astype(np.int64) * n_theirs + other[samples]
    counts = np.bincount(codes, minlength=n_own * n_theirs).reshape(n_own, n_theirs)
    own, theirs = linear_sum_assignment(-counts)
    # The last is that of no cluster.
    match = np.full(n_theirs + 1, -1)
    match[theirs] = own
    if mostly:
        larger = np.maximum(counts.sum(axis=1)[own], counts.sum(axis=0)[theirs])
        match[theirs[2 * counts[own, theirs] <= larger]] = -1
    return match[other]


BLOCKS_PER_CLUSTER = 4
"""Of space: neighbours are near-copies of each other, and blocks should be longer than that reach.

With fewer a half may lack whole clusters that are regions (Kunsch 1989,
doi:10.1214/aos/1176347265).
"""


def check_groups(groups: ArrayLike | None, n_samples: int) -> np.ndarray | None:
    """Check the groups that a caller gave, and number them: (n_samples,), int64, or None."""
    if groups is None:
        return None
    if np.shape(groups) != (n_samples,):
        raise ValueError(f"groups: shape={np.shape(groups)} should be ({n_samples},).")
    numbers = label_codes(groups, "groups")
    if not numbers.any():
        raise ValueError(f"groups={np.asarray(groups)[:1].tolist()} should be at least two.")
    return numbers


def space_blocks(positions: np.ndarray, n_blocks: int) -> np.ndarray:
    """Cut space into blocks of equally many samples, each time across its longest side.

    Returned is the block of each of the `positions`, (n_samples, n_dimensions). There are
    `n_blocks` or the next lower power of two.

    Examples
    --------
    >>> space_blocks(np.array([[0.0, 0], [9, 1], [8, 0], [1, 1]]), 2)
    array([0, 1, 1, 0])
    """
    positions = np.asarray(positions, dtype=np.float64)
    parts = [np.arange(len(positions))]
    while 2 * len(parts) <= min(n_blocks, len(positions)):
        halves = []
        for part in parts:
            axis = int(np.ptp(positions[part], axis=0).argmax())
            order = part[np.argsort(positions[part, axis], kind="stable")]
            halves += [order[: len(order) // 2], order[len(order) // 2 :]]
        parts = halves
    blocks = np.empty(len(positions), dtype=np.int64)
    for number, part in enumerate(parts):
        blocks[part] = number
    return blocks


def tuning_sample(
    n_samples: int, max_samples: int | None, seed: int, estimator: Any = None
) -> np.ndarray | None:
    """Draw the samples on which a sparsity is tuned, ascending.

    They depend on the seed and the numbers alone. None stands for all. A sample that the estimator
    could not cluster is refused.
    """
    if max_samples is None or n_samples <= check_count("max_samples", max_samples):
        return None
    asked = {} if estimator is None else estimator.get_params()
    fewest = asked.get("n_clusters", 1) * asked.get("min_cluster_size", 1)
    if max_samples < fewest:
        raise ValueError(
            f"max_samples={max_samples} should be >= n_clusters * min_cluster_size={fewest}."
        )
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0, 8)))
    return draw_samples(n_samples, int(max_samples), rng)
