"""The paper's framework: partition step and weight step in turn (its steps i to iii, Algorithm 1).

Nothing here knows k-means or a penalty by name.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sparsekm.cluster.partition_step import PartitionStep
from sparsekm.cluster.weight_step import WeightStep

# Rounds in which labels and weights come to agree: a bound that data do not reach.
SETTLING_ROUNDS = 1000


@dataclass(frozen=True)
class Fit:
    """A partition and the weights that are best for it."""

    labels: np.ndarray  # (n_samples,), int32
    weights: np.ndarray  # (n_features,): what the weight step answers to `scores`
    scores: np.ndarray  # (n_features,): the contributions a_j, computed from the labels alone
    objective: float  # ``weights @ scores``
    n_iter: int = 0  # rounds of the search that found it
    objectives: list[float] = field(default_factory=list)  # after every weight step: never falls
    converged: bool = True  # false where the search ran out of rounds


def weigh_partition(
    X: Any, partition: PartitionStep, weight_step: WeightStep, labels: np.ndarray, n_iter: int = 0
) -> Fit:
    """Take the weight step at a partition: the best fit that has these labels."""
    return weigh_scores(weight_step, labels, partition.scores(X, labels), n_iter)


def weigh_scores(
    weight_step: WeightStep, labels: np.ndarray, scores: np.ndarray, n_iter: int = 0
) -> Fit:
    """Take the weight step at a partition whose scores are known."""
    weights = weight_step.weigh(scores)
    return Fit(labels, weights, scores, _objective(weights, scores), n_iter)


def alternate(
    X: Any,
    partition: PartitionStep,
    weight_step: WeightStep,
    n_features: int,
    *,
    rng: np.random.Generator | None = None,
    start: Fit | None = None,
    max_iter: int = 20,
    tol: float = 1e-4,
    restart: bool = True,
) -> Fit:
    """Run Algorithm 1 once.

    The weights start equal, as in the paper, or with those of `start`, a partition to go on from
    that this weight step has weighed; without it, or with `restart`, `rng` is needed. Each
    partition step tries the current labels and, in the first round or with `restart`, a fresh
    start, and keeps the better, which makes the objective monotone. The weights count as settled
    when they change by less than `tol` (the paper's criterion). At the end, also after `max_iter`,
    labels and weights are made to agree: the labels are a fixed point of `refine` under the
    weights.
    """
    if start is None:
        weights = np.full(n_features, 1.0 / np.sqrt(n_features))
        labels = partition.start(X, weights, rng)
        current = weigh_partition(X, partition, weight_step, labels)
        settled = _relative_change(current.weights, weights) < tol
    else:
        current, settled = start, False
    objectives = [current.objective]
    rounds = 1
    while not settled and rounds < max_iter:
        rounds += 1
        following = _improve(X, partition, weight_step, current, rng, restart)
        settled = _relative_change(following.weights, current.weights) < tol
        current = following
        objectives.append(current.objective)
    current = replace(current, converged=settled)
    final = refine_until_fixed_point(X, partition, weight_step, current)
    return replace(final, n_iter=rounds, objectives=[*objectives, final.objective])


def refine_until_fixed_point(
    X: Any, partition: PartitionStep, weight_step: WeightStep, fit: Fit, gain: float = 0.0
) -> Fit:
    """Refine labels and weights in turn until they agree.

    Every turn raises the objective. A turn that raises it by no more than the share `gain` is the
    last, as is that after `SETTLING_ROUNDS`. A fit that had run out of rounds has converged after
    all if labels and weights agree already.
    """
    for turn in range(SETTLING_ROUNDS):
        labels = partition.refine(X, fit.weights, fit.labels)
        agree = np.array_equal(labels, fit.labels)
        if not agree:
            following = weigh_partition(X, partition, weight_step, labels, fit.n_iter)
            agree = following.objective <= fit.objective
        if agree:
            return fit if turn else replace(fit, converged=True)
        small = following.objective <= fit.objective * (1.0 + gain)
        fit = replace(following, converged=fit.converged)
        if small:
            return fit
    return replace(fit, converged=False)


def _improve(X, partition, weight_step, fit, rng, restart):
    """Take one round: the best, under the weights of `fit`, of three partitions, weighed anew.

    These are the labels of `fit`, the same refined, and, with `restart`, a fresh start.
    """
    candidates = [partition.refine(X, fit.weights, fit.labels)]
    if restart:
        candidates.append(partition.start(X, fit.weights, rng))
    labels, scores, value = fit.labels, fit.scores, fit.objective
    for candidate in candidates:
        if np.array_equal(candidate, labels):
            continue
        found = partition.scores(X, candidate)
        if _objective(fit.weights, found) > value:
            labels, scores, value = candidate, found, _objective(fit.weights, found)
    return weigh_scores(weight_step, labels, scores)


def _objective(weights, scores) -> float:
    # Only the kept features are summed, in ascending order: dropped ones cannot change the bits.
    kept = np.flatnonzero(weights)
    return float(np.sum(weights[kept] * scores[kept]))


def _relative_change(new, old) -> float:
    """Return the paper's criterion, for weights scaled to the same total.

    A partition step does not see the scale of the weights, so going from 1/sqrt(p) everywhere to
    one everywhere is no change.
    """
    old = old / np.sum(old)
    new = new / max(float(np.sum(new)), np.finfo(float).tiny)
    return float(np.sum(np.abs(new - old)))
