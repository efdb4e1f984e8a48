"""Blocks of samples that resampling takes or leaves as a whole.

Neighbours in space are near-copies of each other: a random half of them holds almost all that the
other half holds, and whatever was found comes again. Blocks that are longer than the reach of the
correlation share less, as in the block bootstrap (Kunsch 1989, doi:10.1214/aos/1176347265).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sparsekm.metrics.partition_metrics import label_codes

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
        parts = [half for part in parts for half in _halve(positions, part)]
    blocks = np.empty(len(positions), dtype=np.int64)
    for number, part in enumerate(parts):
        blocks[part] = number
    return blocks


def _halve(positions: np.ndarray, part: np.ndarray) -> list[np.ndarray]:
    axis = int(np.ptp(positions[part], axis=0).argmax())
    order = part[np.argsort(positions[part, axis], kind="stable")]
    return [order[: len(order) // 2], order[len(order) // 2 :]]


def order_samples(
    n_samples: int, rng: np.random.Generator, blocks: np.ndarray | None = None
) -> np.ndarray:
    """Order the samples at random, block after block; without blocks each is one of its own.

    The first half of the order is a random half of the samples. The names of blocks do not matter.
    """
    if blocks is None:
        return rng.permutation(n_samples)
    codes = label_codes(blocks, "blocks")
    return np.argsort(rng.permutation(codes.max() + 1)[codes], kind="stable")


def cut_point(size: int, order: np.ndarray, blocks: np.ndarray | None = None) -> int:
    """Return where to cut an order so that about `size` samples come before, and blocks stay whole.

    Both sides have samples if there are two blocks or more.
    """
    if blocks is None:
        return size
    ends = np.flatnonzero(np.diff(blocks[order])) + 1
    return size if len(ends) == 0 else int(ends[np.abs(ends - size).argmin()])
