"""Paths fitted to parts of the data from several kinds of start, for a consensus.

Resamplings alternate between four fifths of the samples with all features, and all samples with
half of the features. Blocks of samples, such as neighbours in space, are drawn as a whole. Each
resampling fits a path from every family of starts: the search for the optimum, and Algorithm 1 from
k-means on the features whose distributions are farthest from a Gaussian, by either of two
statistics. All samples are then labelled by their nearest centre.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from sparsekm.cluster.matrices.dense_parts import as_dense, stored_bytes, varying_features
from sparsekm.cluster.matrices.matrix import CentredMatrix
from sparsekm.cluster.matrices.varying_features import count_distinct
from sparsekm.cluster.screening import marginal_scores
from sparsekm.cluster.search.starts import ScreenedFeatures
from sparsekm.cluster.sparsity_path import SparsityPath
from sparsekm.runtime.threads import run_side_by_side
from sparsekm.tuning.resampling import label_everyone
from sparsekm.tuning.sample_blocks import cut_point, order_samples
from sparsekm.tuning.separation import margin_ratio

# Families of starts; the first is the search for the optimum, the others name a statistic.
FAMILIES = ("optimum", "kolmogorov-smirnov", "mixture")

SAMPLE_SHARE = 0.8
# Where all samples are fitted; the fewer are, the more features: they differ enough already.
FEATURE_SHARE = 0.5
# A resampling fits no more samples than this; the others are labelled by their nearest centres.
MOST_SAMPLES = 4000
# Enough of a search for one of many fits that are averaged.
N_INIT = 2
N_SCREENED_STARTS = 3

# Resampled fits have no cluster of fewer samples, or of fewer than a quarter of the mean size: with
# strongly correlated or heavy-tailed features the optimum else splits off single outliers.
SMALLEST_CLUSTER = 5

N_SPARSITIES = 8
# Fits that keep more than this share of the features select little, and weak signals drown in them.
DENSEST_SHARE = 1 / 3


@dataclass(frozen=True)
class ResampledPaths:
    """What one resampling found, family by family."""

    labels: np.ndarray  # (n_families, n_sparsities, n_samples), int16: of all samples
    kept: np.ndarray  # (n_families, n_sparsities, n_features), bool: features of non-zero weight
    drawn: np.ndarray  # (n_features,), bool: features that were fitted
    # (n_families, n_sparsities): `margin_ratio` of the samples that were left out; NaN where none
    # were.
    separation: np.ndarray


def consensus_sparsities(penalty: str, n_features: int) -> np.ndarray:
    """Return the sparsities at which resamplings are fitted, ascending and distinct.

    For "l0" they run from about sqrt(n_features) / 2 features to a third of them; for "l1" they are
    the square roots of these, the bound that this number of equal weights would meet.
    """
    densest = max(1.0, n_features * DENSEST_SHARE)
    sparsest = min(max(1.0, np.sqrt(n_features) / 2), densest)
    counts = np.unique(np.rint(np.geomspace(sparsest, densest, N_SPARSITIES)))
    return counts if penalty == "l0" else np.sqrt(counts)


def resample_paths(
    estimator,
    X: np.ndarray,
    sparsities: np.ndarray,
    *,
    index: int,
    seed: int,
    families=FAMILIES,
    blocks: np.ndarray | None = None,
) -> ResampledPaths:
    """Fit the paths of one resampling, which depends only on (`seed`, `index`) and `X`.

    The estimator's number of clusters and guard are used. `families` are some of `FAMILIES`.
    Samples with the same number in `blocks` (n_samples,), if given, are drawn or left out together.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index, 6)))
    n_samples = X.shape[0]
    rows, features = draw_part(X, index, rng, estimator.n_clusters, blocks)
    share = len(features) / X.shape[1]
    drawn = np.zeros(X.shape[1], bool)
    drawn[features] = True
    part = as_dense(X[np.ix_(rows, features)] if share < 1 else X[rows])
    varies = varying_features(part)
    if not varies.all():
        # What is constant in this part has no part in its fits.
        features, part = features[varies], part[:, varies]
    everyone = X if len(features) == X.shape[1] else X[:, features]
    # Of a block that was drawn, the others are near-copies.
    blocks = np.arange(n_samples) if blocks is None else blocks
    others = np.flatnonzero(~np.isin(blocks, blocks[rows]))
    left_out = as_dense(everyone[others[:MOST_SAMPLES]])
    scaled = _scale_sparsities(estimator.penalty, sparsities, share, len(features))
    guard = _smallest_cluster(estimator, n_samples) * len(rows) // n_samples
    estimator = clone(estimator).set_params(
        n_init=N_INIT, min_cluster_size=max(1, guard), n_jobs=None, verbose=0
    )
    seeds = [int(state) for state in rng.integers(2**31, size=len(FAMILIES))]
    labels = np.empty((len(families), len(sparsities), n_samples), np.int16)
    kept = np.zeros((len(families), len(sparsities), X.shape[1]), bool)
    separation = np.full((len(families), len(sparsities)), np.nan)
    for f, family in enumerate(families):
        estimator.set_params(random_state=seeds[FAMILIES.index(family)])
        for i, (found, weights) in enumerate(_fit_family(estimator, part, scaled, family)):
            labels[f, i] = label_everyone(everyone, part, found, weights)
            kept[f, i, features] = weights > 0
            if len(left_out):
                separation[f, i] = margin_ratio(left_out, part, found, weights)
    return ResampledPaths(labels, kept, drawn, separation)


def resample_all(
    estimator,
    X: np.ndarray,
    sparsities: np.ndarray,
    indices: Sequence[int],
    *,
    seed: int,
    blocks: np.ndarray | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[ResampledPaths]:
    """Fit the paths of the resamplings `indices`, side by side in the estimator's threads.

    The arguments are as in `resample_paths`; ``progress(done, total)`` is called after each one.
    """

    def work(index):
        return resample_paths(estimator, X, sparsities, index=index, seed=seed, blocks=blocks)

    found: list[ResampledPaths] = []
    # The part that is fitted is dense.
    dense_bytes = min(X.shape[0], MOST_SAMPLES) * X.shape[1] * X.dtype.itemsize
    copy_bytes = max(stored_bytes(X), dense_bytes)
    for resampled in run_side_by_side(work, indices, estimator.n_jobs, copy_bytes):
        found.append(resampled)
        if progress is not None:
            progress(len(found), len(indices))
    return found


def draw_part(
    X: np.ndarray,
    index: int,
    rng: np.random.Generator,
    n_clusters: int,
    blocks: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw the samples and the features of a resampling, each in ascending order.

    All samples are taken where those drawn could not be clustered, and all features where fewer
    than two of those drawn vary or they tell too few samples apart.
    """
    enough = max(2, n_clusters)
    n_samples, n_features = X.shape
    rows, features = np.arange(n_samples), np.arange(n_features)
    by_samples = index % 2 == 0
    size = int(np.ceil(SAMPLE_SHARE * n_samples)) if by_samples else n_samples
    order = order_samples(n_samples, rng, blocks)
    drawn = order[: cut_point(size, order, blocks)] if by_samples else order
    if blocks is not None:
        # The first of them are of every block.
        drawn = rng.permutation(drawn)
    drawn = np.sort(drawn[:MOST_SAMPLES])
    if count_distinct(CentredMatrix(as_dense(X[drawn])), enough) >= enough:
        rows = drawn
    if not by_samples:
        share = 1 - (1 - FEATURE_SHARE) * len(rows) / n_samples
        drawn = np.sort(rng.permutation(n_features)[: max(1, round(share * n_features))])
        part = as_dense(X[np.ix_(rows, drawn)])
        varies = np.count_nonzero(np.ptp(part, axis=0))
        if varies >= 2 and count_distinct(CentredMatrix(part), enough) >= enough:
            features = drawn
    return rows, features


def _smallest_cluster(estimator, n_samples: int) -> int:
    """Return the guard of resamplings: what is smaller is a few outliers, not a cluster."""
    own = min(SMALLEST_CLUSTER, n_samples // (4 * int(estimator.n_clusters)))
    return max(own, int(estimator.min_cluster_size))


def family_start(part, family: str, seed: int) -> ScreenedFeatures | None:
    """Return the `init` of a family for a part of the samples: None for the optimum."""
    if family == FAMILIES[0]:
        return None
    seeds = np.random.SeedSequence(seed)
    return ScreenedFeatures(marginal_scores(part, family), N_SCREENED_STARTS, seeds)


def _fit_family(estimator, part, sparsities, family):
    """Yield labels and weights at every sparsity."""
    matrix = CentredMatrix(part)
    start = family_start(part, family, estimator.random_state)
    estimator.set_params(init=start)
    if start is None:
        path: SparsityPath = estimator.path(matrix, sparsities)
        yield from zip(path.labels, path.weights, strict=True)
        return
    for sparsity in sparsities:
        # One at a time: along a path the fits of larger objective would displace the others.
        path = estimator.path(matrix, [sparsity])
        yield path.labels[0], path.weights[0]


def _scale_sparsities(penalty, sparsities, share, n_features):
    if penalty == "l0":
        return np.clip(np.rint(sparsities * share), 1, n_features)
    return np.clip(sparsities * np.sqrt(share), 1.0, np.sqrt(n_features))
