"""Slices through a labelled voxel grid: which ones to show, and their images in millimetres.

Grid axes are those of the Allen developing-mouse grids: x runs from anterior to posterior, y from
dorsal to ventral, z from left to right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

AXES = ("x", "y", "z")
_MIN_VOXELS_SHOWN = 3


@dataclass(frozen=True)
class Plane:
    """A family of parallel slices: the axis it cuts, and the axes drawn right and down."""

    name: str
    cut: str
    right: str
    down: str


PLANES = (
    Plane("sagittal", cut="z", right="x", down="y"),
    Plane("coronal", cut="x", right="z", down="y"),
    Plane("horizontal", cut="y", right="x", down="z"),
)


@dataclass(frozen=True)
class Slice:
    """One slice: the voxels on it, as image positions."""

    plane: Plane
    index: int  # grid index along the cut axis
    position: float  # the same place in millimetres
    voxels: np.ndarray  # (v,): rows of obs that lie on the slice
    # (v,): their pixels.
    rows: np.ndarray
    columns: np.ndarray
    shape: tuple[int, int]
    spacing: tuple[float, float]  # height and width of a pixel in millimetres

    @property
    def size_mm(self) -> tuple[float, float]:
        """Height and width of the image in millimetres."""
        return self.shape[0] * self.spacing[0], self.shape[1] * self.spacing[1]

    def image(self, values: np.ndarray) -> np.ndarray:
        """Lay per-voxel codes (n,) out as an int image of ``shape``; -1 is outside the brain."""
        image = np.full(self.shape, -1, dtype=np.int64)
        image[self.rows, self.columns] = np.asarray(values)[self.voxels]
        return image


def grid_spacing(obs: pd.DataFrame, spatial: np.ndarray) -> dict[str, float]:
    """Return the millimetres per grid step along each axis, 1.0 if all voxels have one index.

    `obs` has the grid indices x, y, z, and `spatial`, of shape (n, 3), the coordinates in
    millimetres.
    """
    spacing = {}
    for column, axis in enumerate(AXES):
        indices = obs[axis].to_numpy()
        low, high = np.argmin(indices), np.argmax(indices)
        steps = int(indices[high]) - int(indices[low])
        length = float(spatial[high, column] - spatial[low, column])
        spacing[axis] = abs(length) / steps if steps else 1.0
    return spacing


def richest_slice(
    obs: pd.DataFrame, spatial: np.ndarray, regions: np.ndarray, plane: Plane
) -> Slice:
    """Return the slice of a plane with the most regions; ties go to the slice nearest the middle.

    A region counts if the slice has at least three of its voxels. `obs` and `spatial` are as in
    `grid_spacing`.
    """
    cut = obs[plane.cut].to_numpy()
    table = pd.crosstab(cut, pd.Series(regions, index=obs.index).to_numpy())
    shown = (table >= _MIN_VOXELS_SHOWN).sum(axis=1)
    distance = pd.Series(np.abs(shown.index - np.median(cut)), index=shown.index)
    best = shown[shown == shown.max()].index
    index = int(distance[best].idxmin())
    return _cut(obs, spatial, plane, index)


def _cut(obs: pd.DataFrame, spatial: np.ndarray, plane: Plane, index: int) -> Slice:
    spacing = grid_spacing(obs, spatial)
    down, right = obs[plane.down].to_numpy(), obs[plane.right].to_numpy()
    voxels = np.flatnonzero(obs[plane.cut].to_numpy() == index)
    down, right = down[voxels], right[voxels]
    return Slice(
        plane=plane,
        index=index,
        position=float(spatial[voxels[0], AXES.index(plane.cut)]),
        voxels=voxels,
        rows=down - down.min(),
        columns=right - right.min(),
        shape=(int(np.ptp(down)) + 1, int(np.ptp(right)) + 1),
        spacing=(spacing[plane.down], spacing[plane.right]),
    )


def boundary_lines(image: np.ndarray, spacing: tuple[float, float]) -> np.ndarray:
    """Return the lines at which an integer image changes its value; -1 is outside.

    Collinear edges of neighbouring pixels are joined to keep drawings small. The result has shape
    (n_lines, 2, 2): the ends of each line as (right, down) in the unit of `spacing`, the height and
    width of a pixel.
    """
    padded = np.pad(image, 1, constant_values=-1)
    level = _join_edges(padded[1:, 1:-1] != padded[:-1, 1:-1])
    upright = _join_edges((padded[1:-1, 1:] != padded[1:-1, :-1]).T)[:, :, ::-1]
    return np.concatenate([level, upright]) * np.array([spacing[1], spacing[0]])


def _join_edges(edges: np.ndarray) -> np.ndarray:
    """Return the ends (start, row), (stop, row) of every run along the rows of a bool array."""
    steps = np.diff(np.pad(edges.astype(np.int8), [(0, 0), (1, 1)]), axis=1)
    row, start = np.nonzero(steps == 1)
    stop = np.nonzero(steps == -1)[1]
    ends = [np.column_stack([start, row]), np.column_stack([stop, row])]
    return np.stack(ends, axis=1).astype(np.float64)


def scale_bar_length(width: float) -> float:
    """Return a round length (1, 2 or 5 times a power of ten) of about a quarter of a width.

    Examples
    --------
    >>> scale_bar_length(9.0)
    2.0
    """
    target = width / 4
    power = 10.0 ** np.floor(np.log10(target))
    return float(max(step * power for step in (1, 2, 5) if step * power <= target * (1 + 1e-9)))
