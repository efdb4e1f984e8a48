"""The answer of `SparseKMeans` for a number of clusters, and for a number that it chooses.

The fits of folds give a consensus, Algorithm 1 from there the clusters. The same folds show which
clusters stand apart, how reproducible each sample is, and how few features tell them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from sparsekm.cluster.matrices.containers import in_blocks
from sparsekm.cluster.matrices.scatter import feature_scores
from sparsekm.cluster.matrices.sparse_matrix import as_matrix
from sparsekm.cluster.sample_weights import WeightedSamples, describe_weighted, with_weights
from sparsekm.cluster.sparsity_path import SparsityPath
from sparsekm.cluster.weight_step import PENALTIES
from sparsekm.tuning.consensus import (
    agreement,
    consensus_partition,
    match_clusters,
    sample_reproducibility,
)
from sparsekm.tuning.differing_features import count_differing
from sparsekm.tuning.feature_limit import noise_correlation
from sparsekm.tuning.feature_ranking import ScaledData, choose_screening
from sparsekm.tuning.fold_fits import (
    N_REPEATS,
    FoldFit,
    bound_of,
    fit_few,
    fit_folds,
    fit_from,
    kept_features,
    label_everyone,
)
from sparsekm.tuning.separation import (
    LEVEL,
    MatchedFold,
    are_apart,
    join_touching,
    match_folds,
    place_left_out,
    separation,
)
from sparsekm.tuning.signature import Signature, find_signatures

# The most clusters tried, and the fewest samples for each.
MOST_CLUSTERS = 12
SAMPLES_PER_CLUSTER = 7


@dataclass(frozen=True)
class ConsensusFit:
    """Clusters of a data set, and what is known about them."""

    fit: SparsityPath  # one fit: labels, weights and scores of all features
    screening: str  # how features were ranked, see `sparsekm.tuning.feature_ranking`
    folds: list[FoldFit]
    table: pd.DataFrame  # a row per kind of start, see `_tabulate`
    separation: pd.DataFrame  # a row per pair of neighbours
    reproducibility: np.ndarray  # (n_samples,)
    left_out_labels: np.ndarray  # (n_samples,): the cluster of a sample that made none, or -1
    selection_frequency: np.ndarray  # (n_features,): share of the fits of folds that keep it
    signature: Signature
    cluster_signatures: list[Signature]  # of each cluster against the others
    is_joined: bool  # clusters of the fit were joined into these
    is_weighed: bool  # the weights follow from the clusters, whose fit kept other features
    fitted_sparsity: float  # that of Algorithm 1
    counts: pd.DataFrame | None = None  # a row per number of clusters tried, if it was chosen

    @property
    def labels(self) -> np.ndarray:
        """The clusters, (n_samples,), int32."""
        return self.fit.labels[0]

    @property
    def has_clusters(self) -> bool:
        """Whether any two clusters stand apart."""
        return are_apart(self.separation)

    @property
    def partitions(self) -> np.ndarray:
        """The partitions of all folds, (m, n_samples)."""
        return np.concatenate([fold.labels for fold in self.folds])

    def extend(self, estimator: Any, X: Any, samples: np.ndarray) -> ConsensusFit:
        """Return the answer for all samples, given that from some.

        All samples are labelled by the nearest centre. Algorithm 1 fits all from there, unless the
        clusters are joined ones.

        Parameters
        ----------
        estimator : L0KMeans or L1KMeans
        X : ndarray or csr_array of shape (n_all_samples, n_features)
        samples : ndarray of shape (n_samples,)
            Those of this answer, ascending.
        """
        labels = label_everyone(X, X[samples], self.labels, self.fit.weights[0])
        left_out = labels.copy()
        left_out[samples] = self.left_out_labels
        reproducibility = np.full(X.shape[0], np.nan)
        reproducibility[samples] = self.reproducibility
        found = self.refit(estimator, X, labels)
        return replace(found, reproducibility=reproducibility, left_out_labels=left_out)

    def refit(self, estimator: Any, X: Any, labels: np.ndarray) -> ConsensusFit:
        """Return the answer with the clusters that Algorithm 1 makes from others.

        Joined ones stay as they are. X are samples, or WeightedSamples.
        """
        n_clusters, fit = int(self.labels.max()) + 1, self.fit
        weighted = isinstance(X, WeightedSamples)
        if not self.is_joined:
            estimator = clone(estimator).set_params(n_clusters=n_clusters)
            fit = fit_from(estimator, X if weighted else in_blocks(X), labels, self.fitted_sparsity)
            # The fit numbers its clusters anew; what is known of them has the old numbers.
            labels = match_clusters(labels, fit.labels[0], np.arange(len(labels))).astype(np.int32)
            fit = replace(fit, labels=labels[None])
        if self.is_weighed:
            if weighted:
                matrix = with_weights(as_matrix(X.values), X.sample_weight)
                scores = describe_weighted(matrix, labels, n_clusters)[1]
            else:
                scores = feature_scores(as_matrix(X), labels, n_clusters)
            fit = _weigh(estimator, fit, labels, scores, int(self.fit.n_selected[0]))
        return replace(self, fit=fit)

    def sentence(self) -> str:
        """Say what was found, and how sure it is."""
        n_clusters, kept = int(self.labels.max()) + 1, int(self.fit.n_selected[0])
        table, text = self.separation, []
        if self.counts is not None:
            text.append(describe_counts(self.counts))
        apart = int((table["p_adjusted"] <= LEVEL).sum())
        if not self.has_clusters:
            text.append(
                f"None of the {n_clusters} clusters stands apart from its neighbours: they are "
                "groups that shade into each other, or a gradient cut into parts"
            )
        elif apart == len(table):
            text.append(f"All {n_clusters} clusters stand apart from their neighbours")
        else:
            text.append(
                f"{apart} of {len(table)} pairs of neighbouring clusters stand apart; the others "
                "touch"
            )
        few = self.signature.features
        agrees = f"(adjusted Rand index {self.signature.agreement:.2f})"
        if few is None:
            text.append(f"no small set of features tells the clusters apart {agrees}")
        else:
            text.append(
                f"{len(few):,} features put left-out samples into the same clusters {agrees}"
            )
        text.append(
            f"{kept:,} of {self.fit.weights.shape[1]:,} features have weight; a sample is in its "
            f"cluster in {np.nanmean(self.reproducibility):.0%} of the fits to nine tenths of the "
            "samples on average"
        )
        return "; ".join(text) + "."


def describe_counts(counts: pd.DataFrame) -> str:
    """Say how a number of clusters was chosen."""
    chosen = counts[counts["chosen"]].iloc[0]
    tried = f"{counts['n_clusters'].min()} to {counts['n_clusters'].max()} clusters were tried"
    # One number alone can have had two groups.
    if chosen["n_groups"] == 1:
        return (
            f"{tried}: no groups stand apart, and {chosen['n_clusters']} clusters are the most "
            "reproducible"
        )
    groups = int(chosen["n_groups"])
    return f"{tried}: {groups} groups stand apart"


def fit_consensus(
    estimator: Any,
    data: ScaledData,
    *,
    screening: str = "auto",
    sparsity: float | None = None,
    selection: str = "relevant",
    join: bool = False,
    seed: int,
    blocks: np.ndarray | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ConsensusFit:
    """Cluster data by the consensus of fits of folds.

    Parameters
    ----------
    estimator : L0KMeans or L1KMeans
        Its number of clusters, its guard, its penalty and its threads are used.
    data : ScaledData
    screening : str
        An entry of `sparsekm.tuning.feature_ranking.SCREENINGS`.
    sparsity : float, default=None
        That of Algorithm 1, whose features are kept. None fits with few features, see
        `kept_features`, and `selection` says which are kept.
    selection : {"relevant", "signature"}, default="relevant"
        The features that differ between the clusters, or the smallest set that tells them apart
        (the relevant ones where there is none).
    join : bool, default=False
        Whether neighbours without a valley between them become one, if more than one remains.
    seed : int
    blocks : ndarray of shape (n_samples,), default=None
        Samples of one block are left out together.
    progress : callable, default=None
        ``progress(done, total)`` is called after each fold.
    """
    asked = _Request(_screening(screening, data), sparsity, selection, seed, blocks)
    trial = _Trial.make(estimator, data, asked, progress)
    return _describe(data, trial, asked, trial.groups if join else np.arange(trial.n_clusters))


def choose_clusters(
    estimator: Any,
    data: ScaledData,
    *,
    screening: str = "auto",
    sparsity: float | None = None,
    selection: str = "relevant",
    seed: int,
    blocks: np.ndarray | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ConsensusFit:
    """Choose the number of clusters as well: how many groups stand apart.

    Neighbouring clusters without a valley between them are joined. The number of groups that remain
    stops growing at the number of clusters; it is the largest that two numbers tried reach, or one
    reaches with every cluster apart beyond doubt (adjusted for the numbers tried). Where no groups
    stand apart, the most reproducible number is shown. The arguments are those of
    `fit_consensus`; `progress` counts the numbers of clusters.
    """
    asked = _Request(_screening(screening, data), sparsity, selection, seed, blocks)
    counts = range(2, most_clusters(data.X.shape[0], int(estimator.min_cluster_size)) + 1)
    tried = []
    for n_clusters in counts:
        own = clone(estimator).set_params(n_clusters=n_clusters)
        tried.append(_Trial.make(own, data, asked))
        if progress is not None:
            progress(len(tried), len(counts))
    chosen = _choose_trial(tried)
    found = _describe(data, tried[chosen], asked, tried[chosen].groups)
    table = pd.DataFrame(
        {
            "n_clusters": [trial.n_clusters for trial in tried],
            "n_groups": [trial.n_groups for trial in tried],
            "reproducibility": [trial.reproducibility for trial in tried],
            "groups": ["-".join(map(str, trial.group)) for trial in tried],
            "chosen": np.arange(len(tried)) == chosen,
        }
    )
    return replace(found, counts=table)


def _screening(screening: str, data: ScaledData) -> str:
    return choose_screening(data) if screening == "auto" else screening


def most_clusters(n_samples: int, min_cluster_size: int = 1) -> int:
    """Return the most clusters that are tried for so many samples, at least 2."""
    room = min(n_samples // (2 * min_cluster_size), n_samples // SAMPLES_PER_CLUSTER)
    return max(2, min(MOST_CLUSTERS, room))


@dataclass(frozen=True)
class _Request:
    """What was asked for beside the number of clusters."""

    screening: str
    sparsity: float | None
    selection: str
    seed: int
    blocks: np.ndarray | None


@dataclass(frozen=True)
class _Trial:
    """The fit of one number of clusters, and the groups that its clusters join into."""

    estimator: Any
    fit: SparsityPath
    folds: list[FoldFit]
    matched: list[MatchedFold]
    separation: pd.DataFrame
    group: np.ndarray  # (n_clusters,)

    @classmethod
    def make(cls, estimator, data, asked, progress=None) -> _Trial:
        """Fit by the consensus of screens, and of what the features' correlation calls for.

        Independent features have the optimum's votes as well. Where they correlate and no clusters
        stand apart, they may follow factors: the clusters of components that count each factor once
        take their place if some of them stand apart and the folds reproduce them better.
        """

        def fit_starts(start):
            return fit_folds(
                data,
                int(estimator.n_clusters),
                screening=asked.screening,
                start=start,
                min_cluster_size=int(estimator.min_cluster_size),
                seed=asked.seed,
                n_jobs=estimator.n_jobs,
                blocks=asked.blocks,
                progress=progress,
            )

        folds = fit_starts("screens")
        fit = _fit_from(estimator, data.matrix, folds, asked)
        noise = noise_correlation(data.X, fit.labels[0], fit.weights[0])
        if not noise.is_beyond_chance:
            folds = [_join(*pair) for pair in zip(folds, fit_starts("optimum"), strict=True)]
            fit = _fit_from(estimator, data.matrix, folds, asked)
        trial = cls._of(estimator, data, fit, folds, asked)
        if noise.is_beyond_chance and not are_apart(trial.separation):
            folds = fit_starts("components")
            fit = _fit_from(estimator, data.matrix, folds, asked)
            other = cls._of(estimator, data, fit, folds, asked)
            if are_apart(other.separation) and other.reproducibility > trial.reproducibility:
                trial = other
        return trial

    @classmethod
    def _of(cls, estimator, data, fit, folds, asked) -> _Trial:
        labels = fit.labels[0]
        matched = match_folds(labels, folds)
        table = separation(data.X, labels, np.flatnonzero(fit.weights[0]), matched, asked.blocks)
        group = join_touching(table, int(labels.max()) + 1)
        return cls(estimator, fit, folds, matched, table, group)

    @property
    def worst_p(self) -> float:
        """The largest adjusted p over the pairs of neighbours."""
        return float(self.separation["p_adjusted"].max()) if len(self.separation) else 1.0

    @property
    def groups(self) -> np.ndarray:
        """The group of each cluster; where there is only one, each is its own."""
        return np.arange(self.n_clusters) if self.n_groups == 1 else self.group

    @property
    def n_clusters(self) -> int:
        return len(self.group)

    @property
    def n_groups(self) -> int:
        return int(self.group.max()) + 1

    @property
    def reproducibility(self) -> float:
        """Mean adjusted Rand index of the groups, or the clusters of one group, with the folds."""
        joined = np.array([fold.join(self.groups).labels + 1 for fold in self.matched])
        return float(agreement(self.groups[self.fit.labels[0]], joined).mean())


def _choose_trial(tried: Sequence[_Trial]) -> int:
    """Return which number of clusters gives the answer."""
    n_groups = [trial.n_groups for trial in tried]
    # The largest that two reach, or one all of whose clusters stand apart beyond doubt.
    alone = [t.n_clusters for t in tried if t.worst_p * len(tried) <= LEVEL]
    target = max([sorted(n_groups)[-2:][0], *alone])
    if target == 1:
        return int(np.argmax([trial.reproducibility for trial in tried]))
    direct = target - 2
    if n_groups[direct] == target:
        return direct
    able = [number for number, groups in enumerate(n_groups) if groups == target]
    return max(able, key=lambda number: tried[number].reproducibility)


def _describe(data, trial, asked, group) -> ConsensusFit:
    """Choose the features of the clusters, joined by `group`, and measure their reproducibility."""
    X, fit, matched, apart = data.X, trial.fit, trial.matched, trial.separation
    labels = group[fit.labels[0]].astype(np.int32)
    joined = len(group) > group.max() + 1
    if joined:
        matched = [fold.join(group) for fold in matched]
        apart = separation(X, labels, np.flatnonzero(fit.weights[0]), matched, asked.blocks)
    signature, *of_clusters = find_signatures(X, labels, matched, N_REPEATS)
    if asked.sparsity is None:
        few = asked.selection == "signature" and signature.features is not None
        scores = feature_scores(data.matrix, labels, int(labels.max()) + 1)
        differing = count_differing(data.matrix, labels, scores)
        count = len(signature.features) if few else differing
        fit = _weigh(trial.estimator, fit, labels, scores, count)
    folds = trial.folds
    partitions = np.concatenate([fold.labels for fold in folds])
    everyone = np.array([fold.labels for fold in matched]) if joined else partitions
    starts = [start for fold in folds for start in fold.starts]
    kept = np.concatenate([features for fold in folds for features in fold.kept])
    return ConsensusFit(
        fit,
        asked.screening,
        folds,
        _tabulate(partitions, starts, labels),
        apart,
        sample_reproducibility(labels, everyone),
        place_left_out(matched, len(labels), int(labels.max()) + 1),
        np.bincount(kept, minlength=X.shape[1]) / len(partitions),
        signature,
        of_clusters,
        is_joined=joined,
        is_weighed=asked.sparsity is None,
        fitted_sparsity=float(trial.fit.sparsities[0]),
    )


def _join(fold: FoldFit, other: FoldFit) -> FoldFit:
    labels = np.concatenate([fold.labels, other.labels])
    return replace(
        fold, labels=labels, kept=fold.kept + other.kept, starts=fold.starts + other.starts
    )


def _tabulate(partitions: np.ndarray, starts: Sequence[str], labels: np.ndarray) -> pd.DataFrame:
    """Tabulate the fits of folds by their start.

    There is a row per kind of start: start, n_fits, reproducibility (mean adjusted Rand index of
    the fits of one fold and the next) and agreement (with the clusters).
    """
    rows = []
    for start in dict.fromkeys(starts):
        own = partitions[[name == start for name in starts]]
        again = agreement(own, np.roll(own, -1, axis=0)).mean()
        rows.append((start, len(own), float(again), float(agreement(labels, own).mean())))
    return pd.DataFrame(rows, columns=["start", "n_fits", "reproducibility", "agreement"])


def _fit_from(estimator, matrix, folds, asked) -> SparsityPath:
    """Run Algorithm 1 on all features from the consensus of the folds."""
    n_clusters = int(estimator.n_clusters)
    partitions = np.concatenate([fold.labels for fold in folds])
    start = consensus_partition(
        partitions, n_clusters, seed=asked.seed, min_cluster_size=int(estimator.min_cluster_size)
    )
    if asked.sparsity is not None:
        return fit_from(estimator, matrix, start, asked.sparsity)
    few = bound_of(estimator.penalty, kept_features(n_clusters, matrix.n_features))
    return fit_few(estimator, matrix, start, few)


def _weigh(estimator, fit, labels, scores, count) -> SparsityPath:
    """Return a fit with these labels, whose `count` features have the penalty's best weights."""
    step = PENALTIES[estimator.penalty]
    sparsity = step.bound_for(scores, count)
    weights = step(sparsity).weigh(scores)
    return replace(
        fit,
        sparsities=np.array([float(sparsity)]),
        objectives=np.array([weights @ scores]),
        first_objectives=np.array([weights @ scores]),
        labels=labels[None],
        weights=weights[None],
        scores=scores[None],
    )
