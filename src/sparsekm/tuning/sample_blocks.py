"""Samples taken together: blocks that resampling takes whole, and a sample on which to tune.

Neighbours in space are near-copies of each other: a random half of them holds almost all that the
other half holds, and whatever was found comes again. Blocks that are longer than the reach of the
correlation share less, as in the block bootstrap (Kunsch 1989, doi:10.1214/aos/1176347265).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparsekm.cluster.validation import check_count
from sparsekm.metrics import label_codes
from sparsekm.runtime.random_state import draw_samples

BLOCKS_PER_CLUSTER = 4
"""With fewer a half may lack whole clusters that are regions; more are shorter than the reach."""


def check_groups(groups: ArrayLike | None, n_samples: int) -> np.ndarray | None:
    """Check the groups that a caller gave, and number them: (n_samples,), int64, or None."""
    if groups is None:
        return None
    if np.shape(groups) != (n_samples,):
        raise ValueError(f"groups: shape={np.shape(groups)} should be ({n_samples},).")
    numbers = label_codes(groups, "groups")
    if not numbers.any():
        raise ValueError(f"groups={np.asarray(groups)[:1].tolist()} should be at least two.")
    return numbers


def space_blocks(positions: np.ndarray, n_blocks: int) -> np.ndarray:
    """Cut space into blocks of equally many samples, each time across its longest side.

    Parameters
    ----------
    positions : ndarray of shape (n_samples, n_dimensions)
    n_blocks : int
        A power of two, or the next one below; no more than there are samples.

    Returns
    -------
    ndarray of shape (n_samples,), int64
        The block of each sample, from 0.

    Examples
    --------
    >>> space_blocks(np.array([[0.0, 0], [9, 1], [8, 0], [1, 1]]), 2)
    array([0, 1, 1, 0])
    """
    positions = np.asarray(positions, dtype=np.float64)
    parts = [np.arange(len(positions))]
    while 2 * len(parts) <= min(n_blocks, len(positions)):
        halves = []
        for part in parts:
            axis = int(np.ptp(positions[part], axis=0).argmax())
            order = part[np.argsort(positions[part, axis], kind="stable")]
            halves += [order[: len(order) // 2], order[len(order) // 2 :]]
        parts = halves
    blocks = np.empty(len(positions), dtype=np.int64)
    for number, part in enumerate(parts):
        blocks[part] = number
    return blocks


def tuning_sample(
    n_samples: int, max_samples: int | None, seed: int, estimator: Any = None
) -> np.ndarray | None:
    """Draw the samples on which a sparsity is tuned, ascending.

    They depend on the seed and the numbers alone, so that every job and every method has the same.
    None stands for all: there are no more than `max_samples`, or that is None. A sample that the
    estimator could not cluster is refused.
    """
    if max_samples is None or n_samples <= check_count("max_samples", max_samples):
        return None
    asked = {} if estimator is None else estimator.get_params()
    fewest = asked.get("n_clusters", 1) * asked.get("min_cluster_size", 1)
    if max_samples < fewest:
        raise ValueError(
            f"max_samples={max_samples} should be >= n_clusters * min_cluster_size={fewest}."
        )
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0, 8)))
    return draw_samples(n_samples, int(max_samples), rng)
