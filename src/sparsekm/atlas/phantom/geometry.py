"""Labelling the voxels of a grid: half a brain, cut into regions across a bent axis.

The brain and the spinal cord are a tube around the neuraxis, bent before birth and straighter
later. Each region has a piece of the axis and consists of the voxels nearest to it, so that every
count is exact; the innermost become ventricle. Lengths and cross-sections follow from the counts.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline

from sparsekm.atlas.phantom.sizes import MATURITY, PhantomAge

TISSUE, LUMEN, TRACT, UNASSIGNED = range(4)

# Side view of the axis, from the front end to the spinal cord, y downwards, in any unit.
_EMBRYONIC = ((0.00, 0.24), (0.08, 0.05), (0.25, 0.00), (0.37, 0.15), (0.41, 0.40), (0.38, 0.70))
_ADULT = ((0.00, 0.16), (0.20, 0.10), (0.40, 0.12), (0.60, 0.18), (0.80, 0.20), (1.00, 0.22))
# Length of the axis, for a brain of one voxel.
_EMBRYONIC_LENGTH, _ADULT_LENGTH = 3.7, 2.3
_N_PIECES = 30
_LENGTH_POWER = 0.65
"""Of two regions, the larger one is longer by the ratio of sizes to this power."""
_SHORTEST = 0.025
"""Least share of the axis that a region has: thin ones would fall to pieces."""
_FLATTENING = 1.25
"""Width of the tube, from side to side, over its height."""
_TAPER = 0.6
"""Radius at the ends of the tube over that of the first and the last region."""


@dataclass(frozen=True)
class Geometry:
    """The labelled voxels of one age, sorted by their position in the file."""

    dims: tuple[int, int, int]  # grid extent along x, y, z
    index: np.ndarray  # (n_voxels,), int64: linear positions, x fastest
    # (n_voxels,): acronym of the level-3 region (or ``"SpC"``) around each voxel.
    region: np.ndarray
    kind: np.ndarray  # (n_voxels,), int: `TISSUE`, `LUMEN`, `TRACT` or `UNASSIGNED`
    radius: np.ndarray  # (n_voxels,): distance to the axis, about 1 at the surface

    @property
    def coordinates(self) -> np.ndarray:
        """Grid indices x, y, z of each voxel, of shape (n_voxels, 3)."""
        nx, ny, _ = self.dims
        return np.column_stack([self.index % nx, self.index // nx % ny, self.index // (nx * ny)])


@dataclass(frozen=True)
class Axis:
    """A polyline in the midline's plane, with points of shape (n_points, 2)."""

    points: np.ndarray

    @property
    def length(self) -> float:
        """Length of the whole line."""
        return float(np.sqrt((np.diff(self.points, axis=0) ** 2).sum(axis=1)).sum())

    def follow(self, grid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the place along the line nearest to each voxel, and the distance to it."""
        nearest = np.full(len(grid), np.inf)
        along = np.zeros(len(grid))
        passed = 0.0
        for start, end in itertools.pairwise(self.points):
            step = end - start
            length = np.sqrt(step @ step)
            offset = grid[:, :2] - start
            place = np.clip(offset @ step / length, 0, length)
            squared = ((offset - place[:, None] * step / length) ** 2).sum(axis=1)
            nearer = squared < nearest
            nearest[nearer] = squared[nearer]
            along[nearer] = passed + place[nearer]
            passed += length
        return along, np.sqrt(nearest + grid[:, 2] ** 2)


def build_geometry(age: str, plan: PhantomAge) -> Geometry:
    """Build one age of the phantom, with the maturity of its name and the counts of the plan."""
    numbers = _count_kinds(plan)
    sizes = np.array([sum(counts.values()) for counts in numbers.values()])
    axis = _draw_axis(MATURITY[age], int(sizes.sum()))
    along, distance = axis.follow(_place_grid(plan.dims, axis))
    ends, radii = _shape_tube(sizes, axis.length)
    middles = (ends[:-1] + ends[1:]) / 2
    radius = distance / np.interp(along, np.r_[0, middles, axis.length], radii)
    region = np.full(len(radius), "", dtype=object)
    kind = np.zeros(len(radius), dtype=int)
    for name, size, (start, end) in zip(numbers, sizes, itertools.pairwise(ends), strict=True):
        within = np.flatnonzero((along > start) & (along < end))
        if len(within) < size:
            raise ValueError(f"dims={plan.dims} leave no room for {size} voxels of {name}.")
        chosen = within[np.argsort(radius[within], kind="stable")[:size]]
        region[chosen] = name
        kind[chosen] = np.repeat(list(numbers[name]), list(numbers[name].values()))
    index = np.flatnonzero(region != "")
    return Geometry(plan.dims, index, region[index].astype(str), kind[index], radius[index])


def _count_kinds(plan: PhantomAge) -> dict[str, dict[int, int]]:
    """Return for each region its numbers of voxels by kind, in order from the axis outwards."""
    largest = max(plan.region_voxels, key=plan.region_voxels.__getitem__)
    others = {TRACT: plan.tract_voxels, UNASSIGNED: plan.unassigned_voxels}
    return {
        name: {LUMEN: plan.lumen_voxels[name], **(others if name == largest else {}), TISSUE: size}
        for name, size in plan.region_voxels.items()
    }


def _shape_tube(sizes: np.ndarray, length: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the regions along the axis, and vertical radii of the tube.

    The radii are those at its front end, in the middle of each region and at its back end.
    """
    lengths = sizes**_LENGTH_POWER
    lengths = np.maximum(lengths, _SHORTEST * lengths.sum())
    lengths *= length / lengths.sum()
    # Half of an ellipse, as there is one side of the brain only.
    radii = np.sqrt(sizes / lengths * 2 / (np.pi * _FLATTENING))
    ends = np.concatenate([[0], np.cumsum(lengths)])
    return ends, np.concatenate([_TAPER * radii[:1], radii, _TAPER * radii[-1:]])


def _draw_axis(maturity: float, n_voxels: int) -> Axis:
    points = (1 - maturity) * np.array(_EMBRYONIC) + maturity * np.array(_ADULT)
    shares = np.linspace(0, 1, _N_PIECES + 1)
    axis = Axis(CubicSpline(np.linspace(0, 1, len(points)), points)(shares))
    length = (1 - maturity) * _EMBRYONIC_LENGTH + maturity * _ADULT_LENGTH
    return Axis(axis.points * n_voxels ** (1 / 3) * length / axis.length)


def _place_grid(dims: tuple[int, int, int], axis: Axis) -> np.ndarray:
    """Return the coordinates of the grid's voxels on one side, the midline at z = 0.

    The drawing is in the middle of the grid. z is divided by the flattening of the tube.
    """
    nx, ny, nz = dims
    z, y, x = np.meshgrid(np.arange(nz // 2 + 1), np.arange(ny), np.arange(nx), indexing="ij")
    grid = np.stack([x, y, z], axis=-1).reshape(-1, 3).astype(float)
    middle = (axis.points.min(axis=0) + axis.points.max(axis=0)) / 2
    grid[:, :2] += middle - (np.array([nx, ny]) - 1) / 2
    grid[:, 2] = (grid[:, 2] - nz // 2) / _FLATTENING
    return grid
