"""Partition of a solid into regions of exactly given sizes.

Each voxel is assigned to the region with the smallest squared distance minus a bonus (a power
diagram); the bonuses are chosen to give the required sizes (semi-discrete optimal transport [1]_).
Since bonuses alone need not give integer sizes, a last step moves single voxels along the cheapest
chains of regions.

References
----------
.. [1] Aurenhammer, Hoffmann & Aronov, Algorithmica 20:61-76 (1998), doi:10.1007/PL00009187.
"""

from __future__ import annotations

import itertools

import numpy as np

from sparsekm.runtime.one_blas_thread import one_blas_thread


def assign_with_sizes(costs: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Assign every voxel to a region so that each region gets exactly its size.

    `costs`, of shape (n_voxels, n_regions), are squared distances in any unit; `sizes` are numbers
    of voxels whose sum is n_voxels. Returns the region of each voxel, of shape (n_voxels,).
    """
    costs = np.asarray(costs, dtype=float)
    sizes = np.asarray(sizes, dtype=np.int64)
    if sizes.sum() != len(costs):
        raise ValueError(f"sizes.sum()={sizes.sum()} should equal n_voxels={len(costs)}.")
    labels = np.argmin(costs - _balance(costs, sizes), axis=1)
    return _correct_sizes(costs, sizes, labels)


def _balance(costs: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Find the bonuses that balance a soft partition, while lowering its temperature.

    At temperature t, voxel v belongs to region r with share softmax_r((b_r - c_vr) / t). The shares
    sum to the sizes at the minimum of a convex function of b, found by damped Newton steps.
    """
    bonus = np.zeros(costs.shape[1])
    scale = np.median(costs.min(axis=1)) + 1e-9
    for temperature in scale * np.array([1.0, 0.3, 0.1, 0.03, 0.01]):
        value, share = _soften(costs, sizes, bonus, temperature)
        for _ in range(25):
            gap = share.sum(axis=0) - sizes
            if np.abs(gap).max() < 0.25:
                break
            curvature = np.diag(share.sum(axis=0)) - np.einsum("vr,vq->rq", share, share)
            curvature[np.diag_indices_from(curvature)] += 1e-3
            with one_blas_thread:
                step = -temperature * np.linalg.solve(curvature, gap)
            bonus, value, share = _descend(costs, sizes, bonus, step, temperature, value)
    return bonus


def _soften(
    costs: np.ndarray, sizes: np.ndarray, bonus: np.ndarray, temperature: float
) -> tuple[float, np.ndarray]:
    gain = (bonus - costs) / temperature
    top = gain.max(axis=1, keepdims=True)
    share = np.exp(gain - top)
    total = share.sum(axis=1, keepdims=True)
    value = temperature * float((np.log(total) + top).sum()) - float((sizes * bonus).sum())
    return value, share / total


def _descend(
    costs: np.ndarray,
    sizes: np.ndarray,
    bonus: np.ndarray,
    step: np.ndarray,
    temperature: float,
    value: float,
) -> tuple[np.ndarray, float, np.ndarray]:
    """Halve a step until it does not increase the convex function."""
    for halving in range(30):
        trial = bonus + step * 0.5**halving
        trial_value, share = _soften(costs, sizes, trial, temperature)
        if trial_value <= value:
            return trial, trial_value, share
    return bonus, value, _soften(costs, sizes, bonus, temperature)[1]


def _correct_sizes(costs: np.ndarray, sizes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Move single voxels from too large to too small regions, cheapest chain first."""
    n_regions = len(sizes)
    price = np.full((n_regions, n_regions), np.inf)
    mover = np.zeros((n_regions, n_regions), dtype=np.int64)
    changed = range(n_regions)
    while True:
        excess = np.bincount(labels, minlength=n_regions) - sizes
        if not excess.any():
            return labels
        for region in changed:
            _price_moves(costs, labels, region, price, mover)
        source, target, previous = _cheapest_chain(price, excess)
        chain = [target]
        while chain[-1] != source:
            chain.append(previous[chain[-1]])
        moved = [mover[giver, taker] for taker, giver in itertools.pairwise(chain)]
        labels[moved] = chain[:-1]
        changed = chain


def _price_moves(
    costs: np.ndarray, labels: np.ndarray, region: int, price: np.ndarray, mover: np.ndarray
) -> None:
    """Record for each other region the voxel that moves there most cheaply, and its cost."""
    members = np.flatnonzero(labels == region)
    price[region] = np.inf
    if len(members):
        change = costs[members] - costs[members, region][:, None]
        cheapest = np.argmin(change, axis=0)
        price[region] = change[cheapest, np.arange(len(cheapest))]
        mover[region] = members[cheapest]
        price[region, region] = np.inf


def _cheapest_chain(price: np.ndarray, excess: np.ndarray) -> tuple[int, int, np.ndarray]:
    """Find the cheapest chain from the largest excess to a shortage of voxels (Bellman-Ford)."""
    n_regions = len(excess)
    source = int(np.argmax(excess))
    distance = np.full(n_regions, np.inf)
    distance[source] = 0.0
    previous = np.full(n_regions, -1)
    for _ in range(n_regions - 1):
        through = distance[:, None] + price
        best = np.argmin(through, axis=0)
        # The tolerance prevents loops of zero cost that are due to rounding.
        better = through[best, np.arange(n_regions)] < distance - 1e-9
        better[source] = False
        if not better.any():
            break
        distance[better] = through[best, np.arange(n_regions)][better]
        previous[better] = best[better]
    short = np.flatnonzero(excess < 0)
    target = int(short[np.argmin(distance[short])])
    return source, target, previous
