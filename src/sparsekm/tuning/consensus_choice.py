"""Choices made without labels: the family of starts, the partition and the number of features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import f as fisher
from scipy.stats import false_discovery_control
from sklearn.base import clone

from sparsekm.cluster.matrices.dense_parts import feature_means, feature_variances, varying_features
from sparsekm.cluster.matrices.scatter import cluster_centers
from sparsekm.cluster.sparsity_path import SparsityPath
from sparsekm.tuning.consensus import (
    agreement,
    consensus_partition,
    medoid_partition,
    voted_partition,
)
from sparsekm.tuning.grid import default_sparsities
from sparsekm.tuning.resampled_paths import FAMILIES, ResampledPaths

# Two resamplings of a screened family agree at least so well (adjusted Rand index), or it is noise.
REPRODUCIBLE = 1 / 3
# With a difference in margin ratios like this the less reproducible family may be the better one.
FAR_BETTER_SEPARATION = 0.1
# Share of features without any difference between the clusters among those that are counted.
FALSE_DISCOVERIES = 0.1
# Of many samples every difference is beyond chance: one that counts explains at least this share of
# a feature's variance, a medium effect by the convention of Cohen (1988), f = .25.
MEDIUM_EFFECT = 0.25**2 / (1 + 0.25**2)
N_FITS = 12
# Agreements count as equal within so many standard errors over the resamplings.
STANDARD_ERRORS = 2


@dataclass(frozen=True)
class Consensus:
    """The partition that resampled paths stand for."""

    labels: np.ndarray  # (n_samples,), int32
    family: str  # the family of starts whose paths were used, of `FAMILIES`
    # (n_families, n_sparsities): mean adjusted Rand index of two resamplings.
    reproducibility: np.ndarray
    separation: np.ndarray  # (n_families, n_sparsities): mean `margin_ratio`
    partitions: np.ndarray  # (n_resamplings, n_sparsities, n_samples): those of the family
    # (n_sparsities,): how much the sparsities count: the squares of their reproducibility, as a
    # correlation's share of variance. They sum to 1.
    weights: np.ndarray


def find_consensus(
    resamplings: Sequence[ResampledPaths], n_clusters: int, *, seed: int, family: str | None = None
) -> Consensus:
    """Choose the family of starts, and the partition that agrees most with its resamplings.

    There are at least two resamplings, with all of `FAMILIES`; `family` is the one to use, by
    default the best. There are two candidates for the partition, in which all resampled partitions
    are weighted by the reproducibility of their sparsity: the clusters of the co-association, and a
    vote that starts from the partition that agrees most with the others. The first averages best if
    signals are weak. It is taken unless the second agrees clearly better, as it does for many
    clusters of unequal size.
    """
    labels = np.array([resampling.labels for resampling in resamplings])
    reproducibility = np.array([_reproducibility(labels[:, f]) for f in range(len(FAMILIES))])
    separation = np.array([resampling.separation for resampling in resamplings])
    chosen = (
        choose_family(reproducibility.mean(axis=1), _known_mean(separation, axis=2))
        if family is None
        else FAMILIES.index(family)
    )
    partitions = labels[:, chosen]
    pool = partitions.reshape(-1, partitions.shape[-1])
    weights = np.maximum(reproducibility[chosen], 1e-3) ** 2
    weights /= weights.sum()
    each = np.tile(weights, len(partitions))
    candidates = [
        consensus_partition(pool, n_clusters, seed=seed, weights=each),
        voted_partition(pool, medoid_partition(pool, weights=each), weights=each),
    ]
    as_good = _is_as_good(_agreements(candidates, partitions, weights))
    best = candidates[0 if as_good[0] else 1]
    # Where nothing is known, no family is better separated than another.
    mean_separation = np.nan_to_num(_known_mean(separation, axis=0), nan=np.pi / 2)
    return Consensus(best, FAMILIES[chosen], reproducibility, mean_separation, partitions, weights)


def choose_family(reproducibility: np.ndarray, separation: np.ndarray) -> int:
    """Choose between the search for the optimum and the screened starts; return the position.

    Screened starts are used if they are reproducible; they are not if marginal distributions carry
    no information. The better separated of two such families is chosen, or the more reproducible
    one if their separations differ by less than a standard error. The optimum is preferred only if
    it is better separated and either more reproducible or far better separated: on correlated data
    it can be perfectly reproducible and follow the correlations instead of the clusters.

    `reproducibility`, of shape (n_families,), is in the order of `FAMILIES`; `separation`, of shape
    (n_resamplings, n_families), has margin ratios, NaN if unknown. Smaller ratios are better.
    """
    screened = [f for f in range(1, len(FAMILIES)) if reproducibility[f] >= REPRODUCIBLE]
    if not screened:
        return 0
    best = max(screened, key=lambda f: reproducibility[f])
    for other in screened:
        if _separation_gain(separation[:, other], separation[:, best]) > 0:
            best = other
    gain = _separation_gain(separation[:, 0], separation[:, best])
    far = gain > FAR_BETTER_SEPARATION and reproducibility[0] >= REPRODUCIBLE
    more = gain > 0 and reproducibility[0] > reproducibility[best]
    return 0 if far or more else best


def count_discoveries(X: np.ndarray, labels: np.ndarray) -> int:
    """Count the features, at least 1, whose means differ clearly between clusters.

    This is a one-way analysis of variance of each feature at a false discovery rate of 10 %, with
    the thresholds of Benjamini & Hochberg (1995), doi:10.1111/j.2517-6161.1995.tb02031.x. The
    clusters must also explain at least 5.9 % of the feature's variance: a medium effect by the
    convention of Cohen (1988, Statistical Power Analysis for the Behavioral Sciences), f = .25.
    """
    n_samples, n_clusters = X.shape[0], int(labels.max()) + 1
    if n_clusters < 2 or n_samples <= n_clusters:
        return X.shape[1]
    centers = cluster_centers(X, labels, n_clusters) - feature_means(X)
    between = (np.bincount(labels, minlength=n_clusters)[:, None] * centers**2).sum(axis=0)
    total = feature_variances(X) * n_samples
    # A constant feature's sums of squares are rounding, and their ratio can be anything.
    between[~varying_features(X)] = 0.0
    within = np.maximum(total - between, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (between / (n_clusters - 1)) / (within / (n_samples - n_clusters))
    p_values = fisher.sf(
        np.nan_to_num(ratio, nan=0.0, posinf=np.inf), n_clusters - 1, n_samples - n_clusters
    )
    found = false_discovery_control(p_values) <= FALSE_DISCOVERIES
    found &= between >= MEDIUM_EFFECT * total
    return max(1, int(np.count_nonzero(found)))


def fit_from(
    estimator, X: np.ndarray, labels: np.ndarray, sparsities: Sequence[float] | np.ndarray
) -> SparsityPath:
    """Run Algorithm 1 from a partition at every sparsity; the fits are independent."""
    estimator = clone(estimator).set_params(init=labels)
    return SparsityPath.join([estimator.path(X, [sparsity]) for sparsity in sparsities])


def try_sparsities(estimator, X: np.ndarray, n_discoveries: int) -> np.ndarray:
    """Return the sparsities to fit from a consensus: a grid, and the number of discoveries."""
    grid = default_sparsities(estimator.penalty, X.shape[1], N_FITS)
    return np.union1d(grid, [n_discoveries]) if estimator.penalty == "l0" else grid


def judge_fits(
    path: SparsityPath, partitions: np.ndarray, weights: np.ndarray, n_discoveries: int
) -> pd.DataFrame:
    """Tabulate how well each fit of `fit_from` agrees with the resampled ones, and choose one.

    A fit is admissible if its agreement is within two standard errors, over the resamplings, of the
    best. Among these, the chosen fit keeps the number of features closest, as a ratio, to
    `n_discoveries`. `partitions` has the shape (n_resamplings, n_sparsities, n_samples), and
    `weights`, which sum to 1, are those of the sparsities.

    There is a row per fit: sparsity, n_selected, objective, agreement, agreement_se, admissible,
    chosen.
    """
    agreements = _agreements(path.labels, partitions, weights)
    admissible = _is_as_good(agreements)
    distance = np.abs(np.log(path.n_selected / n_discoveries))
    chosen = np.where(admissible, distance, np.inf).argmin()
    return pd.DataFrame(
        {
            "sparsity": path.sparsities,
            "n_selected": path.n_selected,
            "objective": path.objectives,
            "agreement": agreements.mean(axis=1),
            "agreement_se": _standard_errors(agreements),
            "admissible": admissible,
            "chosen": np.arange(len(admissible)) == chosen,
        }
    )


def _agreements(
    candidates: Sequence[np.ndarray], partitions: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Average agreements over the sparsities: an array (n_candidates, n_resamplings)."""
    return np.array(
        [[agreement(labels, drawn) @ weights for drawn in partitions] for labels in candidates]
    )


def _is_as_good(agreements: np.ndarray) -> np.ndarray:
    mean = agreements.mean(axis=1)
    best = int(mean.argmax())
    return mean >= mean[best] - STANDARD_ERRORS * _standard_errors(agreements)[best]


def _standard_errors(agreements: np.ndarray) -> np.ndarray:
    return agreements.std(axis=1, ddof=1) / np.sqrt(agreements.shape[1])


def _reproducibility(partitions: np.ndarray) -> np.ndarray:
    """Average the agreement of each resampling with the next, sparsity by sparsity."""
    following = np.roll(partitions, -1, axis=0)
    n_pairs = len(partitions) if len(partitions) > 2 else 1
    return np.array(
        [
            np.mean([agreement(partitions[b, i], following[b, i][None])[0] for b in range(n_pairs)])
            for i in range(partitions.shape[1])
        ]
    )


def _separation_gain(one: np.ndarray, other: np.ndarray) -> float:
    """Return by how much one family is better separated, 0 within a standard error."""
    differences = (other - one)[np.isfinite(other - one)]
    if len(differences) < 2:
        return 0.0
    gain = differences.mean()
    noise = differences.std(ddof=1) / np.sqrt(len(differences))
    return float(gain) if abs(gain) > noise else 0.0


def _known_mean(values: np.ndarray, axis: int) -> np.ndarray:
    """Average what is known; NaN where nothing is."""
    known = np.isfinite(values)
    with np.errstate(invalid="ignore"):
        return np.where(known, values, 0.0).sum(axis=axis) / known.sum(axis=axis)
