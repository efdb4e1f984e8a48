"""One judge chooses among the candidates for a number of clusters.

It counts the clusters that are separated on held-out samples, at p-values that count every
candidate, and measures how far the folds agree with the partition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from sparsekm.cluster.partition_step import canonical_labels
from sparsekm.cluster.sparsity_path import Fit
from sparsekm.tuning.candidates import STARTS, Candidate
from sparsekm.tuning.feature_ranking import count_units, noise_correlation
from sparsekm.tuning.fold_fits import Folds, extend_labels
from sparsekm.tuning.partitions import FoldFit, agreement, consensus_partition
from sparsekm.tuning.separation import (
    SpreadValues,
    any_separated,
    join_overlapping,
    leading_features,
    multiply_p,
    needs_one_feature,
    separation,
)

# The leader has this share of the level; all other candidates share the rest.
LEADER_SHARE = 0.8
# A partition is reproduced if its folds agree with it by at least the first number. From the second
# number on, a partition with separated clusters is accepted if the leader has neither.
REPRODUCED, BELIEVED = 0.85, 0.5
# Between candidates with the same number of separated groups, the agreement decides if it is larger
# by this.
MARGIN = 0.1
# A partition of this number of features or more, which the folds reproduce, is not replaced by a
# partition that depends on a single feature, because such a feature is often sex or a batch.
MANY_FEATURES = 3
# After the first repeat of the folds, at most this number of candidates remain: those that win at a
# raw p of twice the level.
FIRST_FACTOR, MOST_CLOSE = 0.5, 4
# Settling may reduce the agreement by this.
SETTLING_LOSS = 0.02


@dataclass(frozen=True)
class Trial:
    """A candidate's fit, and the results of its folds."""

    candidate: Candidate
    fit: Fit
    labels: np.ndarray  # (n_samples,): also of samples that are set aside
    folds: list[list[FoldFit]]  # of each fold one fit, or the three of `Folds.repeat_optima`
    matched: list[FoldFit]  # of each fold the nearest, with the clusters named as in `labels`
    pairs: pd.DataFrame  # see `separation`: p of this candidate alone
    agreement: float  # mean adjusted Rand index of the clusters with the folds
    factor: float = 1 / LEADER_SHARE  # by which p is multiplied, as there are other candidates

    @property
    def kept(self) -> np.ndarray:
        """The features of non-zero weight."""
        return np.flatnonzero(self.fit.weights)

    @property
    def p_least(self) -> float:
        """The smallest p that the clusters could reach, counting the candidates."""
        least = multiply_p(self.pairs, self.factor)["p_least"]
        return float(least.min()) if len(least) else 1.0

    @property
    def partitions(self) -> np.ndarray:
        """The partitions that the folds found, (n_fits, n_samples)."""
        return np.array([fit.labels for fits in self.folds for fit in fits])

    def merge(self, factor: float) -> np.ndarray:
        """Give clusters one number if they are not separated at p-values times a factor."""
        return join_overlapping(multiply_p(self.pairs, factor), int(self.labels.max()) + 1)

    def n_groups(self, factor: float) -> int:
        """Count the groups."""
        return int(self.merge(factor).max()) + 1

    def join(self, cluster_of: np.ndarray) -> Trial:
        """Rename each cluster as the one that it is merged into."""
        labels = cluster_of[self.labels].astype(np.int32)
        return replace(
            self, labels=labels, matched=[fold.join(cluster_of) for fold in self.matched]
        )

    def reproducibility(self) -> float:
        """Compute the mean adjusted Rand index with the clusters of the folds that have a match."""
        of_folds = np.array([fold.labels + 1 for fold in self.matched])
        return float(agreement(self.labels, of_folds).mean())


@dataclass(frozen=True)
class Judge:
    """Fits the candidates for a number of clusters, and chooses one."""

    folds: Folds
    values: SpreadValues
    n_tests: float  # p-values are multiplied by this, as other numbers of clusters are tried

    def choose(
        self, progress: Any = None, *, leader_only: bool = False
    ) -> tuple[Trial, pd.DataFrame]:
        """Judge the leader and, if requested, the other candidates if one of them could replace it.

        They are judged on the first repeat of the folds, and close ones on all repeats. The table
        of all of them is described in `SparseKMeans`.
        """
        folds, done = self.folds, 0
        total, k = 2 * len(folds.left_out), folds.estimator.n_clusters

        def count(step: int = 1) -> None:
            nonlocal done
            done += step
            if progress is not None:
                progress(done, total)

        fits = {name: fit for start in STARTS.values() for name, fit in start(folds.whole)}
        first = best = self._settle(self._lead(fits, count))
        tried: dict[Candidate, Trial] = {}
        is_separated = first.n_groups(self.n_tests * first.factor) == k
        if not (leader_only or (is_separated and first.agreement >= 1 - MARGIN)):
            best, tried = self._compare(fits, first, count)
        count(total - done)
        return best, self._tabulate(best, [first, *tried.values()])

    def _lead(self, fits: Mapping[Candidate, Fit], count) -> Trial:
        """Judge the first candidate or, if features are independent, the votes of the folds."""
        folds, (leader, fit) = self.folds, next(iter(fits.items()))
        data = folds.data.take(folds.fitted)
        noise = noise_correlation(data.X, fit.labels, fit.weights, data.unit_numbers)
        if noise.is_beyond_chance:
            repeated = folds.repeat(range(len(folds.left_out)), [leader], count)
            return self.judge(leader, fit, [[fold[leader]] for fold in repeated])
        optima, whole = folds.repeat_optima(count), folds.whole
        votes = np.array([fit.labels[folds.fitted] for fits in optima for fit in fits])
        start = consensus_partition(
            votes,
            whole.n_clusters,
            seed=whole.estimator.random_state,
            min_cluster_size=whole.smallest_cluster,
        )
        fit = whole.fit(start, whole.n_kept)
        return self.judge(Candidate("votes", whole.n_kept), fit, optima)

    def _compare(
        self, fits: Mapping[Candidate, Fit], first: Trial, count
    ) -> tuple[Trial, dict[Candidate, Trial]]:
        """Judge the candidates besides the leader, and settle the one that replaces it."""
        folds, own = self.folds, self.n_tests * first.factor
        n_few, n_folds = folds.n_first_repeat, len(folds.left_out)
        few = folds.repeat(range(n_few), progress=count)
        others = [
            name for name in fits if name != first.candidate and all(name in fold for fold in few)
        ]
        partitions = [first.fit.labels, *(fits[name].labels for name in others)]
        distinct = {canonical_labels(one, int(one.max()) + 1).tobytes() for one in partitions}
        factor = max(1, len(distinct) - 1) / (1 - LEADER_SHARE)

        def judge(name, repeated):
            return self.judge(name, fits[name], [[fold[name]] for fold in repeated], factor)

        def rank(trial):
            return trial.n_groups(own), trial.agreement

        tried = {name: judge(name, few) for name in others}
        close = [t for t in tried.values() if _wins(t, first, FIRST_FACTOR, own, MARGIN)]
        names = [t.candidate for t in sorted(close, key=rank, reverse=True)[:MOST_CLOSE]]
        rest = folds.repeat(range(n_few, n_folds), names, count) if names else []
        able = []
        for name in names:
            if all(name in fold for fold in rest):
                tried[name] = judge(name, [*few, *rest])
                if self._takes_over(tried[name], first):
                    able.append(tried[name])
        if not able:
            return first, tried
        best = self._settle(max(able, key=rank))
        return best, {**tried, best.candidate: best}

    def _takes_over(self, trial: Trial, first: Trial) -> bool:
        """Say whether a candidate replaces the leader.

        The groups of both are counted with the leader's factor, but some of the candidate's have to
        be separated with its own factor.
        """
        adjusted, own = self._adjust(trial), self.n_tests * first.factor
        if not any_separated(adjusted) or not _wins(trial, first, own, own):
            return False
        if first.agreement < REPRODUCED or len(first.kept) < MANY_FEATURES:
            return True
        leading = leading_features(self.values, trial.labels, trial.kept, adjusted)
        return not needs_one_feature(self.values, leading, trial.matched)

    def _settle(self, trial: Trial) -> Trial:
        """Run Algorithm 1 with the number of features that differ until it stays, also in folds."""
        fit, factor = self.folds.whole.settle(trial.fit), self.n_tests * trial.factor
        if fit is trial.fit:
            return trial
        starts = [_nearest(fits, trial.labels) for fits in trial.folds]
        refined = self.folds.refine(trial.folds, starts)
        settled = self.judge(trial.candidate, fit, refined, trial.factor)
        loses = settled.n_groups(factor) < trial.n_groups(factor)
        return trial if loses or settled.agreement < trial.agreement - SETTLING_LOSS else settled

    def join(self, trial: Trial, cluster_of: np.ndarray) -> tuple[Trial, np.ndarray]:
        """Run Algorithm 1 again from joined clusters, or only join them if that loses a group.

        Returns the trial, and the joined cluster of each of its clusters.
        """
        n_joined = int(cluster_of.max()) + 1
        folds = self.folds.cluster_into(n_joined)
        start = cluster_of[trial.fit.labels].astype(np.int32)
        count = count_units(trial.kept, folds.data.unit_numbers)
        fit = folds.whole.settle(folds.whole.fit(start, count))
        starts = [fold.complete(folds.data.X) for fold in trial.join(cluster_of).matched]
        refined = folds.refine(trial.folds, starts)
        joined = self.judge(trial.candidate, fit, refined, trial.factor)
        is_kept = joined.n_groups(self.n_tests * trial.factor) == n_joined
        return (joined, np.arange(n_joined)) if is_kept else (trial, cluster_of)

    def judge(
        self,
        candidate: Candidate,
        fit: Fit,
        folds: list[list[FoldFit]],
        factor: float = Trial.factor,
    ) -> Trial:
        """Test the clusters of a fit on the samples that its folds leave out."""
        X, fitted, labels = self.folds.data.X, self.folds.fitted, fit.labels
        if len(self.folds.aside):
            labels = extend_labels(X, X[fitted], labels, fit.weights)
            labels[fitted] = fit.labels
        matched = [_nearest(fits, labels).name_after(labels) for fits in folds]
        pairs = separation(self.values, labels, np.flatnonzero(fit.weights), matched)
        agrees = [np.mean([fit.agreement(labels) for fit in fits]) for fits in folds]
        return Trial(candidate, fit, labels, folds, matched, pairs, float(np.mean(agrees)), factor)

    def _adjust(self, trial: Trial) -> pd.DataFrame:
        """Return the tests of a trial, with p that count candidates and numbers of clusters."""
        return multiply_p(trial.pairs, self.n_tests * trial.factor)

    def _tabulate(self, best: Trial, trials: Sequence[Trial]) -> pd.DataFrame:
        """Tabulate the candidates."""
        rows = []
        for trial in trials:
            p = self._adjust(trial)["p_adjusted"]
            rows.append(
                {
                    "start": str(trial.candidate),
                    "n_features": len(trial.kept),
                    "n_clusters": int(trial.labels.max()) + 1,
                    "n_groups": trial.n_groups(self.n_tests * trial.factor),
                    "p": float(p.min()) if len(p) else 1.0,
                    "agreement": trial.agreement,
                    "n_folds": len(trial.folds),
                    "chosen": trial is best,
                }
            )
        return pd.DataFrame(rows)


def _wins(trial: Trial, first: Trial, factor: float, own: float, slack: float = 0.0) -> bool:
    """Say whether a candidate has more separated groups, or as many that are more reproducible."""
    theirs, ours = trial.n_groups(factor), first.n_groups(own)
    agrees = trial.agreement + slack
    if theirs == ours:
        return theirs > 1 and agrees >= first.agreement + MARGIN
    least = min(REPRODUCED, first.agreement)
    if ours == 1 and first.agreement < REPRODUCED:
        least = BELIEVED
    return theirs > ours and agrees >= least


def _nearest(fits: list[FoldFit], labels: np.ndarray) -> FoldFit:
    """Return the fit that agrees most with a partition, the first of equals."""
    return max(fits, key=lambda fit: fit.agreement(labels))
