"""Partitions found at one sparsity, tried at the others of its path."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sparsekm.cluster.alternation import Fit, refine_until_fixed_point, weigh_scores
from sparsekm.cluster.weight_step import WeightStep

# A better objective must be better by more than rounding.
RELATIVE_GAIN = 1e-12


def best_fit(fits: Sequence[Fit]) -> Fit:
    """Return the fit of largest objective, the first where alike."""
    return max(fits, key=lambda fit: fit.objective)


def best_weighed(weight_step: WeightStep, fits: Sequence[Fit], own: int) -> Fit:
    """Weigh the labels of every fit by one weight step; return the best, the `own` where alike."""
    values = [np.sum(weight_step.weigh(fit.scores) * fit.scores) for fit in fits]
    best = int(np.argmax(values))
    if values[best] <= fits[own].objective * (1 + RELATIVE_GAIN):
        return fits[own]
    return weigh_scores(weight_step, fits[best].labels, fits[best].scores, fits[own].n_iter)


def share_partitions(X, partition, weight_steps, fits) -> list[Fit]:
    """Start every sparsity from the best labels of all until no fit can be bettered by another."""
    fits = list(fits)
    improved = True
    while improved:
        improved = False
        for i, weight_step in enumerate(weight_steps):
            start = best_weighed(weight_step, fits, i)
            if start is not fits[i]:
                better = refine_until_fixed_point(X, partition, weight_step, start)
                if better.objective > fits[i].objective:
                    fits[i] = better
                    improved = True
    return fits
