"""The result of `SparseKMeans` for a number of clusters, and for a number that it chooses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from sparsekm.cluster.matrices.containers import count_distinct, in_blocks
from sparsekm.cluster.matrices.dense_parts import as_dense
from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.cluster.matrices.sparse_matrix import as_matrix
from sparsekm.cluster.sparsity_path import SparsityPath
from sparsekm.cluster.unequal_samples import with_weights
from sparsekm.tuning.candidates import fit_from
from sparsekm.tuning.feature_ranking import choose_screening, count_units
from sparsekm.tuning.fold_fits import (
    N_REPEATS,
    Folds,
    draw_folds,
    label_everyone,
)
from sparsekm.tuning.judge import Judge, Trial, Trials
from sparsekm.tuning.partitions import (
    MatchedFold,
    match_clusters,
    place_left_out,
    sample_reproducibility,
)
from sparsekm.tuning.separation import (
    LEVEL,
    Leading,
    SpreadValues,
    any_separated,
    could_tell,
    join_pairs,
    leading_features,
    needs_one_feature,
    pay_for,
)
from sparsekm.tuning.signatures import Signature, find_signatures

# Beyond so many clusters more than there were separated groups so far, the leader alone is tried.
PATIENCE = 3
# The most clusters tried, and the fewest samples for each; up to so many are tried of few samples,
# too, since a number is found only where there are others.
MOST_CLUSTERS = 12
SAMPLES_PER_CLUSTER, MOST_OF_FEW = 7, 3


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
    n_distinct: int = MOST_CLUSTERS  # distinct samples, so many at most

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
        counted = ""
        if self.counts is not None:
            counted = f"{describe_counts(self.counts, self.n_distinct)}. "
        features, agrees = self.signatures[0]
        few = "No small set of features reproduces the clusters"
        if features is not None:
            few = f"The signature of {len(features):,} puts left-out samples into the same clusters"
        return (
            f"{self._verdict(names)}. {counted}{few} (adjusted Rand index {agrees:.2f}). "
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
            alike = len(np.unique(np.concatenate([one.alike for one in self.leading])))
            more = f" (with {alike - len(features)} correlated)" * (alike > len(features))
            return f"{found}, but in {where} {named} alone{more}"
        return f"{found}, in {where} such as {named}" if self.in_zeros else found


def describe_counts(counts: pd.DataFrame, n_distinct: int = MOST_CLUSTERS) -> str:
    """Say how a number of clusters was chosen among so many distinct samples, or more."""
    chosen, numbers = counts[counts["chosen"]].iloc[0], counts["n_clusters"]
    tried = f"{numbers.min()} to {numbers.max()} clusters were tried"
    if len(numbers) == 1:
        tried = f"Only {numbers.iloc[0]} clusters were tried"
    if numbers.max() == n_distinct < MOST_CLUSTERS:
        tried += ", as many as there are distinct samples"
    if chosen["n_groups"] > 1:
        return f"{tried}: {chosen['n_groups']} groups are clearly separated"
    shown = f"{chosen['n_clusters']} clusters are the most reproducible"
    return f"{tried}: no group is separated from all others, and {shown}"


def most_clusters(n_samples: int, min_cluster_size: int = 1) -> int:
    """Return the most clusters that are tried for so many samples, at least 2."""
    room = max(MOST_OF_FEW, min(MOST_CLUSTERS, n_samples // SAMPLES_PER_CLUSTER))
    return max(2, min(room, n_samples // (2 * min_cluster_size)))


def price_of_numbers(counts: pd.DataFrame) -> float:
    """Return by how many tests a number of clusters that was chosen multiplies p-values.

    That is how many numbers were tried where one alone has so many groups, and half of that where
    two agree.
    """
    n_groups = counts["n_groups"]
    agree = (n_groups >= n_groups[counts["chosen"]].iloc[0]).sum()
    return float(len(counts)) if agree < 2 else max(1.0, len(counts) / 2)


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
    judge = Judge(folds, SpreadValues(data.X, seed), blocks)
    if not choose:
        trials = judge.choose(int(estimator.n_clusters), max(1.0, n_numbers / 2), progress)
        return _describe(judge, trials, price, n_numbers > 1, selection)
    most = most_clusters(len(fitted), int(estimator.min_cluster_size))
    n_distinct = count_distinct(folds.whole.matrix, MOST_CLUSTERS)
    numbers = range(2, min(most, n_distinct) + 1)
    half = max(1.0, len(numbers) / 2)
    tried: list[Trials] = []
    most = 1
    for n_clusters in numbers:
        tried.append(judge.choose(n_clusters, half, alone=n_clusters > most + PATIENCE))
        most = max(most, tried[-1].n_groups(half))
        if progress is not None:
            progress(len(tried), len(numbers))
    table = _choose_number(tried, half)
    trials, price = tried[int(table["chosen"].argmax())], price_of_numbers(table)
    found = _describe(judge, trials, price, True, selection)
    rows = [each.tabulate(half) for each in tried]
    whole = pd.concat(rows, ignore_index=True)
    return replace(found, counts=table, table=whole, n_distinct=n_distinct)


def _choose_number(tried: Sequence[Trials], half: float) -> pd.DataFrame:
    """Tabulate the numbers of clusters that were tried, and mark the one that is chosen."""
    rows, alone = [], [1]
    for trials in tried:
        group = trials.best.group(half * trials.factor)
        n_clusters, n_groups = len(group), trials.n_groups(half)
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


def _describe(judge: Judge, trials: Trials, price: float, join: bool, selection: str) -> ChosenFit:
    """Describe the clusters of the best candidate, joined or not."""
    trial, factor, data = trials.best, price * trials.factor, judge.folds.data
    group = np.arange(int(trial.labels.max()) + 1)
    joined = trial.group(factor)
    if join and joined.any():
        trial, group = judge.join(trial, joined, factor)
    groups = data.unit_numbers
    labels, matched = _take_groups(trial, group)
    signatures = find_signatures(data.X, labels, matched, N_REPEATS, groups)
    best = signatures[0].features
    if selection == "signature" and best is not None and judge.folds.sparsity is None:
        folds = judge.folds.cluster_into(len(group))
        fit = folds.whole.fit_again(trial.fit, count_units(best, groups))
        trial = judge.judge(trial.candidate, fit, trial.folds)
        labels, matched = _take_groups(trial, group)
        signatures[0] = signatures[0]._replace(features=trial.kept)
    pairs = join_pairs(pay_for(trial.pairs, factor), group)
    leading = leading_features(judge.values, labels, trial.kept, pairs)
    sole = needs_one_feature(judge.values, leading, matched, judge.blocks, aside=judge.aside)
    fitted, is_joined = judge.folds.fitted, int(labels.max()) + 1 < len(group)
    partitions = np.concatenate([fold.labels[:, fitted] for fold in trial.folds])
    again = np.array([fold.labels[fitted] for fold in matched]) if is_joined else partitions
    all_kept = np.concatenate([features for fold in trial.folds for features in fold.kept])
    return ChosenFit(
        trial.fit,
        group,
        judge.folds.screening,
        partitions,
        trials.tabulate(price),
        pairs,
        leading,
        sole,
        _are_of_zeros(data, labels, leading),
        could_tell(pairs, labels, judge.blocks, factor),
        sample_reproducibility(labels[fitted], again),
        place_left_out(matched, len(labels), int(labels.max()) + 1)[fitted],
        np.bincount(all_kept, minlength=data.X.shape[1]) / len(partitions),
        signatures,
    )


def _take_groups(trial: Trial, group: np.ndarray) -> tuple[np.ndarray, list[MatchedFold]]:
    """Return the labels of all samples and the folds, with each cluster renamed after its group."""
    return group[trial.labels].astype(np.int32), [fold.join(group) for fold in trial.matched]


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
