"""The result of `SparseKMeans` for a number of clusters, and for a number that it chooses.

One judge chooses among the candidates: how many clusters are separated on samples that were left
out, at p-values that count every candidate, and how far the folds agree with the partition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from sparsekm.cluster.matrices.containers import in_blocks
from sparsekm.cluster.matrices.dense_parts import as_dense
from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.cluster.matrices.sparse_matrix import as_matrix
from sparsekm.cluster.sparsity_path import SparsityPath
from sparsekm.cluster.unequal_samples import with_weights
from sparsekm.tuning.candidates import STARTS, Candidate, fit_from
from sparsekm.tuning.feature_ranking import choose_screening, count_units, noise_correlation
from sparsekm.tuning.fold_fits import (
    N_REPEATS,
    FoldFit,
    Folds,
    draw_folds,
    label_everyone,
)
from sparsekm.tuning.partitions import (
    MatchedFold,
    agreement,
    consensus_partition,
    match_clusters,
    match_folds,
    place_left_out,
    sample_reproducibility,
)
from sparsekm.tuning.separation import (
    LEVEL,
    Leading,
    SpreadValues,
    any_separated,
    could_tell,
    join_overlapping,
    join_pairs,
    leading_features,
    needs_one_feature,
    pay_for,
    separation,
)
from sparsekm.tuning.signatures import Signature, find_signatures

# The most clusters tried, and the fewest samples for each.
MOST_CLUSTERS = 12
SAMPLES_PER_CLUSTER = 7
# Of the level, the share that the leader has; all other candidates share the rest.
LEADER_SHARE = 0.8
# A partition is reproduced if its folds agree so far with it. One with separated clusters is
# believed from this agreement on where the leader has neither.
REPRODUCED, BELIEVED = 0.85, 0.5
# After the first repeat of the folds, candidates stay that are separated at a raw p of twice the
# level, so many at most.
FIRST_FACTOR, MOST_CLOSE = 0.5, 4
# Settling may cost so much agreement.
SETTLING_LOSS = 0.02
OPTIMA = "votes of folds"


@dataclass(frozen=True)
class ChosenFit:
    """Clusters of a data set, and what is known about them."""

    fit: SparsityPath  # one fit: labels of the fitted clusters, weights and scores of all features
    group: np.ndarray  # (n_fitted,): the cluster of each cluster of the fit
    screening: str  # how features were ranked, see `sparsekm.tuning.feature_ranking`
    partitions: np.ndarray  # (m, n_samples): those of all folds
    table: pd.DataFrame  # a row per candidate, see `SparseKMeans.search_results_`
    separation: pd.DataFrame  # a row per pair of neighbours
    leading: list[Leading]  # the feature in which the clusters of each separated pair differ most
    is_one_feature: bool  # whether no pair is separated without it
    in_zeros: bool  # whether the clusters differ in the zeros of these features
    could_tell: bool  # whether the samples suffice for any verdict
    reproducibility: np.ndarray  # (n_samples,)
    left_out_labels: np.ndarray  # (n_samples,): the cluster of a sample that made none, or -1
    selection_frequency: np.ndarray  # (n_features,): share of the fits of folds that keep it
    signatures: list[Signature]  # of all clusters, and of each against the others
    counts: pd.DataFrame | None = None  # a row per number of clusters tried, if it was chosen

    @property
    def labels(self) -> np.ndarray:
        """The clusters, (n_samples,), int32."""
        return self.group[self.fit.labels[0]].astype(np.int32)

    @property
    def n_clusters(self) -> int:
        """How many clusters there are."""
        return int(self.group.max()) + 1

    @property
    def has_clusters(self) -> bool:
        """Whether any two clusters are separated."""
        return any_separated(self.separation)

    def extend(self, estimator: Any, X: Any, samples: np.ndarray) -> ChosenFit:
        """Return the result for all samples X from that for some: `samples`, ascending."""
        fitted = label_everyone(X, X[samples], self.fit.labels[0], self.fit.weights[0])
        left_out = self.group[fitted].astype(np.int32)
        left_out[samples] = self.left_out_labels
        reproducibility = np.full(X.shape[0], np.nan)
        reproducibility[samples] = self.reproducibility
        found = self.refit(estimator, X, fitted)
        return replace(found, reproducibility=reproducibility, left_out_labels=left_out)

    def refit(
        self, estimator: Any, X: Any, fitted: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> ChosenFit:
        """Return the result with the clusters that Algorithm 1 makes from `fitted` labels."""
        own = clone(estimator).set_params(n_clusters=len(self.group))
        given = in_blocks(X)
        if sample_weight is not None:
            given = with_weights(as_matrix(X), sample_weight)
        fit = fit_from(own, given, fitted, float(self.fit.sparsities[0]))
        # The fit numbers its clusters anew; what is known of them has the old numbers.
        everyone = np.arange(len(fitted))
        labels = match_clusters(fitted, fit.labels[0], everyone).astype(np.int32)
        return replace(self, fit=replace(fit, labels=labels[None]))

    def sentence(self, names: Sequence | np.ndarray | None = None) -> str:
        """Say what was found, and how sure it is; `names` are those of the features."""
        counted = "" if self.counts is None else f"{describe_counts(self.counts)}. "
        features, agrees = self.signatures[0]
        few = "No small set of features reproduces the clusters"
        if features is not None:
            few = f"{len(features):,} features put left-out samples into the same clusters"
        return (
            f"{counted}{self._verdict(names)}. {few} (adjusted Rand index {agrees:.2f}). "
            f"{self.fit.n_selected[0]:,} of {self.fit.weights.shape[1]:,} features have weight. "
            "On average, samples keep their cluster in "
            f"{np.nanmean(self.reproducibility):.0%} of refits to 90% of the data."
        )

    def _verdict(self, names: Sequence | np.ndarray | None) -> str:
        n_pairs = len(self.separation)
        apart = int((self.separation["p_adjusted"] <= LEVEL).sum())
        if not apart and not self.could_tell:
            return "There are too few samples or groups to tell whether the clusters are separated"
        if not apart:
            return (
                "No separate groups found: noise, a gradient or overlapping groups can look like "
                f"this, and the {self.n_clusters} clusters are a division of the samples"
            )
        found = f"{apart} of {n_pairs} pairs of neighbouring clusters are clearly separated"
        if apart == n_pairs:
            found = "Both" if self.n_clusters == 2 else f"All {self.n_clusters}"
            found = f"{found} clusters are clearly separated"
        features = sorted({one.feature for one in self.leading})
        named = ", ".join(str(j if names is None else names[j]) for j in features)
        where = "the zeros of feature" if self.in_zeros else "feature"
        where += "s" * (len(features) > 1)
        if self.is_one_feature:
            return f"{found}, but in {where} {named} alone"
        return f"{found}, in {where} such as {named}" if self.in_zeros else found


def describe_counts(counts: pd.DataFrame) -> str:
    """Say how a number of clusters was chosen."""
    chosen, numbers = counts[counts["chosen"]].iloc[0], counts["n_clusters"]
    tried = f"{numbers.min()} to {numbers.max()} clusters were tried"
    if len(numbers) == 1:
        tried = f"Only {numbers.iloc[0]} clusters were tried"
    if chosen["n_groups"] > 1:
        return f"{tried}: {chosen['n_groups']} groups are clearly separated"
    shown = f"{chosen['n_clusters']} clusters are the most reproducible"
    return f"{tried}: no group is separated from all others, and {shown}"


def most_clusters(n_samples: int, min_cluster_size: int = 1) -> int:
    """Return the most clusters that are tried for so many samples, at least 2."""
    room = min(n_samples // (2 * min_cluster_size), n_samples // SAMPLES_PER_CLUSTER)
    return max(2, min(MOST_CLUSTERS, room))


def price_of_numbers(counts: pd.DataFrame) -> float:
    """Return by how many tests a number of clusters that was chosen multiplies p-values.

    That is how many numbers were tried where one alone has so many groups, and half of that where
    two agree.
    """
    n_groups = counts["n_groups"]
    agree = (n_groups >= n_groups[counts["chosen"]].iloc[0]).sum()
    return len(counts) if agree < 2 else max(1.0, len(counts) / 2)


def choose_fit(
    estimator: Any,
    data: ScaledData,
    *,
    choose: bool = False,
    n_numbers: int = 1,
    price: float = 1.0,
    screening: str = "auto",
    sparsity: float | None = None,
    selection: str = "relevant",
    seed: int,
    blocks: np.ndarray | None = None,
    fitted: np.ndarray | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ChosenFit:
    """Cluster data by the best of the candidates.

    The `estimator` is an L0KMeans or L1KMeans. With `choose` the number of clusters is how many
    groups are separated: the largest number that two numbers tried reach, or that one reaches with
    all of its clusters separated at the price of all numbers. Where none are separated, the most
    reproducible number is shown. If the estimator's number was so chosen before, it is one of
    `n_numbers` at the `price_of_numbers`. Then, too, neighbours that are not separated are joined,
    if more than one group remains. Samples with the same number in `blocks` are left out together.
    Those that are not in `fitted`, ascending, are set aside: the test alone places and counts them,
    and the result is of the others.
    `progress` is called after each fold, or number of clusters.
    """
    screening = choose_screening(data) if screening == "auto" else screening
    fitted = np.arange(data.X.shape[0]) if fitted is None else fitted
    own = None if blocks is None else blocks[fitted]
    left_out = [fitted[fold] for fold in draw_folds(len(fitted), seed=seed, blocks=own)]
    estimator = clone(estimator).set_params(random_state=seed)
    folds = Folds(data, estimator, screening, sparsity, fitted, left_out)
    judge = _Judge(folds, SpreadValues(data.X, seed), blocks)
    if not choose:
        trials = judge.fit(int(estimator.n_clusters), max(1.0, n_numbers / 2), progress)
        return judge.describe(trials, price, n_numbers > 1, selection)
    numbers = range(2, most_clusters(len(fitted), int(estimator.min_cluster_size)) + 1)
    half = max(1.0, len(numbers) / 2)
    tried = []
    for n_clusters in numbers:
        tried.append(judge.fit(n_clusters, half, None))
        if progress is not None:
            progress(len(tried), len(numbers))
    table = _choose_number(tried, half)
    trials, price = tried[int(table["chosen"].argmax())], price_of_numbers(table)
    found = judge.describe(trials, price, True, selection)
    rows = [judge.tabulate(each, half) for each in tried]
    return replace(found, counts=table, table=pd.concat(rows, ignore_index=True))


def _choose_number(tried: Sequence[Trials], half: float) -> pd.DataFrame:
    """Tabulate the numbers of clusters that were tried, and mark the one that is chosen."""
    rows, alone = [], [1]
    for trials in tried:
        group = trials.best.group(half * trials.factor)
        n_clusters, n_groups = len(group), int(group.max()) + 1
        shown = group if n_groups > 1 else np.arange(n_clusters)
        rows.append((n_clusters, n_groups, trials.best.reproducibility(shown), _join_digits(group)))
        every = pay_for(trials.best.pairs, len(tried) * trials.factor)["p_adjusted"]
        if len(every) and every.max() <= LEVEL:
            alone.append(n_clusters)
    table = pd.DataFrame(rows, columns=["n_clusters", "n_groups", "reproducibility", "groups"])
    n_groups = table["n_groups"].to_numpy()
    target = max(np.sort(n_groups)[-2:][0], *alone)
    able = n_groups == target
    direct = able & (table["n_clusters"].to_numpy() == target)
    again = np.where(direct if direct.any() else able, table["reproducibility"], -np.inf)
    return table.assign(chosen=table.index == int(again.argmax()))


def _join_digits(group: np.ndarray) -> str:
    return "-".join(map(str, group))


@dataclass(frozen=True)
class Trial:
    """A candidate's fit, and what its folds say of it."""

    candidate: Candidate
    fit: SparsityPath
    labels: np.ndarray  # (n_samples,): also of samples that are set aside
    folds: list[FoldFit]
    matched: list[MatchedFold]
    pairs: pd.DataFrame  # see `separation`: p of this candidate alone
    agreement: float  # mean adjusted Rand index of the clusters with those of the folds

    def group(self, factor: float) -> np.ndarray:
        """Join the clusters that are not separated at p-values times a factor."""
        return join_overlapping(pay_for(self.pairs, factor), int(self.labels.max()) + 1)

    def n_groups(self, factor: float) -> int:
        """Count the groups that remain."""
        return int(self.group(factor).max()) + 1

    def is_separated(self, factor: float) -> bool:
        """Say whether any two clusters are."""
        return any_separated(pay_for(self.pairs, factor))

    def reproducibility(self, group: np.ndarray) -> float:
        """Compute the mean adjusted Rand index of joined clusters with those of the folds."""
        of_folds = np.array([fold.join(group).labels + 1 for fold in self.matched])
        return float(agreement(group[self.labels], of_folds).mean())


@dataclass(frozen=True)
class Trials:
    """The candidates that were judged for a number of clusters, and the best of them."""

    best: Trial
    factor: float  # by which the p-values of the best are multiplied
    judged: Sequence[tuple[Trial, float]]  # all of them, with their factors


@dataclass(frozen=True)
class _Judge:
    """Fits the candidates for a number of clusters, and chooses one."""

    folds: Folds
    values: SpreadValues
    blocks: np.ndarray | None

    @cached_property
    def aside(self) -> np.ndarray:
        """The samples that are not fitted."""
        return np.setdiff1d(np.arange(self.folds.data.X.shape[0]), self.folds.fitted)

    def fit(self, n_clusters: int, price: float, progress: Any) -> Trials:
        """Judge the leader, and all others unless its clusters are separated and reproduced.

        The others are judged on the first repeat of the folds, and those that come close on all.
        """
        folds = self.folds.cluster_into(n_clusters)
        n_folds, done = len(folds.left_out), [0]

        def count():
            done[0] += 1
            if progress is not None:
                progress(done[0], 2 * n_folds)

        whole, is_free = folds.whole, folds.sparsity is None
        fits = {name: fit for start in STARTS.values() for name, fit in start(whole)}
        leader = next(iter(fits))
        labels, weights = fits[leader].labels[0], fits[leader].weights[0]
        data = folds.data
        X = data.X if len(folds.fitted) == data.X.shape[0] else data.X[folds.fitted]
        if noise_correlation(X, labels, weights, data.unit_numbers).is_beyond_chance:
            one = {leader.start: {leader}}
            repeated = [fold[leader] for fold in folds.repeat(range(n_folds), one, count)]
        else:
            repeated = folds.repeat_optima(count)
            partitions = np.concatenate([fold.labels[:, folds.fitted] for fold in repeated])
            guard = int(folds.estimator.min_cluster_size)
            start = consensus_partition(
                partitions, n_clusters, seed=whole.estimator.random_state, min_cluster_size=guard
            )
            leader = Candidate(OPTIMA, whole.n_kept)
            fits[leader] = whole.fit(start, whole.n_kept)
        first = self.judge(leader, fits[leader], repeated)
        first = self._settle(folds, first, price / LEADER_SHARE) if is_free else first
        trials = Trials(first, 1 / LEADER_SHARE, [(first, 1 / LEADER_SHARE)])
        if first.n_groups(price / LEADER_SHARE) < n_clusters or first.agreement < REPRODUCED:
            trials = self._compare(folds, fits, first, price, count)
        if progress is not None:
            progress(2 * n_folds, 2 * n_folds)
        return trials

    def _compare(self, folds: Folds, fits: Mapping, first: Trial, price: float, count) -> Trials:
        """Judge the candidates besides the leader, and settle the one that takes its place."""
        n_few = folds.n_first_repeat
        few = folds.repeat(range(n_few), progress=count)
        others = {
            name: fit
            for name, fit in fits.items()
            if name != first.candidate and all(name in fold for fold in few)
        }
        n_distinct = _count_distinct([fit.labels[0] for fit in (first.fit, *others.values())])
        factor, own = max(1, n_distinct - 1) / (1 - LEADER_SHARE), price / LEADER_SHARE
        tried = {}
        for name, fit in others.items():
            tried[name] = self.judge(name, fit, [fold[name] for fold in few])
        close = [trial for trial in tried.values() if self._is_close(trial, first, own)]
        close.sort(key=lambda trial: (-trial.n_groups(own), -trial.agreement))
        names = [trial.candidate for trial in close[:MOST_CLOSE]]
        wanted: dict[str, set[Candidate]] = {}
        for name in names:
            wanted.setdefault(name.start, set()).add(name)
        rest = folds.repeat(range(n_few, len(folds.left_out)), wanted, count) if names else []
        for name in names:
            if all(name in fold for fold in rest):
                repeated = [fold[name] for fold in (*few, *rest)]
                tried[name] = self.judge(name, others[name], repeated)
        asked = first, own, factor * price
        able = [tried[name] for name in names if self._takes_over(tried[name], *asked)]
        best = max(able, key=lambda trial: (trial.n_groups(own), trial.agreement), default=first)
        if able and folds.sparsity is None:
            best = tried[best.candidate] = self._settle(folds, best, factor * price)
        judged = [(first, 1 / LEADER_SHARE), *((trial, factor) for trial in tried.values())]
        return Trials(best, factor if able else 1 / LEADER_SHARE, judged)

    def _is_close(self, trial: Trial, first: Trial, own: float) -> bool:
        """Say whether a candidate, judged on few folds, is worth all of them."""
        theirs, ours = trial.n_groups(FIRST_FACTOR), first.n_groups(own)
        reproduced = first.agreement < REPRODUCED <= trial.agreement + 0.05
        return theirs > ours or (theirs == ours > 1 and reproduced)

    def _takes_over(self, trial: Trial, first: Trial, own: float, factor: float) -> bool:
        """Say whether a candidate replaces the leader.

        Groups are counted at the leader's factor for both, but some have to be separated at the
        candidate's own.
        """
        if not trial.is_separated(factor):
            return False
        is_reproduced = first.agreement >= REPRODUCED
        if is_reproduced and first.is_separated(own) and self._is_one_feature(trial, own):
            return False
        theirs, ours = trial.n_groups(own), first.n_groups(own)
        if theirs > ours:
            least = min(REPRODUCED, first.agreement) if ours > 1 or is_reproduced else BELIEVED
            return trial.agreement >= least
        return theirs == ours > 1 and not is_reproduced and trial.agreement >= REPRODUCED

    def _is_one_feature(self, trial: Trial, factor: float) -> bool:
        """Say whether no two clusters are separated without one feature."""
        kept, paid = np.flatnonzero(trial.fit.weights[0]), pay_for(trial.pairs, factor)
        leading = leading_features(self.values, trial.labels, kept, paid)
        return needs_one_feature(self.values, leading, trial.matched, self.blocks, aside=self.aside)

    def _settle(self, folds: Folds, trial: Trial, factor: float) -> Trial:
        """Run Algorithm 1 at the number of features that differ until it stays, in folds too."""
        fit = folds.whole.settle(trial.fit)
        if fit is trial.fit:
            return trial
        best = [
            int(agreement(trial.labels[f.drawn], f.labels[:, f.drawn]).argmax())
            for f in trial.folds
        ]
        labels = [f.labels[b][f.drawn] for f, b in zip(trial.folds, best, strict=True)]
        kept = [f.kept[b] for f, b in zip(trial.folds, best, strict=True)]
        settled = self.judge(trial.candidate, fit, folds.refine(trial.folds, labels, kept))
        loses = settled.n_groups(factor) < trial.n_groups(factor)
        return trial if loses or settled.agreement < trial.agreement - SETTLING_LOSS else settled

    def judge(self, candidate: Candidate, fit: SparsityPath, folds: list[FoldFit]) -> Trial:
        """Test the clusters of a fit on the samples that its folds leave out."""
        X, fitted = self.folds.data.X, self.folds.fitted
        labels, weights = fit.labels[0], fit.weights[0]
        if len(self.aside):
            everyone = label_everyone(X, X[fitted], labels, weights)
            everyone[fitted] = labels
            labels = everyone
        matched, kept = match_folds(labels, folds), np.flatnonzero(weights)
        pairs = separation(self.values, labels, kept, matched, self.blocks, aside=self.aside)
        agrees = [agreement(labels[f.drawn], f.labels[:, f.drawn]).mean() for f in folds]
        return Trial(candidate, fit, labels, folds, matched, pairs, float(np.mean(agrees)))

    def describe(self, trials: Trials, price: float, join: bool, selection: str) -> ChosenFit:
        """Describe the clusters of the best candidate, joined or not."""
        trial, factor, data = trials.best, price * trials.factor, self.folds.data
        group = np.arange(int(trial.labels.max()) + 1)
        joined = trial.group(factor)
        if join and joined.any():
            trial, group = self._join(trial, joined, factor)
        labels = group[trial.labels].astype(np.int32)
        matched = [fold.join(group) for fold in trial.matched]
        groups = data.unit_numbers
        signatures = find_signatures(data.X, labels, matched, N_REPEATS, groups)
        best = signatures[0].features
        if selection == "signature" and best is not None and self.folds.sparsity is None:
            folds = self.folds.cluster_into(len(group))
            fit = folds.whole.fit_again(trial.fit, count_units(best, groups))
            trial = self.judge(trial.candidate, fit, trial.folds)
            signatures[0] = signatures[0]._replace(features=np.flatnonzero(fit.weights[0]))
            labels = group[trial.labels].astype(np.int32)
            matched = [fold.join(group) for fold in trial.matched]
        kept = np.flatnonzero(trial.fit.weights[0])
        pairs = join_pairs(pay_for(trial.pairs, factor), group)
        leading = leading_features(self.values, labels, kept, pairs)
        sole = needs_one_feature(self.values, leading, matched, self.blocks, aside=self.aside)
        fitted, is_joined = self.folds.fitted, int(labels.max()) + 1 < len(group)
        partitions = np.concatenate([fold.labels[:, fitted] for fold in trial.folds])
        again = np.array([fold.labels[fitted] for fold in matched]) if is_joined else partitions
        all_kept = np.concatenate([features for fold in trial.folds for features in fold.kept])
        return ChosenFit(
            trial.fit,
            group,
            self.folds.screening,
            partitions,
            self.tabulate(trials, price),
            pairs,
            leading,
            sole,
            _are_of_zeros(data, labels, leading),
            could_tell(pairs, labels, self.blocks, factor),
            sample_reproducibility(labels[fitted], again),
            place_left_out(matched, len(labels), int(labels.max()) + 1)[fitted],
            np.bincount(all_kept, minlength=data.X.shape[1]) / len(partitions),
            signatures,
        )

    def _join(self, trial: Trial, group: np.ndarray, factor: float) -> tuple[Trial, np.ndarray]:
        """Run Algorithm 1 again from joined clusters, or keep the map if that loses one of them."""
        folds, n_joined = self.folds.cluster_into(int(group.max()) + 1), int(group.max()) + 1
        groups = folds.data.unit_numbers
        kept = np.flatnonzero(trial.fit.weights[0])
        start = group[trial.fit.labels[0]].astype(np.int32)
        fit = folds.whole.settle(folds.whole.fit(start, count_units(kept, groups)))
        labels = [fold.join(group).complete(folds.data.X) for fold in trial.matched]
        refined = folds.refine(trial.folds, labels, [fold.kept for fold in trial.matched])
        again = self.judge(trial.candidate, fit, refined)
        if again.n_groups(factor) == n_joined:
            return again, np.arange(n_joined)
        return trial, group

    def tabulate(self, trials: Trials, price: float) -> pd.DataFrame:
        """Tabulate the candidates that were judged, see `SparseKMeans.search_results_`."""
        rows = []
        for trial, factor in trials.judged:
            paid = pay_for(trial.pairs, price * factor)
            rows.append(
                {
                    "start": trial.candidate.start,
                    "n_features": int(trial.fit.n_selected[0]),
                    "n_clusters": int(trial.labels.max()) + 1,
                    "n_groups": trial.n_groups(price * factor),
                    "p": float(paid["p_adjusted"].min()) if len(paid) else 1.0,
                    "agreement": trial.agreement,
                    "n_folds": len(trial.folds),
                    "chosen": trial is trials.best,
                }
            )
        return pd.DataFrame(rows)


def _are_of_zeros(data: ScaledData, labels: np.ndarray, leading: Sequence[Leading]) -> bool:
    """Say whether separated clusters differ in their shares of zeros of the leading features."""
    for one in leading:
        column = as_dense(data.X[:, [one.feature]])[:, 0].astype(np.float64)
        scale, location = data.scale[one.feature], data.location[one.feature]
        is_zero = np.abs(column * scale + location) <= 1e-6 * scale
        shares = sorted(is_zero[labels == k].mean() for k in one.pair)
        if shares[0] > 1 / 3 or shares[1] < 2 / 3:
            return False
    return bool(leading)


def _count_distinct(partitions: Sequence[np.ndarray]) -> int:
    """Count the partitions that differ."""
    kept: list[np.ndarray] = []
    for labels in partitions:
        if not kept or agreement(labels, np.array(kept)).max() < 1:
            kept.append(labels)
    return len(kept)
