"""The answer of `SparseKMeans` for a number of clusters, and for a number that it chooses.

The fits of folds give a consensus, Algorithm 1 from there the clusters, which the folds then judge.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone

from sparsekm.cluster.matrices.containers import in_blocks
from sparsekm.cluster.matrices.matrix import feature_scores
from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.cluster.matrices.sparse_matrix import as_matrix
from sparsekm.cluster.sparsity_path import SparsityPath
from sparsekm.cluster.unequal_samples import describe_weighted, with_weights
from sparsekm.cluster.weight_step import PENALTIES, group_means, make_step
from sparsekm.tuning.feature_ranking import (
    choose_screening,
    count_differing,
    count_units,
    noise_correlation,
)
from sparsekm.tuning.fold_fits import (
    N_REPEATS,
    FoldFit,
    agreement,
    consensus_partition,
    fit_few,
    fit_folds,
    fit_from,
    kept_features,
    label_everyone,
    match_clusters,
    sample_reproducibility,
)
from sparsekm.tuning.separation import (
    LEVEL,
    MatchedFold,
    Signature,
    are_apart,
    find_signatures,
    join_touching,
    match_folds,
    place_left_out,
    separation,
)

# The most clusters tried, and the fewest samples for each.
MOST_CLUSTERS = 12
SAMPLES_PER_CLUSTER = 7


@dataclass(frozen=True)
class ConsensusFit:
    """Clusters of a data set, and what is known about them."""

    fit: SparsityPath  # one fit: labels, weights and scores of all features
    screening: str  # how features were ranked, see `sparsekm.tuning.feature_ranking`
    partitions: np.ndarray  # (m, n_samples): those of all folds
    table: pd.DataFrame  # a row per kind of start, see `_tabulate`
    separation: pd.DataFrame  # a row per pair of neighbours
    reproducibility: np.ndarray  # (n_samples,)
    left_out_labels: np.ndarray  # (n_samples,): the cluster of a sample that made none, or -1
    selection_frequency: np.ndarray  # (n_features,): share of the fits of folds that keep it
    signatures: list[Signature]  # of all clusters, and of each against the others
    is_joined: bool  # clusters of the fit were joined into these
    is_weighed: bool  # the weights follow from the clusters, whose fit kept other features
    fitted_sparsity: float  # that of Algorithm 1
    groups: np.ndarray | None  # (n_features,): `unit_numbers` of `ScaledData`
    counts: pd.DataFrame | None = None  # a row per number of clusters tried, if it was chosen

    @property
    def labels(self) -> np.ndarray:
        """The clusters, (n_samples,), int32."""
        return self.fit.labels[0]

    @property
    def has_clusters(self) -> bool:
        """Whether any two clusters stand apart."""
        return are_apart(self.separation)

    def extend(self, estimator: Any, X: Any, samples: np.ndarray) -> ConsensusFit:
        """Return the answer for all samples X from that for some: `samples`, ascending."""
        labels = label_everyone(X, X[samples], self.labels, self.fit.weights[0])
        left_out = labels.copy()
        left_out[samples] = self.left_out_labels
        reproducibility = np.full(X.shape[0], np.nan)
        reproducibility[samples] = self.reproducibility
        found = self.refit(estimator, X, labels)
        return replace(found, reproducibility=reproducibility, left_out_labels=left_out)

    def refit(
        self, estimator: Any, X: Any, labels: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> ConsensusFit:
        """Return the answer with the clusters that Algorithm 1 makes from others, unless joined."""
        n_clusters, fit = int(self.labels.max()) + 1, self.fit
        weighted = None if sample_weight is None else with_weights(as_matrix(X), sample_weight)
        if not self.is_joined:
            own = clone(estimator).set_params(n_clusters=n_clusters)
            given = in_blocks(X) if weighted is None else weighted
            fit = fit_from(own, given, labels, self.fitted_sparsity)
            # The fit numbers its clusters anew; what is known of them has the old numbers.
            labels = match_clusters(labels, fit.labels[0], np.arange(len(labels))).astype(np.int32)
            fit = replace(fit, labels=labels[None])
        if self.is_weighed:
            if weighted is None:
                scores = feature_scores(as_matrix(X), labels, n_clusters)
            else:
                scores = describe_weighted(weighted, labels, n_clusters)[1]
            count = count_units(np.flatnonzero(self.fit.weights[0]), self.groups)
            fit = _weigh(estimator.penalty, fit, labels, scores, count, self.groups)
        return replace(self, fit=fit)

    def sentence(self) -> str:
        """Say what was found, and how sure it is."""
        n_clusters, n_pairs = int(self.labels.max()) + 1, len(self.separation)
        apart = int((self.separation["p_adjusted"] <= LEVEL).sum())
        separate = (
            f"{apart} of {n_pairs} pairs of neighbouring clusters stand apart; the others touch"
        )
        if not apart:
            separate = (
                f"None of the {n_clusters} clusters stands apart from its neighbours: they are "
                "groups that shade into each other, or a gradient cut into parts"
            )
        elif apart == n_pairs:
            separate = f"All {n_clusters} clusters stand apart from their neighbours"
        features, agrees = self.signatures[0]
        few = "no small set of features tells the clusters apart"
        if features is not None:
            few = f"{len(features):,} features put left-out samples into the same clusters"
        counted = "" if self.counts is None else f"{describe_counts(self.counts)}; "
        return (
            f"{counted}{separate}; {few} (adjusted Rand index {agrees:.2f}); "
            f"{self.fit.n_selected[0]:,} of {self.fit.weights.shape[1]:,} features have weight; "
            f"a sample is in its cluster in {np.nanmean(self.reproducibility):.0%} of the fits to "
            "nine tenths of the samples on average."
        )


def describe_counts(counts: pd.DataFrame) -> str:
    """Say how a number of clusters was chosen."""
    chosen, numbers = counts[counts["chosen"]].iloc[0], counts["n_clusters"]
    groups = f"{chosen['n_groups']} groups stand apart"
    # One number alone can have had two groups.
    if chosen["n_groups"] == 1:
        most = chosen["n_clusters"]
        groups = f"no groups stand apart, and {most} clusters are the most reproducible"
    return f"{numbers.min()} to {numbers.max()} clusters were tried: {groups}"


def most_clusters(n_samples: int, min_cluster_size: int = 1) -> int:
    """Return the most clusters that are tried for so many samples, at least 2."""
    room = min(n_samples // (2 * min_cluster_size), n_samples // SAMPLES_PER_CLUSTER)
    return max(2, min(MOST_CLUSTERS, room))


def fit_consensus(
    estimator: Any,
    data: ScaledData,
    *,
    choose: bool = False,
    join: bool = False,
    screening: str = "auto",
    sparsity: float | None = None,
    selection: str = "relevant",
    seed: int,
    blocks: np.ndarray | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ConsensusFit:
    """Cluster data by the consensus of fits of folds.

    The `estimator` is an L0KMeans or L1KMeans. With `choose` the number of clusters is how many
    groups stand apart: the largest number that two numbers tried reach, or one reaches with every
    cluster apart beyond doubt. Where none stand apart, the most reproducible number is shown.
    Neighbours without a valley between them become one, if more than one remains, with `choose` or
    `join`. Samples with the same number in `blocks` are left out together. `progress` is called
    after each fold, or number of clusters.
    """
    screening = choose_screening(data) if screening == "auto" else screening
    search = _Search(estimator, data, screening, sparsity, seed, blocks)
    if not choose:
        trial = search.fit(int(estimator.n_clusters), progress)
        return search.describe(trial, trial.groups if join else None, selection)
    tried = []
    most = most_clusters(data.X.shape[0], int(estimator.min_cluster_size))
    for n_clusters in range(2, most + 1):
        tried.append(search.fit(n_clusters))
        if progress is not None:
            progress(len(tried), most - 1)
    groups = [trial.group for trial in tried]
    rows = [(len(of), int(of.max()) + 1, "-".join(map(str, of))) for of in groups]
    table = pd.DataFrame(rows, columns=["n_clusters", "n_groups", "groups"])
    table.insert(2, "reproducibility", [trial.reproducibility for trial in tried])
    worst = [trial.separation["p_adjusted"].max() for trial in tried]
    chosen = _choose_trial(table, np.array(worst))
    table["chosen"] = table.index == chosen
    found = search.describe(tried[chosen], tried[chosen].groups, selection)
    return replace(found, counts=table)


def _choose_trial(table: pd.DataFrame, worst_p: np.ndarray) -> int:
    """Return which number of clusters gives the answer; `worst_p` is NaN without neighbours."""
    n_groups, n_clusters = table["n_groups"].to_numpy(), table["n_clusters"].to_numpy()
    # The largest that two reach, or one all of whose clusters stand apart beyond doubt.
    alone = n_clusters[worst_p * len(table) <= LEVEL]
    target = max([np.sort(n_groups)[-2:][0], *alone])
    able = (n_groups == target) | (target == 1)
    direct = able & (table.index + 2 == target)
    again = np.where(direct if direct.any() else able, table["reproducibility"], -np.inf)
    return int(again.argmax())


class _Trial(NamedTuple):
    """The fit of one number of clusters, and the groups that its clusters join into."""

    fit: SparsityPath
    folds: list[FoldFit]
    matched: list[MatchedFold]
    separation: pd.DataFrame
    group: np.ndarray  # (n_clusters,): of each cluster
    groups: np.ndarray  # the same; where there is only one group, each cluster is its own
    reproducibility: float  # mean adjusted Rand index of `groups` with those of the folds


@dataclass(frozen=True)
class _Search:
    """What is fitted, and how, whatever the number of clusters."""

    estimator: Any
    data: ScaledData
    screening: str
    sparsity: float | None
    seed: int
    blocks: np.ndarray | None

    def fit(self, n_clusters: int, progress: Any = None) -> _Trial:
        """Fit by the consensus of screens, and of what the features' correlation calls for.

        Independent features have the optimum's votes as well. Where they correlate and no clusters
        stand apart, they may follow factors: the clusters of components that count each factor once
        take their place if some of them stand apart and the folds reproduce them better.
        """
        fit_starts = partial(
            fit_folds,
            self.data,
            n_clusters,
            screening=self.screening,
            min_cluster_size=int(self.estimator.min_cluster_size),
            seed=self.seed,
            n_jobs=self.estimator.n_jobs,
            blocks=self.blocks,
            progress=progress,
        )
        folds = fit_starts(start="screens")
        fit = self._fit_from(n_clusters, folds)
        noise = noise_correlation(
            self.data.X, fit.labels[0], fit.weights[0], self.data.unit_numbers
        )
        if not noise.is_beyond_chance:
            folds = [_join(*pair) for pair in zip(folds, fit_starts(start="optimum"), strict=True)]
            fit = self._fit_from(n_clusters, folds)
        trial = self._judge(fit, folds)
        if noise.is_beyond_chance and not are_apart(trial.separation):
            folds = fit_starts(start="components")
            other = self._judge(self._fit_from(n_clusters, folds), folds)
            if are_apart(other.separation) and other.reproducibility > trial.reproducibility:
                trial = other
        return trial

    def _fit_from(self, n_clusters: int, folds: Sequence[FoldFit]) -> SparsityPath:
        """Run Algorithm 1 on all features from the consensus of the folds."""
        matrix, guard = self.data.matrix, int(self.estimator.min_cluster_size)
        partitions = np.concatenate([fold.labels for fold in folds])
        start = consensus_partition(partitions, n_clusters, seed=self.seed, min_cluster_size=guard)
        asked = {"n_clusters": n_clusters, "feature_groups": self.data.unit_numbers}
        own = clone(self.estimator).set_params(**asked)
        if self.sparsity is not None:
            return fit_from(own, matrix, start, self.sparsity)
        few = PENALTIES[own.penalty].bound_of(kept_features(n_clusters, self.data.n_units))
        return fit_few(own, matrix, start, few)

    def _judge(self, fit: SparsityPath, folds: list[FoldFit]) -> _Trial:
        labels = fit.labels[0]
        matched = match_folds(labels, folds)
        table = self._separate(fit, labels, matched)
        group = join_touching(table, int(labels.max()) + 1)
        groups = group if group.any() else np.arange(len(group))
        of_folds = np.array([fold.join(groups).labels + 1 for fold in matched])
        again = float(agreement(groups[labels], of_folds).mean())
        return _Trial(fit, folds, matched, table, group, groups, again)

    def _separate(self, fit: SparsityPath, labels, matched) -> pd.DataFrame:
        """Test which clusters stand apart in the features of a fit."""
        return separation(self.data.X, labels, np.flatnonzero(fit.weights[0]), matched, self.blocks)

    def describe(self, trial: _Trial, group: np.ndarray | None, selection: str) -> ConsensusFit:
        """Choose features of the clusters, joined by `group`, and measure their reproducibility."""
        X, matrix, fit, groups = self.data.X, self.data.matrix, trial.fit, self.data.unit_numbers
        matched, apart = trial.matched, trial.separation
        labels, n_fitted = fit.labels[0], len(trial.group)
        if group is not None:
            labels = group[labels].astype(np.int32)
        n_clusters = int(labels.max()) + 1
        joined = n_fitted > n_clusters
        if joined:
            matched = [fold.join(group) for fold in matched]
            apart = self._separate(fit, labels, matched)
        signatures = find_signatures(X, labels, matched, N_REPEATS, groups)
        if self.sparsity is None:
            scores = feature_scores(matrix, labels, n_clusters)
            count = count_differing(matrix, labels, scores, groups)
            if selection == "signature" and signatures[0].features is not None:
                count = count_units(signatures[0].features, groups)
            fit = _weigh(self.estimator.penalty, fit, labels, scores, count, groups)
        partitions = np.concatenate([fold.labels for fold in trial.folds])
        everyone = np.array([fold.labels for fold in matched]) if joined else partitions
        kept = np.concatenate([features for fold in trial.folds for features in fold.kept])
        return ConsensusFit(
            fit,
            self.screening,
            partitions,
            _tabulate(partitions, [start for fold in trial.folds for start in fold.starts], labels),
            apart,
            sample_reproducibility(labels, everyone),
            place_left_out(matched, len(labels), n_clusters),
            np.bincount(kept, minlength=X.shape[1]) / len(partitions),
            signatures,
            is_joined=joined,
            is_weighed=self.sparsity is None,
            fitted_sparsity=float(trial.fit.sparsities[0]),
            groups=groups,
        )


def _join(fold: FoldFit, other: FoldFit) -> FoldFit:
    labels = np.concatenate([fold.labels, other.labels])
    kept, starts = fold.kept + other.kept, fold.starts + other.starts
    return FoldFit(fold.drawn, fold.left_out, labels, kept, starts)


def _tabulate(partitions: np.ndarray, starts: Sequence[str], labels: np.ndarray) -> pd.DataFrame:
    """Tabulate the fits of folds by start: their agreement with each other and the answer."""
    rows = []
    for start in dict.fromkeys(starts):
        own = partitions[[name == start for name in starts]]
        again = agreement(own, np.roll(own, -1, axis=0)).mean()
        rows.append((start, len(own), float(again), float(agreement(labels, own).mean())))
    return pd.DataFrame(rows, columns=["start", "n_fits", "reproducibility", "agreement"])


def _weigh(penalty: str, fit: SparsityPath, labels, scores, count: int, groups) -> SparsityPath:
    """Return a fit with these labels, whose `count` features have the penalty's best weights."""
    sparsity = PENALTIES[penalty].bound_for(group_means(scores, groups), count)
    weights = make_step(penalty, sparsity, groups).weigh(scores)
    return replace(
        fit,
        sparsities=np.array([float(sparsity)]),
        objectives=np.array([weights @ scores]),
        first_objectives=np.array([weights @ scores]),
        labels=labels[None],
        weights=weights[None],
        scores=scores[None],
    )
