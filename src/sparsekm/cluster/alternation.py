"""The paper's framework: alternating partition and weight steps (its steps i to iii, Algorithm 1).

It runs once, restarted, or along a path. Nothing here knows k-means or a penalty by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np

from sparsekm.cluster.matrices.dense_parts import as_dense, feature_means, feature_variances
from sparsekm.cluster.partition_step import PartitionStep
from sparsekm.cluster.sparsity_path import Fit
from sparsekm.cluster.weight_step import WeightStep

# Limits the rounds in which labels and weights come to agree. Data do not reach it.
SETTLING_ROUNDS = 1000
# A better objective must be better by more than rounding.
RELATIVE_GAIN = 1e-12


def weigh_partition(X, partition, weight_step, labels, n_iter=0) -> Fit:
    """Return the best fit that has these labels, by one weight step."""
    return weigh_scores(weight_step, labels, partition.scores(X, labels), n_iter)


def weigh_scores(weight_step, labels, scores, n_iter=0) -> Fit:
    """Return the best fit that has these labels, whose scores are known."""
    weights = weight_step.weigh(scores)
    return Fit(labels, weights, scores, _objective(weights, scores), n_iter)


def alternate(X, partition, weight_step, start: Fit, rng=None, max_iter=20, tol=1e-4) -> Fit:
    """Run Algorithm 1 once, from a weighed `start`.

    Each partition step tries the current labels and, with `rng`, a fresh start, and keeps the
    better. The weights have settled when they change by less than `tol` (the paper's criterion). At
    the end, also after `max_iter`, the labels are a fixed point of `refine` under the weights.
    """
    current, settled = start, False
    objectives = [current.objective]
    rounds = 1
    while not settled and rounds < max_iter:
        rounds += 1
        following = _improve(X, partition, weight_step, current, rng)
        settled = _relative_change(following.weights, current.weights) < tol
        current = following
        objectives.append(current.objective)
    current = replace(current, converged=settled)
    final = refine_until_fixed_point(X, partition, weight_step, current)
    return replace(final, n_iter=rounds, objectives=[*objectives, final.objective])


def refine_until_fixed_point(X, partition, weight_step, fit: Fit, gain=0.0) -> Fit:
    """Refine labels and weights alternately until they agree; every round raises the objective.

    A round that raises it by no more than the share `gain` is the last. A fit that had run out of
    rounds has converged after all if labels and weights agree already.
    """
    for turn in range(SETTLING_ROUNDS):
        labels = partition.refine(X, fit.weights, fit.labels)
        agree = np.array_equal(labels, fit.labels)
        if not agree:
            following = weigh_partition(X, partition, weight_step, labels, fit.n_iter)
            agree = following.objective <= fit.objective * (1.0 + RELATIVE_GAIN)
        if agree:
            return fit if turn else replace(fit, converged=True)
        small = following.objective <= fit.objective * (1.0 + gain)
        fit = replace(following, converged=fit.converged)
        if small:
            return fit
    return replace(fit, converged=False)


def _improve(X, partition, weight_step, fit, rng):
    """Weigh the best of the labels, the refined labels and a restart, by the weights of `fit`."""
    candidates = [partition.refine(X, fit.weights, fit.labels)]
    if rng is not None:
        candidates.append(partition.start(X, fit.weights, rng))
    labels, scores, value = fit.labels, fit.scores, fit.objective
    for candidate in candidates:
        if np.array_equal(candidate, labels):
            continue
        own = partition.scores(X, candidate)
        if _objective(fit.weights, own) > value:
            labels, scores, value = candidate, own, _objective(fit.weights, own)
    return weigh_scores(weight_step, labels, scores)


def _objective(weights, scores) -> float:
    # Only the kept features are summed, in ascending order, so dropped features cannot change any
    # bit.
    kept = np.flatnonzero(weights)
    return float(np.sum(weights[kept] * scores[kept]))


def _relative_change(new, old) -> float:
    """Return the paper's criterion for weights with the same total: no step sees their scale."""
    old = old / np.sum(old)
    new = new / max(float(np.sum(new)), np.finfo(float).tiny)
    return float(np.sum(np.abs(new - old)))


def alternate_everywhere(
    X: Any,
    partition: PartitionStep,
    weight_steps: Sequence[WeightStep],
    generators: Sequence[np.random.Generator],
    progress: Callable[[int, int], None],
    starts: Sequence[Sequence[np.ndarray]] | None = None,
    n_fresh: int = 0,
    **limits: Any,
) -> list[Fit]:
    """Run Algorithm 1 at every sparsity of a path, in ascending order, and share the partitions.

    It runs only from the `starts` of each sparsity, or is restarted once for each of the
    `generators`. The first partition step of a restart is then done once for all sparsities, and
    each sparsity also continues from the result of the next denser one. With `n_fresh`, this number
    of runs follow, each from a partition step on other features (`draw_scores`). `limits` are
    passed to `alternate`.
    """
    if starts is None:
        equal = np.ones(X.shape[1])
        starts = [[partition.start(X, equal, rng) for rng in generators]] * len(weight_steps)
    fits: list[Fit] = []
    for weight_step, labels in zip(reversed(weight_steps), reversed(starts), strict=True):
        weigh = partial(weigh_partition, X, partition, weight_step)
        go_on = partial(alternate, X, partition, weight_step, **limits)
        weighed = [weigh(one) for one in labels]
        if fits and generators:
            weighed.append(weigh_scores(weight_step, fits[-1].labels, fits[-1].scores))
        pairs = zip(weighed, cycle(generators or [None]), strict=False)
        best = best_fit([go_on(start=one, rng=rng) for one, rng in pairs])
        for fresh in range(n_fresh):
            rng = generators[0]
            scores = draw_scores(X, best.labels, rng, among_clusters=fresh % 2 == 0)
            start = partition.start(X, weight_step.weigh(scores), rng)
            best = best_fit([best, go_on(start=weigh(start), rng=rng)])
        fits.append(best)
        progress(len(fits), len(weight_steps))
    return share_partitions(X, partition, weight_steps, fits[::-1])


def draw_scores(X, labels, rng: np.random.Generator, *, among_clusters: bool) -> np.ndarray:
    """Score features by how well they separate two clusters that are drawn at random.

    If `among_clusters` is false, score them by their correlation with a feature drawn at random.
    """
    n_clusters = int(labels.max()) + 1
    if among_clusters and n_clusters > 2:
        a, b = rng.choice(n_clusters, 2, replace=False)
        return (feature_means(X[labels == a]) - feature_means(X[labels == b])) ** 2
    column = as_dense(X[:, [rng.integers(X.shape[1])]])[:, 0]
    # A centred feature sums to zero, so the other features need not be centred.
    inner = X.T @ (column - column.mean(dtype=np.float64))
    return inner**2 / np.maximum(len(column) * feature_variances(X), np.finfo(X.dtype).tiny)


def best_fit(fits: Sequence[Fit]) -> Fit:
    """Return the fit with the largest objective, the first one among ties."""
    return max(fits, key=lambda fit: fit.objective)


def share_partitions(X, partition, weight_steps, fits, gain=0.0) -> list[Fit]:
    """Start every sparsity from the labels of all others until none improves a fit.

    With a `gain`, a fit ends when a round raises the objective by no more than this share.
    """
    fits = list(fits)
    improved = True
    while improved:
        improved = False
        for i, weight_step in enumerate(weight_steps):
            values = [np.sum(weight_step.weigh(fit.scores) * fit.scores) for fit in fits]
            if max(values) <= fits[i].objective * (1 + RELATIVE_GAIN):
                continue
            best = fits[int(np.argmax(values))]
            start = weigh_scores(weight_step, best.labels, best.scores, fits[i].n_iter)
            better = refine_until_fixed_point(X, partition, weight_step, start, gain)
            if better.objective > fits[i].objective:
                fits[i] = better
                improved = True
    return fits
