"""Labelling the voxels of a grid: a half brain with regions, ventricles, tracts and spinal cord.

All counts are exact. The solid consists of the required number of voxels deepest inside the union
of the lobes; the partition gives each region its size; the deepest voxels of each region become
ventricle.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import distance_transform_edt

from sparsekm.atlas.phantom.anatomy import SEEDS, Layout, draw_layout
from sparsekm.atlas.phantom.partition import assign_with_sizes
from sparsekm.atlas.phantom.sizes import MATURITY, PhantomAge

TISSUE, LUMEN, TRACT, UNASSIGNED = range(4)


@dataclass(frozen=True)
class Geometry:
    """The labelled voxels of one age, sorted by their position in the file."""

    dims: tuple[int, int, int]  # grid extent along x, y, z
    index: np.ndarray  # (n_voxels,), int64: linear positions, x fastest
    # (n_voxels,): acronym of the level-3 region (or ``"SpC"``) around each voxel.
    region: np.ndarray
    kind: np.ndarray  # (n_voxels,), int: `TISSUE`, `LUMEN`, `TRACT` or `UNASSIGNED`
    depth: np.ndarray  # (n_voxels,): distance to the outer surface, in grid steps
    height: np.ndarray  # (n_voxels,): rank within the region from ventral (0) to dorsal (1)

    @property
    def coordinates(self) -> np.ndarray:
        """Grid indices x, y, z of each voxel, of shape (n_voxels, 3)."""
        nx, ny, _ = self.dims
        return np.column_stack([self.index % nx, self.index // nx % ny, self.index // (nx * ny)])


def build_geometry(age: str, plan: PhantomAge) -> Geometry:
    """Build one age of the phantom, with the maturity of its name and the counts of the plan."""
    brain = [acronym for acronym in SEEDS if acronym in plan.region_voxels]
    extra = _extra_voxels(plan, brain)
    sizes = np.array([plan.region_voxels[a] + plan.lumen_voxels[a] + extra[a] for a in brain])
    points = _place_grid(age, plan, int(sizes.sum()))
    layout = draw_layout(MATURITY[age])
    inside = points[:, 2] <= 0
    solid = _deepest(_lobe_distance(points, layout), inside, int(sizes.sum()))
    names = np.array(brain, dtype=object)
    costs = _seed_costs(points[solid], layout, len(brain))
    region = np.full(len(points), "", dtype=object)
    region[solid] = names[assign_with_sizes(costs, sizes)]
    _grow_cord(points, layout, plan, inside, region)
    return _collect(plan, extra, region)


def _extra_voxels(plan: PhantomAge, brain: list[str]) -> dict[str, int]:
    """Return the tract and unassigned voxels, all taken from the largest region."""
    largest = max(brain, key=lambda a: plan.region_voxels[a])
    return {a: plan.tract_voxels + plan.unassigned_voxels if a == largest else 0 for a in brain}


def _place_grid(age: str, plan: PhantomAge, n_brain: int) -> np.ndarray:
    """Return the coordinates of every grid voxel in the units of the drawing, midline at z = 0."""
    layout = draw_layout(MATURITY[age])
    low = (layout.centres - layout.radii).min(axis=0)
    high = (layout.centres + layout.radii).max(axis=0)
    axes = [np.arange(np.floor(a), np.ceil(b) + 1) for a, b in zip(low, high, strict=True)]
    axes[2] = axes[2][axes[2] <= 0]
    sample = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    volume = np.count_nonzero(_lobe_distance(sample, layout) <= 1)
    unit = (volume / n_brain) ** (1 / 3)
    nx, ny, nz = plan.dims
    z, y, x = np.meshgrid(np.arange(nz), np.arange(ny), np.arange(nx), indexing="ij")
    grid = np.stack([x, y, z], axis=-1).reshape(-1, 3) * unit
    margin = np.array([nx, ny]) * unit - (high - low)[:2]
    # Later stages fill their grid; the early grids contain a whole embryo below the brain.
    share = np.array([0.5, 0.5 if ny < nx else 0.12])
    grid[:, :2] += low[:2] - margin * share
    grid[:, 2] -= (nz // 2) * unit
    return grid


def _lobe_distance(points: np.ndarray, layout: Layout, smooth: float = 0.06) -> np.ndarray:
    """Return a smooth minimum of the distances to the lobes, in radii: about 1 on the surface."""
    nearest = np.full(len(points), np.inf)
    distances = []
    for centre, radii in zip(layout.centres, layout.radii, strict=True):
        distance = np.sqrt((((points - centre) / radii) ** 2).sum(axis=1))
        distances.append(distance)
        nearest = np.minimum(nearest, distance)
    total = sum(np.exp(-(distance - nearest) / smooth) for distance in distances)
    return nearest - smooth * np.log(total)


def _deepest(score: np.ndarray, allowed: np.ndarray, count: int) -> np.ndarray:
    """Return the indices of the `count` allowed entries with the smallest scores, ascending."""
    candidates = np.flatnonzero(allowed)
    if count > len(candidates):
        raise ValueError(f"n_voxels={count} should be <= n_candidates={len(candidates)}.")
    order = np.argsort(score[candidates], kind="stable")[:count]
    return np.sort(candidates[order])


def _seed_costs(points: np.ndarray, layout: Layout, n_regions: int) -> np.ndarray:
    costs = np.full((len(points), n_regions), np.inf)
    for seed, region in zip(layout.seeds, layout.seed_region, strict=True):
        distance = ((points - seed) ** 2 * np.array([1.0, 1.0, 0.5])).sum(axis=1)
        costs[:, region] = np.minimum(costs[:, region], distance)
    return costs


def _grow_cord(
    points: np.ndarray, layout: Layout, plan: PhantomAge, inside: np.ndarray, region: np.ndarray
) -> None:
    """Add the spinal cord: a tube behind the brain, cut off when its voxels are used up."""
    wanted = plan.region_voxels.get("SpC", 0) + plan.lumen_voxels.get("SpC", 0)
    if not wanted:
        return
    free = np.flatnonzero(inside & (region == ""))
    radius, along = _follow_axis(points[free], layout.cord)
    for width in np.linspace(3.5, 14.0, 43):
        tube = free[radius <= width]
        if len(tube) >= 1.15 * wanted:
            order = np.argsort(along[radius <= width], kind="stable")[:wanted]
            region[tube[order]] = "SpC"
            return
    raise ValueError(f"dims={plan.dims} leave no room for {wanted} voxels of spinal cord.")


def _follow_axis(points: np.ndarray, axis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distance of each point to a polyline, and the position of the nearest point."""
    radius = np.full(len(points), np.inf)
    along = np.zeros(len(points))
    passed = 0.0
    for start, end in itertools.pairwise(axis):
        step = end - start
        length = np.sqrt((step**2).sum())
        if length == 0:
            continue
        share = np.clip(((points - start) * step).sum(axis=1) / length**2, 0, 1)
        distance = np.sqrt(((points - start - share[:, None] * step) ** 2).sum(axis=1))
        nearer = distance < radius
        radius[nearer] = distance[nearer]
        along[nearer] = passed + share[nearer] * length
        passed += length
    return radius, along


def _collect(plan: PhantomAge, extra: dict[str, int], region: np.ndarray) -> Geometry:
    nx, ny, nz = plan.dims
    depth = _surface_depth((region != "").reshape(nz, ny, nx)).ravel()
    index = np.flatnonzero(region != "")
    region, depth = region[index].astype(str), depth[index]
    kind = np.full(len(index), TISSUE)
    height = np.zeros(len(index))
    y = index // nx % ny
    for acronym in plan.region_voxels:
        members = np.flatnonzero(region == acronym)
        order = members[np.argsort(-depth[members], kind="stable")]
        n_lumen = plan.lumen_voxels[acronym]
        kind[order[:n_lumen]] = LUMEN
        if extra.get(acronym):
            cut = n_lumen + plan.tract_voxels
            kind[order[n_lumen:cut]] = TRACT
            kind[order[cut : cut + plan.unassigned_voxels]] = UNASSIGNED
        rank = np.argsort(np.argsort(-y[members], kind="stable"), kind="stable")
        height[members] = rank / max(1, len(members) - 1)
    return Geometry(plan.dims, index, region, kind, depth, height)


def _surface_depth(solid: np.ndarray) -> np.ndarray:
    """Return the distance to the nearest voxel outside, with the missing half mirrored."""
    last = np.flatnonzero(solid.any(axis=(1, 2)))[-1]
    half = solid[: last + 1]
    whole = np.pad(np.concatenate([half, half[::-1]]), 1)
    depth = np.zeros(solid.shape)
    depth[: last + 1] = distance_transform_edt(whole)[1:-1, 1:-1, 1:-1][: last + 1]
    return depth
