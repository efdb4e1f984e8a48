"""The phantom's brain: regions along a bent axis, and the tree of its structures.

Brain and spinal cord are a tube around the neuraxis, bent before birth. Each region has a piece of
the axis and the voxels nearest to it, so that every count is exact. The innermost voxels become
ventricle.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline

from sparsekm.atlas import ONTOLOGY_ID, ROOT_ID, SPINAL_CORD_ID, TRACTS_ID
from sparsekm.atlas.listing import write_envelope
from sparsekm.atlas.phantom import AGE_ROWS, STRUCTURES, PhantomAge

TISSUE, LUMEN, TRACT, UNASSIGNED = range(4)

# Side view of the axis, from the front end to the spinal cord, with y downwards, in any unit,
# before birth and in the adult.
_SHAPES = np.array(
    [
        [(0.00, 0.24), (0.08, 0.05), (0.25, 0.00), (0.37, 0.15), (0.41, 0.40), (0.38, 0.70)],
        [(0.00, 0.16), (0.20, 0.10), (0.40, 0.12), (0.60, 0.18), (0.80, 0.20), (1.00, 0.22)],
    ]
)
# Length of the axis, for a brain of one voxel.
_LENGTHS = 3.7, 2.3
_N_PIECES = 30
_LENGTH_POWER = 0.65
"""Of two regions, the larger one is longer by the ratio of sizes to this power."""
_SHORTEST = 0.025
"""The smallest share of the axis for a region, because thin regions would fall to pieces."""
_FLATTENING = 1.25
"""Width of the tube, from side to side, divided by its height."""
_TAPER = 0.6
"""Radius at the ends of the tube, divided by the radius of the first and the last region."""


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
        return np.column_stack(np.unravel_index(self.index, self.dims, order="F"))


def build_geometry(age: str, plan: PhantomAge) -> Geometry:
    """Build one age of the phantom, with the maturity of its name and the counts of the plan."""
    largest = max(plan.region_voxels, key=plan.region_voxels.__getitem__)
    others = {TRACT: plan.tract_voxels, UNASSIGNED: plan.unassigned_voxels}
    # The voxels of each region by kind, in order from the axis outwards.
    numbers = {
        name: {LUMEN: plan.lumen_voxels[name], **(others if name == largest else {}), TISSUE: size}
        for name, size in plan.region_voxels.items()
    }
    sizes = np.array([sum(counts.values()) for counts in numbers.values()])
    axis = _draw_axis(float(AGE_ROWS[age]["maturity"]), int(sizes.sum()))
    along, distance = _follow(axis, _place_grid(plan.dims, axis))
    ends, radii = _shape_tube(sizes, float(_lengths(axis).sum()))
    middles = np.r_[0, (ends[:-1] + ends[1:]) / 2, ends[-1]]
    radius = distance / np.interp(along, middles, radii)
    region = np.full(len(radius), "", dtype=object)
    kind = np.zeros(len(radius), dtype=int)
    for name, size, (start, end) in zip(numbers, sizes, itertools.pairwise(ends), strict=True):
        within = np.flatnonzero((along > start) & (along < end))
        chosen = within[np.argsort(radius[within], kind="stable")[:size]]
        region[chosen] = name
        kind[chosen] = np.repeat(list(numbers[name]), list(numbers[name].values()))
    index = np.flatnonzero(region != "")
    return Geometry(plan.dims, index, region[index].astype(str), kind[index], radius[index])


def _lengths(axis: np.ndarray) -> np.ndarray:
    """Return the lengths of the pieces of a polyline, points of shape (n_points, 2)."""
    return np.sqrt((np.diff(axis, axis=0) ** 2).sum(axis=1))


def _draw_axis(maturity: float, n_voxels: int) -> np.ndarray:
    points = (1 - maturity) * _SHAPES[0] + maturity * _SHAPES[1]
    shares = np.linspace(0, 1, _N_PIECES + 1)
    axis = CubicSpline(np.linspace(0, 1, len(points)), points)(shares)
    length = (1 - maturity) * _LENGTHS[0] + maturity * _LENGTHS[1]
    return axis * n_voxels ** (1 / 3) * length / float(_lengths(axis).sum())


def _place_grid(dims: tuple[int, int, int], axis: np.ndarray) -> np.ndarray:
    """Return the voxels of one side, with the drawing in the middle and z over the flattening."""
    nx, ny, nz = dims
    z, y, x = np.indices((nz // 2 + 1, ny, nx)).reshape(3, -1).astype(float)
    middle = (axis.min(axis=0) + axis.max(axis=0)) / 2 - (np.array([nx, ny]) - 1) / 2
    return np.column_stack([x + middle[0], y + middle[1], (z - nz // 2) / _FLATTENING])


def _follow(axis: np.ndarray, grid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the position along a polyline nearest to each voxel, and the distance."""
    nearest, along, passed = np.full(len(grid), np.inf), np.zeros(len(grid)), 0.0
    for start, end in itertools.pairwise(axis):
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


def _shape_tube(sizes: np.ndarray, length: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the regions along the axis, and the radii there and in their middles."""
    lengths = sizes**_LENGTH_POWER
    lengths = np.maximum(lengths, _SHORTEST * lengths.sum())
    lengths *= length / lengths.sum()
    # The section is half an ellipse, because there is only one side of the brain.
    radii = np.sqrt(sizes / lengths * 2 / (np.pi * _FLATTENING))
    return np.r_[0, np.cumsum(lengths)], np.r_[_TAPER * radii[0], radii, _TAPER * radii[-1]]


UPPER = {
    r["acronym"]: (int(r["id"]), r["name"], r["color"], int(r["level"]), r["parent"] or None)
    for r in STRUCTURES
}
"""The id, name, colour, level and parent of each structure by its acronym."""
# The ventricles repeat the tree; their ids cannot be derived.
VENTRICLE_IDS = {row["acronym"]: int(row["ventricle_id"]) for row in STRUCTURES}

# Level of each part of a region by its suffix; the parent has the suffix without its last letter.
_PARTS = {"xA": 5, "xAn": 7, "xAm": 9, "xB": 5, "xBn": 7, "xBm": 9, "xBmp": 10}
_FIRST_INVENTED_ID = 990_000_001
_SMALL_INVENTED_ID = 990_001
INVENTED_TRACT_ID = 990_009_001
UNKNOWN_ID = 990_009_999
"""An id in annotations that is not in the tree."""


def _part_id(region: str, suffix: str) -> int:
    """Id of an invented part of a region; level-7 parts stay below 2**24, the others above."""
    first = _SMALL_INVENTED_ID if _PARTS[suffix] == 7 else _FIRST_INVENTED_ID
    return first + 10 * list(UPPER).index(region) + list(_PARTS).index(suffix) + 1


def label_voxels(age: str, geometry: Geometry) -> np.ndarray:
    """Assign the id (uint32) of a structure to every voxel: a part of its region or its ventricle.

    Unassigned voxels get the forebrain (above level 3) or an id that is not in the tree.
    """
    labels = np.zeros(len(geometry.index), dtype=np.uint32)
    # The inner voxels of a region belong to these parts.
    inner = [AGE_ROWS[age][f"{side}_part"] for side in ("dorsal", "ventral")]
    y = geometry.coordinates[:, 1]
    deep = geometry.radius < np.median(geometry.radius)
    for region in np.unique(geometry.region):
        here = geometry.region == region
        dorsal = y < np.median(y[here])
        if region == "SpC":
            labels[here] = np.where(dorsal[here], _part_id(region, "xA"), SPINAL_CORD_ID)
        else:
            parts = np.array([[_part_id(region, p) for p in ps] for ps in (("xA", "xB"), inner)])
            labels[here] = parts[deep[here].astype(int), (~dorsal[here]).astype(int)]
        labels[here & (geometry.kind == LUMEN)] = VENTRICLE_IDS[region]
    labels[geometry.kind == TRACT] = INVENTED_TRACT_ID
    unassigned = np.flatnonzero(geometry.kind == UNASSIGNED)
    labels[unassigned[0::2]] = UPPER["F"][0]
    labels[unassigned[1::2]] = UNKNOWN_ID
    return labels


def ontology_document() -> bytes:
    """Write the tree in the servers' format: one root in the JSON envelope."""
    root = _add_node(None, ROOT_ID, "mouse", "Mus musculus", "FFFFFF", None)
    nodes = {None: root}
    for acronym, (node_id, name, color, level, parent) in UPPER.items():
        nodes[acronym] = _add_node(nodes[parent], node_id, acronym, name, color, level)
        if level == 3 or acronym == "SpC":
            parts = {"x": nodes[acronym]}
            for suffix, below in _PARTS.items():
                title = f"phantom part {suffix[1:]} of {name}"
                own = _part_id(acronym, suffix), f"{acronym}{suffix}", title, color, below
                parts[suffix] = _add_node(parts[suffix[:-1]], *own)
    tracts = _add_node(root, TRACTS_ID, "tracts", "landmark tracts", "CCCCCC", 0)
    _add_node(tracts, INVENTED_TRACT_ID, "pht", "phantom tract", "BBBBBB", 12)
    for acronym, node_id in VENTRICLE_IDS.items():
        _, name, color, level, parent = UPPER[acronym]
        own = "ventricles" if parent is None else f"v_{acronym}", f"ventricles, {name}"
        nodes[acronym] = _add_node(nodes[parent], node_id, *own, color, level)
    waiting, position = [root], itertools.count()
    while waiting:
        node = waiting.pop()
        node["graph_order"] = next(position)
        waiting += reversed(node["children"])
    return write_envelope([root])


def _add_node(
    parent: dict | None, node_id: int, acronym: str, name: str, color: str, level: int | None
) -> dict:
    """Make a node, and add it to the children of its parent."""
    node = {
        **{"id": node_id, "atlas_id": None, "ontology_id": ONTOLOGY_ID},
        **{"acronym": acronym, "name": name, "color_hex_triplet": color, "graph_order": 0},
        **{"st_level": level, "hemisphere_id": 3},
        **{"parent_structure_id": parent["id"] if parent else None, "children": []},
    }
    if parent:
        parent["children"].append(node)
    return node
