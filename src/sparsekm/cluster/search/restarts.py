"""Algorithm 1 restarted as a whole at every sparsity of a path, whatever the partition step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sparsekm.cluster.alternation import Fit, alternate, weigh_partition, weigh_scores
from sparsekm.cluster.partition_step import PartitionStep
from sparsekm.cluster.search.partition_sharing import best_fit
from sparsekm.cluster.weight_step import WeightStep


def restart_everywhere(
    X: Any,
    partition: PartitionStep,
    weight_steps: Sequence[WeightStep],
    n_features: int,
    generators: Sequence[np.random.Generator],
    *,
    max_iter: int,
    tol: float,
    progress: Callable[[int, int], None] | None = None,
) -> list[Fit]:
    """Run Algorithm 1 at every sparsity, from the largest down, each also from the last one's end.

    Its first partition step weighs all features alike, so it is the same for every sparsity and
    done once per restart. Every sparsity restarts the whole algorithm, and so does every partition
    step within it.

    Parameters
    ----------
    X : object
        Data as the partition step understands them.
    partition : PartitionStep
    weight_steps : sequence of WeightStep
        In ascending order of sparsity.
    n_features : int
    generators : sequence of numpy.random.Generator
        One per restart.
    max_iter, tol
        As in `alternate`.
    progress : callable, optional
        Called with the number of sparsities done and their total.

    Returns
    -------
    list of Fit
        In the order of `weight_steps`.
    """
    equal = np.ones(n_features)
    starts = [partition.start(X, equal, rng) for rng in generators]
    fits: list[Fit] = []
    for done, weight_step in enumerate(reversed(weight_steps), start=1):
        weighed = [weigh_partition(X, partition, weight_step, labels) for labels in starts]
        if fits:
            weighed.append(weigh_scores(weight_step, fits[-1].labels, fits[-1].scores))
        tried = [
            alternate(
                X,
                partition,
                weight_step,
                n_features,
                rng=generators[r % len(generators)],
                start=start,
                max_iter=max_iter,
                tol=tol,
            )
            for r, start in enumerate(weighed)
        ]
        fits.append(best_fit(tried))
        if progress is not None:
            progress(done, len(weight_steps))
    return fits[::-1]
