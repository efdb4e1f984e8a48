"""One judge chooses among the candidates for a number of clusters.

It counts the clusters that are separated on held-out samples, at p-values that count every
candidate, and measures how far the folds agree with the partition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from sparsekm.cluster.partition_step import canonical_labels
from sparsekm.cluster.sparsity_path import Fit
from sparsekm.tuning.candidates import STARTS, Candidate
from sparsekm.tuning.feature_ranking import count_units, noise_correlation
from sparsekm.tuning.fold_fits import Folds, extend_labels
from sparsekm.tuning.partitions import (
    FoldFit,
    agreement,
    consensus_partition,
)
from sparsekm.tuning.separation import (
    SpreadValues,
    any_separated,
    join_overlapping,
    leading_features,
    needs_one_feature,
    pay_for,
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

    @property
    def kept(self) -> np.ndarray:
        """The features of non-zero weight."""
        return np.flatnonzero(self.fit.weights)

    @property
    def partitions(self) -> np.ndarray:
        """The partitions that the folds found, (n_fits, n_samples)."""
        return np.array([fit.labels for fits in self.folds for fit in fits])

    def group(self, factor: float) -> np.ndarray:
        """Join the clusters that are not separated if p-values are multiplied by a factor."""
        return join_overlapping(pay_for(self.pairs, factor), int(self.labels.max()) + 1)

    def n_groups(self, factor: float) -> int:
        """Count the groups that remain."""
        return int(self.group(factor).max()) + 1

    def reproducibility(self, group: np.ndarray) -> float:
        """Compute the mean adjusted Rand index of joined clusters with the joined folds."""
        of_folds = np.array([fold.join(group).labels + 1 for fold in self.matched])
        return float(agreement(group[self.labels], of_folds).mean())


@dataclass(frozen=True)
class Trials:
    """The candidates that were judged for a number of clusters, and the best of them."""

    best: Trial
    factor: float  # by which the p-values of the best are multiplied
    judged: Sequence[tuple[Trial, float]]  # all of them, with their factors

    def n_groups(self, price: float) -> int:
        """Count the separated groups of the best."""
        return self.best.n_groups(price * self.factor)

    def tabulate(self, price: float) -> pd.DataFrame:
        """Tabulate the candidates, see `SparseKMeans.search_results_`."""
        rows = []
        for trial, factor in self.judged:
            p = pay_for(trial.pairs, price * factor)["p_adjusted"]
            rows.append(
                {
                    "start": str(trial.candidate),
                    "n_features": len(trial.kept),
                    "n_clusters": int(trial.labels.max()) + 1,
                    "n_groups": trial.n_groups(price * factor),
                    "p": float(p.min()) if len(p) else 1.0,
                    "agreement": trial.agreement,
                    "n_folds": len(trial.folds),
                    "chosen": trial is self.best,
                }
            )
        return pd.DataFrame(rows)


@dataclass(frozen=True)
class Judge:
    """Fits the candidates for a number of clusters, and chooses one."""

    folds: Folds
    values: SpreadValues
    blocks: np.ndarray | None

    @cached_property
    def aside(self) -> np.ndarray:
        """The samples that are not fitted."""
        return np.setdiff1d(np.arange(self.folds.data.X.shape[0]), self.folds.fitted)

    def choose(
        self, n_clusters: int, price: float, progress: Any = None, *, leader_only: bool = False
    ) -> Trials:
        """Judge the leader and, if requested, the other candidates if one of them could replace it.

        They are judged on the first repeat of the folds, and close ones on all repeats.
        """
        folds, done = self.folds.cluster_into(n_clusters), 0
        total = 2 * len(folds.left_out)

        def count(step: int = 1) -> None:
            nonlocal done
            done += step
            if progress is not None:
                progress(done, total)

        fits = {name: fit for start in STARTS.values() for name, fit in start(folds.whole)}
        first = self._lead(folds, fits, count)
        own = 1 / LEADER_SHARE
        if folds.sparsity is None:
            first = self._settle(folds, first, price * own)
        trials = Trials(first, own, [(first, own)])
        is_sure = first.n_groups(price * own) == n_clusters and first.agreement >= 1 - MARGIN
        if not (is_sure or leader_only):
            trials = self._compare(folds, fits, first, price, count)
        count(total - done)
        return trials

    def _lead(self, folds: Folds, fits: Mapping[Candidate, Fit], count) -> Trial:
        """Judge the first candidate or, if features are independent, the votes of the folds."""
        leader, fit = next(iter(fits.items()))
        data, everyone = folds.data, range(len(folds.left_out))
        X = data.X[folds.fitted] if len(self.aside) else data.X
        noise = noise_correlation(X, fit.labels, fit.weights, data.unit_numbers)
        if noise.is_beyond_chance:
            repeated = folds.repeat(everyone, {leader.start: {leader}}, count)
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

    def _compare(self, folds: Folds, fits: Mapping, first: Trial, price: float, count) -> Trials:
        """Judge the candidates besides the leader, and settle the one that replaces it."""
        n_few, n_folds = folds.n_first_repeat, len(folds.left_out)
        few = folds.repeat(range(n_few), progress=count)
        others = [
            name for name in fits if name != first.candidate and all(name in fold for fold in few)
        ]
        partitions = [first.fit.labels, *(fits[name].labels for name in others)]
        distinct = {canonical_labels(one, int(one.max()) + 1).tobytes() for one in partitions}
        factor = max(1, len(distinct) - 1)
        factor, own = factor / (1 - LEADER_SHARE), 1 / LEADER_SHARE

        def rank(trial):
            return trial.n_groups(price * own), trial.agreement

        tried = {name: self.judge(name, fits[name], [[f[name]] for f in few]) for name in others}
        close = [t for t in tried.values() if _wins(t, first, FIRST_FACTOR, price * own, MARGIN)]
        names = [t.candidate for t in sorted(close, key=rank, reverse=True)[:MOST_CLOSE]]
        wanted: dict[str, set[Candidate]] = {}
        for name in names:
            wanted.setdefault(name.start, set()).add(name)
        rest = folds.repeat(range(n_few, n_folds), wanted, count) if names else []
        able = []
        for name in names:
            if all(name in fold for fold in rest):
                repeated = [[fold[name]] for fold in (*few, *rest)]
                tried[name] = self.judge(name, fits[name], repeated)
                if self._takes_over(tried[name], first, price * own, price * factor):
                    able.append(tried[name])
        best = max(able, key=rank, default=first)
        if able and folds.sparsity is None:
            best = tried[best.candidate] = self._settle(folds, best, price * factor)
        judged = [(first, own), *((trial, factor) for trial in tried.values())]
        return Trials(best, factor if able else own, judged)

    def _takes_over(self, trial: Trial, first: Trial, own: float, factor: float) -> bool:
        """Say whether a candidate replaces the leader.

        The groups of both are counted with the leader's factor, but some of the candidate's have to
        be separated with its own factor.
        """
        paid = pay_for(trial.pairs, factor)
        if not any_separated(paid) or not _wins(trial, first, own, own):
            return False
        if first.agreement < REPRODUCED or len(first.kept) < MANY_FEATURES:
            return True
        leading = leading_features(self.values, trial.labels, trial.kept, paid)
        return not needs_one_feature(
            self.values, leading, trial.matched, self.blocks, aside=self.aside
        )

    def _settle(self, folds: Folds, trial: Trial, factor: float) -> Trial:
        """Run Algorithm 1 with the number of features that differ until it stays, also in folds."""
        fit = folds.whole.settle(trial.fit)
        if fit is trial.fit:
            return trial
        starts = [_nearest(fits, trial.labels) for fits in trial.folds]
        settled = self.judge(trial.candidate, fit, folds.refine(trial.folds, starts))
        loses = settled.n_groups(factor) < trial.n_groups(factor)
        return trial if loses or settled.agreement < trial.agreement - SETTLING_LOSS else settled

    def join(self, trial: Trial, group: np.ndarray, factor: float) -> tuple[Trial, np.ndarray]:
        """Run Algorithm 1 again from joined clusters, or only join them if that loses a group.

        Returns the trial, and the group of each of its clusters.
        """
        n_joined = int(group.max()) + 1
        folds = self.folds.cluster_into(n_joined)
        start = group[trial.fit.labels].astype(np.int32)
        count = count_units(trial.kept, folds.data.unit_numbers)
        fit = folds.whole.settle(folds.whole.fit(start, count))
        starts = [fold.join(group).complete(folds.data.X) for fold in trial.matched]
        joined = self.judge(trial.candidate, fit, folds.refine(trial.folds, starts))
        is_kept = joined.n_groups(factor) == n_joined
        return (joined, np.arange(n_joined)) if is_kept else (trial, group)

    def judge(self, candidate: Candidate, fit: Fit, folds: list[list[FoldFit]]) -> Trial:
        """Test the clusters of a fit on the samples that its folds leave out."""
        X, fitted = self.folds.data.X, self.folds.fitted
        labels, weights = fit.labels, fit.weights
        if len(self.aside):
            everyone = extend_labels(X, X[fitted], labels, weights)
            everyone[fitted] = labels
            labels = everyone
        matched = [_nearest(fits, labels).name_after(labels) for fits in folds]
        kept = np.flatnonzero(weights)
        pairs = separation(self.values, labels, kept, matched, self.blocks, aside=self.aside)
        agrees = [np.mean([fit.agreement(labels) for fit in fits]) for fits in folds]
        return Trial(candidate, fit, labels, folds, matched, pairs, float(np.mean(agrees)))


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
