"""From values on one scale to the result of `SparseKMeans`, for the estimator and the workflow.

Both call `find_clusters`. `candidates` lists the fits that are tried, `fold_fits` repeats them
without some of the samples, `separation` tests their clusters on the samples that were left out,
and `judge` chooses among them. This module chooses the number of clusters, fits all samples, and
describes the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.metrics import silhouette_samples

from sparsekm.cluster.batches import conclude_with_batches, count_batches
from sparsekm.cluster.kmeans.many_samples import label_samples
from sparsekm.cluster.matrices.dense_parts import as_dense
from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.cluster.matrices.sparse_matrix import as_matrix, cluster_centers
from sparsekm.cluster.matrices.streamed_matrix import in_blocks
from sparsekm.cluster.matrices.varying_features import VaryingFeatures, check_matrix, count_distinct
from sparsekm.cluster.sample_weights import describe_weighted, refuse_counted, with_weights
from sparsekm.cluster.sparsity_path import ChosenFit, Fit
from sparsekm.cluster.trimming import count_trimmed, first_kept, keep_nearest
from sparsekm.metrics import label_codes
from sparsekm.runtime.threads import grant_threads, one_blas_thread
from sparsekm.tuning.candidates import fit_from
from sparsekm.tuning.conclusion import (
    describe_features,
    describe_leading,
    describe_numbers,
    describe_separation,
)
from sparsekm.tuning.feature_ranking import choose_screening, count_units
from sparsekm.tuning.fold_fits import (
    N_REPEATS,
    Folds,
    blocks_of,
    draw_folds,
    extend_labels,
    tuning_sample,
)
from sparsekm.tuning.judge import Judge, Trial
from sparsekm.tuning.partitions import (
    ambiguous_share,
    cluster_overlaps,
    match_clusters,
    place_left_out,
    sample_reproducibility,
)
from sparsekm.tuning.separation import (
    LEVEL,
    SpreadValues,
    any_separated,
    join_pairs,
    leading_features,
    multiply_p,
    needs_one_feature,
    shows_in_one_feature,
)
from sparsekm.tuning.signatures import Signature, find_signatures

# If K exceeds the largest number of separated groups so far by more than this, only the first
# candidate of the judge (the leader) is tried.
PATIENCE = 3
# The largest number of clusters to try, the fewest samples for each, and the number that is tried
# even with few samples, because a number can only be chosen among several.
MOST_CLUSTERS = 12
SAMPLES_PER_CLUSTER, MOST_OF_FEW = 7, 3
# At least this number of tests is counted: three donors are too few to choose a number of clusters.
FEWEST_TESTS = 3
# If K is given, another number is tried if there are this many samples for each cluster.
FEWEST_BESIDE = 4
# If there are more samples, this number is drawn to find the clusters.
MOST_SAMPLES = 2000


def count_tests(numbers: pd.DataFrame | None) -> float:
    """Return by how much p-values are multiplied if a number of clusters was chosen among several.

    `numbers` is the table of the numbers that were tried. The factor is the number of tests
    (Bonferroni; see `_count_able`), or half of it if at least two numbers of clusters have as many
    separated groups as the chosen one.
    """
    if numbers is None:
        return 1.0
    n_tests = _count_able(numbers["p_least"])
    agree = numbers["n_groups"] >= numbers["n_groups"][numbers["chosen"]].iloc[0]
    return _half(n_tests) if agree.sum() > 1 else float(n_tests)


def _count_able(p_least: Sequence[float]) -> int:
    """Count the numbers of clusters whose tests could reach the level, given this count.

    `p_least` has the smallest p that each number could reach. With few donors, no outcome of most
    numbers could reach the level, so these are not tests (Tarone 1990, doi:10.2307/2531456). Some
    always count, so that three donors are too few to choose a number.
    """
    n_able = min(FEWEST_TESTS, len(p_least))
    while np.sum(np.multiply(p_least, n_able) <= LEVEL) > n_able:
        n_able += 1
    return n_able


def _half(n_numbers: int) -> float:
    return max(1.0, n_numbers / 2)


def is_leader_only(n_clusters: int, n_groups: Sequence[int]) -> bool:
    """Say whether one candidate is tried, as all smaller numbers have few separated groups."""
    return n_clusters > max([1, *n_groups]) + PATIENCE


def most_clusters(n_samples: int, min_cluster_size: int = 1) -> int:
    """Return the largest number of clusters to try for a number of samples, at least 2."""
    room = max(MOST_OF_FEW, min(MOST_CLUSTERS, n_samples // SAMPLES_PER_CLUSTER))
    return max(2, min(room, n_samples // (2 * min_cluster_size)))


def find_clusters(
    settings: Any,
    data: ScaledData,
    *,
    sparsity: float | None = None,
    numbers: pd.DataFrame | None = None,
    beside: bool = False,
    seed: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ChosenFit:
    """Cluster the samples by the best of the candidates, and describe the result.

    If there are many samples, some are drawn. Every candidate, which is a start and a number of
    features, is fitted to the drawn samples. It is fitted again to folds, each of which leaves some
    of these samples out. A `Judge` chooses the candidate with the most clusters that are separated
    on samples that were left out.
    If the number of clusters is open, this is done for each number, and one of them is chosen.
    Algorithm 1 then goes on from the chosen clusters with all samples and their weights.

    Parameters
    ----------
    settings : SparseKMeans
        How the data are clustered. Its sparsity is not read, and batches are not used.
    data : ScaledData
        Values on one scale. If they are known, its description has the groups of samples that are
        held out together, or else positions in space; weights, which count in the last run of
        Algorithm 1, its scores and the centres; and the groups of features.
    sparsity : float, optional
        A count or bound. If given, only screening and start are chosen.
    numbers : DataFrame, optional
        The table of the values of K that were tried before, if `settings` ask for "auto". Otherwise
        K is chosen here: values from 2 upwards are tried, and the number of groups is the larger of
        two numbers. One is the largest number of groups that two values of K have at least. The
        other is the largest K whose clusters are all separated at p-values that count all values
        tried. Among the values of K with this number of groups, K equal to the number is preferred,
        then the most reproducible K.
    beside : bool, default=False
        If the number is given, whether to try one cluster less and one more, too, and to describe
        the clusters of all numbers, as with "auto".
    seed : int, optional
        Replaces the seed of the settings.
    progress : callable, optional
        Called as ``progress(done, total)`` after each fold, or number of clusters.
    """
    estimator, n_samples = settings.make_estimator(), data.X.shape[0]
    estimator.set_params(sparsity=sparsity)
    if seed is not None:
        estimator.set_params(random_state=seed)

    def find(rows: np.ndarray) -> ChosenFit:
        return _Search(settings, estimator, data, rows).find(numbers, beside, progress)

    with grant_threads(settings.n_jobs):
        if data.about.weights is not None:
            refuse_counted(settings.trim)
            return find(np.flatnonzero(data.about.weights))
        if not settings.trim:
            return find(np.arange(n_samples))
        # Samples are first set aside by all features, and then by the features with weight.
        is_auto, smallest = settings.n_clusters == "auto", estimator.min_cluster_size
        n_clusters = most_clusters(n_samples) if is_auto else estimator.n_clusters
        n_trimmed = count_trimmed(settings.trim, n_samples, n_clusters, smallest)
        rows = first_kept(data.matrix, n_clusters, n_trimmed, seed=estimator.random_state)
        result = find(rows)
        centers, _ = result.placing
        centers = centers if data.center is None else centers + data.center
        nearest = keep_nearest(data.matrix, centers, result.distance_weights, n_trimmed)
        if not np.array_equal(nearest, rows):
            rows, result = nearest, find(nearest)
    aside = np.ones(n_samples, np.int8)
    aside[rows] = 0
    return replace(result, trimmed=aside, left_out=np.where(aside, -1, result.left_out))


class _Search:
    """The search for the clusters of some samples, `rows`.

    `samples` are the positions in `rows` of the samples that are drawn to find the clusters, and
    `tuned` their positions among all samples. `scaled` are all samples on the scale of `rows`,
    without the features that are constant in `rows`.
    """

    def __init__(self, settings: Any, estimator: Any, data: ScaledData, rows: np.ndarray) -> None:
        self.settings, self.data, self.rows = settings, data, rows
        n_samples, n_features = data.X.shape
        self.features = VaryingFeatures(np.ones(n_features, bool), np.zeros(n_features))
        if len(rows) < n_samples:
            data = data.standardise_by(rows)
            self.features = VaryingFeatures.of_values(data.X[rows])
            data = data.select(self.features.varies) if self.features.n_constant else data
        self.scaled = data
        self.estimator = clone(estimator).set_params(feature_groups=data.unit_numbers)
        most = MOST_SAMPLES if settings.max_samples is None else settings.max_samples
        self.samples = tuning_sample(len(rows), most, self.estimator)
        self.tuned = rows if self.samples is None else rows[self.samples]
        self.folds, self.values = self._hold_out()
        self.n_distinct = count_distinct(self.folds.whole.matrix, MOST_CLUSTERS)

    def _hold_out(self) -> tuple[Folds, SpreadValues]:
        """Draw the folds, and prepare the test on the samples that they hold out."""
        rows, aside = self.rows, self.rows[:0]
        # Outliers that are set aside enter the test, too, so the same share of them is drawn.
        if self.settings.trim:
            aside = np.setdiff1d(np.arange(self.data.X.shape[0]), rows)
        tested = np.union1d(self.tuned, aside[:: max(1, len(rows) // len(self.tuned))])
        part, fitted = self.scaled.take(tested), np.searchsorted(tested, self.tuned)
        n_clusters, smallest = self.estimator.n_clusters, self.estimator.min_cluster_size
        matrix = part.matrix.take(fitted) if len(aside) else part.matrix
        check_matrix(matrix, n_clusters, smallest)
        blocks, seed = blocks_of(part.about, n_clusters), self.estimator.random_state
        screening = self.settings.screening
        screening = choose_screening(part) if screening == "auto" else screening
        left_out = draw_folds(fitted, seed=seed, blocks=blocks)
        folds = Folds(part, self.estimator, screening, fitted, left_out)
        return folds, SpreadValues(part.X, seed, blocks, folds.aside)

    def find(self, numbers: pd.DataFrame | None, beside: bool, progress: Any) -> ChosenFit:
        """Find the clusters of a given number, or of the number that is chosen."""
        if numbers is None and self.settings.n_clusters == "auto":
            tried, tables = self._try_numbers(progress)
            numbers = _choose_number(self._tabulate(tried, is_open=True), tried)
            trial = tried[int(numbers["chosen"].argmax())]
        else:
            judge, is_far = self._judge(self.estimator.n_clusters), False
            if numbers is not None:
                place = int(numbers["chosen"].argmax())
                k = int(numbers["n_clusters"].iloc[place])
                judge = self._judge(k, _half(len(numbers)))
                is_far = is_leader_only(k, numbers["n_groups"].iloc[:place])
            trial, candidates = judge.choose(progress, leader_only=is_far)
            tried, tables = [trial], [candidates]
        result = self._describe(trial, numbers)
        if numbers is None and beside:
            tried = self._try_beside(trial)
            numbers = self._tabulate(tried)
            numbers["chosen"] = [one is trial for one in tried]
        if numbers is not None:
            result = replace(result, divisions=self._list_divisions(tried, result))
        return replace(result, candidates=pd.concat(tables, ignore_index=True), numbers=numbers)

    def _judge(self, n_clusters: int, n_tests: float = 1.0) -> Judge:
        return Judge(self.folds.cluster_into(n_clusters), self.values, n_tests)

    def _try_numbers(self, progress: Any) -> tuple[list[Trial], list[pd.DataFrame]]:
        """Judge the candidates for each number of clusters."""
        smallest = int(self.estimator.min_cluster_size)
        largest = min(most_clusters(len(self.tuned), smallest), self.n_distinct)
        numbers = range(2, largest + 1)
        n_tests, n_groups = _half(len(numbers)), []
        tried: list[Trial] = []
        tables: list[pd.DataFrame] = []
        for n_clusters in numbers:
            judge, is_far = self._judge(n_clusters, n_tests), is_leader_only(n_clusters, n_groups)
            trial, candidates = judge.choose(leader_only=is_far)
            tried, tables = [*tried, trial], [*tables, candidates]
            n_groups.append(trial.n_groups(n_tests * trial.factor))
            if progress is not None:
                progress(len(tried), len(numbers))
        return tried, tables

    def _try_beside(self, trial: Trial) -> list[Trial]:
        """Judge the first candidate for one cluster less and one more, if these are possible."""
        k, smallest = int(trial.labels.max()) + 1, int(self.estimator.min_cluster_size)
        most = len(self.tuned) // max(FEWEST_BESIDE, 2 * smallest)
        most = min(most, count_distinct(self.folds.whole.matrix, k + 1))
        less, more = (
            [self._judge(number).choose(leader_only=True)[0]] if 2 <= number <= most else []
            for number in (k - 1, k + 1)
        )
        return [*less, trial, *more]

    def _tabulate(self, tried: Sequence[Trial], *, is_open: bool = False) -> pd.DataFrame:
        """Describe the clusters of each number in a table, see `SparseKMeans`."""
        fitted, p_least = self.folds.fitted, [trial.p_least for trial in tried]
        n_tests = _half(_count_able(p_least)) if is_open else 1.0
        rows = []
        for trial in tried:
            cluster_of = trial.merge(n_tests * trial.factor)
            n_groups = int(cluster_of.max()) + 1
            row = {"n_clusters": len(cluster_of), "n_groups": n_groups}
            joined = trial.join(cluster_of) if n_groups > 1 else trial
            row["reproducibility"] = joined.reproducibility()
            silhouettes = self._silhouettes(trial.labels[fitted], trial.fit.weights)
            row["silhouette"] = silhouettes.mean()
            row["ambiguous"] = ambiguous_share(trial.partitions[:, fitted])
            row["p_least"] = trial.p_least
            rows.append({**row, "groups": "-".join(map(str, cluster_of))})
        return pd.DataFrame(rows)

    @one_blas_thread
    def _silhouettes(self, labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Compute the silhouettes of the fitted samples, in the features with weight."""
        folds, kept = self.folds, np.flatnonzero(weights)
        if not 2 <= len(np.unique(labels)) < len(labels):
            return np.zeros(len(labels))
        values = as_dense(folds.data.X[:, kept])[folds.fitted] * np.sqrt(weights[kept])
        # Several jobs would divide the samples, and rounding would depend on their number.
        return silhouette_samples(values, labels, n_jobs=1)

    def _list_divisions(self, tried: Sequence[Trial], result: ChosenFit) -> pd.DataFrame:
        """Tabulate the silhouette of each sample, and its cluster for each number tried.

        For samples that were not fitted, they are NaN and -1.
        """
        table = pd.DataFrame({"silhouette": np.full(len(result.labels), np.nan)})
        weights = result.weights[self.features.varies]
        own = self._silhouettes(result.labels[self.tuned], weights)
        table.loc[self.tuned, "silhouette"] = own
        for trial in tried:
            column = f"clusters_{int(trial.labels.max()) + 1}"
            table[column] = -1
            table.loc[self.tuned, column] = trial.labels[self.folds.fitted]
        return table

    def _finish(
        self, trial: Trial, numbers: pd.DataFrame | None
    ) -> tuple[Trial, np.ndarray, list[Signature]]:
        """Join clusters that overlap, if their number was chosen, and find the signatures.

        With ``selection="signature"``, Algorithm 1 runs again at the signature's number of
        features. Returns the trial, the joined cluster of each of its clusters, and the signatures.
        """
        folds, part, n_tests = self.folds, self.folds.data, count_tests(numbers)
        judge = Judge(folds, self.values, n_tests)
        cluster_of = np.arange(int(trial.labels.max()) + 1)
        separated = trial.merge(n_tests * trial.factor)
        if numbers is not None and separated.any():
            trial, cluster_of = judge.join(trial, separated)
        joined, units = trial.join(cluster_of), part.unit_numbers
        signatures = find_signatures(part.X, joined.labels, joined.matched, N_REPEATS, units)
        best = signatures[0].features
        is_open = self.settings.selection == "signature" and self.estimator.sparsity is None
        if is_open and best is not None:
            whole = folds.cluster_into(len(cluster_of)).whole
            fit = whole.fit_again(trial.fit, count_units(best, units))
            trial = judge.judge(trial.candidate, fit, trial.folds, trial.factor)
            signatures[0] = signatures[0]._replace(features=trial.kept)
        return trial, cluster_of, signatures

    def _describe(self, trial: Trial, numbers: pd.DataFrame | None) -> ChosenFit:
        """Finish the best clusters, and describe them for all samples."""
        trial, cluster_of, signatures = self._finish(trial, numbers)
        folds, fitted, part = self.folds, self.folds.fitted, self.folds.data
        joined, n_clusters = trial.join(cluster_of), int(cluster_of.max()) + 1
        labels, matched = joined.labels, joined.matched
        pairs = join_pairs(multiply_p(trial.pairs, count_tests(numbers) * trial.factor), cluster_of)
        leading = leading_features(self.values, labels, trial.kept, pairs)
        sole = needs_one_feature(self.values, leading, matched) and shows_in_one_feature(
            self.values, leading, matched
        )
        partitions = trial.partitions[:, fitted]
        again = partitions
        if n_clusters < len(cluster_of):
            again = np.array([fold.labels[fitted] for fold in matched])
        reproducibility = sample_reproducibility(labels[fitted], again)
        left_out = place_left_out(matched, len(labels), n_clusters)[fitted]
        all_kept = np.concatenate([fit.kept for fits in trial.folds for fit in fits])
        frequency = np.bincount(all_kept, minlength=part.X.shape[1]) / len(partitions)
        where = describe_leading(part, labels, leading, sole)
        counted = ""
        if numbers is not None:
            most = self.n_distinct if self.n_distinct < MOST_CLUSTERS else None
            counted = f"{describe_numbers(numbers, pairs, most)}. "
        conclusion = (
            f"{describe_separation(pairs, n_clusters, where)}. {counted}"
            f"{describe_features(signatures[0], trial.fit.weights)}. On average, samples keep "
            f"their cluster in {reproducibility.mean():.0%} of refits to 90% of the data."
        )
        result = self._fit_all(trial.fit, cluster_of)
        everyone = np.full(len(result.labels), np.nan)
        everyone[self.tuned] = reproducibility
        result.left_out[self.tuned] = left_out
        is_whole = len(self.tuned) == len(result.labels)
        return replace(
            result,
            left_out_centers=self._average_left_out(result.left_out, n_clusters),
            **self._name_signatures(signatures),
            screening=folds.screening,
            has_clusters=any_separated(pairs),
            conclusion=conclusion,
            reproducibility=everyone,
            overlaps=cluster_overlaps(labels[fitted], again),
            selection_frequency=self.features.put_back(frequency),
            partitions=partitions if is_whole else None,
            separation=pairs,
        )

    def _average_left_out(self, left_out: np.ndarray, n_clusters: int) -> np.ndarray:
        """Average the samples that fits to folds assigned to each cluster without using them."""
        own = np.full(len(left_out), n_clusters)
        own[self.rows] = np.where(left_out[self.rows] < 0, n_clusters, left_out[self.rows])
        return np.nan_to_num(average_clusters(self.data, own, n_clusters + 1)[:n_clusters])

    def _fit_all(self, fit: Fit, cluster_of: np.ndarray) -> ChosenFit:
        """Extend a fit to all samples: run Algorithm 1 again if they were drawn or have weights.

        Samples that were set aside, or have weight 0, get the cluster of the nearest centre.
        """
        data, rows = self.data, self.rows
        n_samples, weights = data.X.shape[0], data.about.weights
        is_whole = len(rows) == n_samples
        part, X, start = data.take(rows), self.scaled.take(rows).X, fit.labels
        if self.samples is not None:
            start = extend_labels(X, X[self.samples], fit.labels, fit.weights)
            fit = self._fit_again(in_blocks(X), start, fit.sparsity, len(cluster_of))
        if weights is not None:
            weights = weights[rows]
            matrix = with_weights(as_matrix(X), weights)
            fit = self._fit_again(matrix, fit.labels, fit.sparsity, len(cluster_of))
        clusters, n_clusters = cluster_of[fit.labels].astype(np.int32), int(cluster_of.max()) + 1
        fitted_centers = relative = None
        is_joined = n_clusters < len(cluster_of)
        if is_joined:
            fitted_centers = average_clusters(part, fit.labels, len(cluster_of), weights)
        if not is_whole:
            relative = self.features.put_back(self.scaled.scale)
            relative = np.where(self.features.varies, relative / data.scale, 1.0)
        result = ChosenFit.of(
            fit,
            labels=np.empty(n_samples, np.int32),
            weights=self.features.put_back(fit.weights),
            scores=self.features.put_back(fit.scores),
            centers=average_clusters(part, clusters, n_clusters, weights),
            fitted_centers=fitted_centers,
            cluster_of=cluster_of if is_joined else None,
            scale=relative,
            left_out=np.empty(n_samples, np.int32),
        )
        if not is_whole:
            result.labels[:] = place_samples(result, data.X, data.center)
        result.left_out[:] = result.labels
        result.labels[rows], result.left_out[rows] = clusters, cluster_of[start]
        return result

    def _fit_again(self, X: Any, start: np.ndarray, sparsity: float, n_clusters: int) -> Fit:
        """Run Algorithm 1 from labels; clusters keep their numbers."""
        own = clone(self.estimator).set_params(n_clusters=n_clusters)
        if getattr(X, "sample_weight", None) is not None:
            # With weights, a smallest number of samples is not defined.
            own.set_params(min_cluster_size=1)
        fit = fit_from(own, X, start, sparsity)
        return replace(fit, labels=match_clusters(start, fit.labels))

    def _name_signatures(self, signatures: Sequence[Signature]) -> dict[str, Any]:
        """Return the signatures as features of the data."""
        places = np.flatnonzero(self.features.varies)
        first, *others = (
            None if one.features is None else places[one.features] for one in signatures
        )
        return {
            "signature": first,
            "signature_agreement": signatures[0].agreement,
            "n_nearly": signatures[0].n_nearly,
            "nearly_agreement": signatures[0].nearly,
            "cluster_signatures": others,
            "cluster_agreements": np.array([one.agreement for one in signatures[1:]]),
        }


def add_centred(result: ChosenFit, centred: ChosenFit, batch: ArrayLike) -> ChosenFit:
    """Add the clusters of values centred within batches, and whether clusters are batches."""
    matched = match_clusters(result.labels, centred.labels)
    counts = count_batches(result.clustered, label_codes(batch, "batch"))
    conclusion = conclude_with_batches(result.conclusion, counts)
    return replace(result, batch_centred=matched, conclusion=conclusion)


def place_samples(
    result: ChosenFit, X: Any, offset: np.ndarray | None = None, label: Any = label_samples
) -> np.ndarray:
    """Return the cluster of the nearest centre of each sample, (n,), int32.

    `offset` is subtracted from sparse values. `label` is a function like `label_samples`.
    """
    centers, cluster_of = result.placing
    weights = result.distance_weights
    support = np.flatnonzero(weights)
    kept = (centers if offset is None else centers + offset)[:, support]
    shift = kept.mean(axis=0)
    return cluster_of[label(X, weights, shift, (kept - shift).T)].astype(np.int32)


def average_clusters(
    data: ScaledData, labels: np.ndarray, n_clusters: int, weights: np.ndarray | None = None
) -> np.ndarray:
    """Average the centred values of each cluster, (n_clusters, p), NaN for an empty one."""
    if weights is None:
        means = cluster_centers(data.X, labels, n_clusters)
    else:
        matrix = with_weights(as_matrix(data.X), weights)
        means = describe_weighted(matrix, labels, n_clusters)[0].T + matrix.means
    return means if data.center is None else means - data.center


def _choose_number(table: pd.DataFrame, tried: Sequence[Trial]) -> pd.DataFrame:
    """Mark the chosen number in the table of the numbers of clusters that were tried."""
    n_tests, fully_separated = _count_able(table["p_least"]), [1]
    for trial in tried:
        every = multiply_p(trial.pairs, n_tests * trial.factor)["p_adjusted"]
        if len(every) and every.max() <= LEVEL:
            fully_separated.append(int(trial.labels.max()) + 1)
    n_groups = table["n_groups"].to_numpy()
    target = max(np.sort(n_groups)[-2:][0], *fully_separated)
    able = n_groups == target
    direct = able & (table["n_clusters"].to_numpy() == target)
    again = np.where(direct if direct.any() else able, table["reproducibility"], -np.inf)
    return table.assign(chosen=table.index == int(again.argmax()))
