"""The tree of brain structures, and its mapping to regions of one level.

A structure belongs to its highest ancestor (or itself) at the given ``st_level``, which may be at
any depth: regions are never nested.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd

from sparsekm.atlas import REGION_LEVEL, SPINAL_CORD_ID, TISSUES, TRACTS_ID
from sparsekm.atlas.listing import read_field, require_field
from sparsekm.io.input_error import InputError

NEURAL_PLATE_ID = 15565
VENTRICLES_ID = 126651558
_COLOR = re.compile(r"[0-9A-Fa-f]{6}")


class OntologyError(InputError):
    """An invalid structure tree."""


class Structure(NamedTuple):
    """One node of the tree."""

    id: int
    acronym: str
    name: str
    # Level of the structure in the atlas's own scheme; many branches skip levels.
    st_level: int | None
    parent_id: int | None  # None for a root
    color: str  # six hexadecimal digits, without ``#``
    order: int  # position in the canonical order of the atlas


class Ontology(dict[int, Structure]):
    """Structures by id."""

    def path(self, structure_id: int) -> list[Structure]:
        """Return the structure and its ancestors, from the root down to the structure itself."""
        steps, step = [], self.get(structure_id)
        while step is not None:
            steps.append(step)
            step = self.get(step.parent_id)
        return steps[::-1]


def parse_ontology(rows: list[dict], source: str = "ontology") -> Ontology:
    """Build the tree from its roots, whose descendants are nested in ``children``.

    If there is none, an id occurs twice, or a colour is invalid, raise an `OntologyError`.
    """
    ontology = Ontology()
    # An own stack, so that a deep tree cannot exhaust Python's.
    waiting = [(row, None) for row in reversed(rows)]
    while waiting:
        row, parent_id = waiting.pop()
        structure_id = require_field(row, "id", "id", source)
        where = f"{source}: structure {structure_id}"
        if structure_id in ontology:
            raise OntologyError(f"{source}: id={structure_id} should occur once.")
        acronym, name, color = (
            read_field(row, key, "text", where) for key in ("acronym", "name", "color_hex_triplet")
        )
        if color and not _COLOR.fullmatch(color):
            raise OntologyError(
                f"{where}: color_hex_triplet={color[:60]!r} should be six hexadecimal digits."
            )
        order = read_field(row, "graph_order", "count", where)
        ontology[structure_id] = Structure(
            id=structure_id,
            acronym=acronym.strip() or str(structure_id),
            name=name,
            st_level=read_field(row, "st_level", "count", where),
            parent_id=parent_id,
            color=color or "888888",
            order=len(ontology) if order is None else order,
        )
        children = read_field(row, "children", "rows", where)
        waiting += [(child, structure_id) for child in reversed(children)]
    if not ontology:
        raise OntologyError(f"{source}: n_structures=0 should be >= 1.")
    return ontology


# The tissue below each top of the tree, and how far below it a structure without an ancestor at the
# level has its region (None: it has none). The spinal cord is part of the neural plate.
_TOPS = {
    SPINAL_CORD_ID: ("spinal_cord", 0),
    NEURAL_PLATE_ID: ("brain", None),
    VENTRICLES_ID: ("ventricle", 1),
    TRACTS_ID: ("tract", 0),
}


def assign_region(
    ontology: Ontology, structure_id: int, level: int = REGION_LEVEL
) -> tuple[str, Structure | None]:
    """Find tissue and region of a structure: its ancestor at the level, or else that of `_TOPS`.

    Unknown ids are "unassigned", without a region, as are structures of the brain above the level.
    """
    path = ontology.path(structure_id)
    ids = [node.id for node in path]
    region = next((node for node in path if node.st_level == level), None)
    for top, (tissue, below) in _TOPS.items():
        if top in ids:
            if region is None and below is not None:
                region = path[min(ids.index(top) + below, len(path) - 1)]
            return (tissue if region else "unassigned"), region
    return "unassigned", None


class RegionMap(NamedTuple):
    """The annotated voxels of the selected tissue, and counts of all others."""

    index: np.ndarray  # (n_voxels,), int64: linear positions in the file, ascending
    region: np.ndarray  # (n_voxels,), int: the row of `table` to which each voxel belongs
    # One row per region present, in the ontology's order: acronym, name, id, color
    # (``"#RRGGBB"``), tissue, n_voxels.
    table: pd.DataFrame
    # Voxels per tissue class, with "unassigned" (such as unknown ids) and "unannotated".
    counts: dict[str, int]


def map_regions(
    annotation: np.ndarray,
    ontology: Ontology,
    *,
    level: int = REGION_LEVEL,
    tissue: Iterable[str] = ("brain", "spinal_cord"),
) -> RegionMap:
    """Map an annotation volume (0 is unannotated) to regions; `tissue` are the classes to keep."""
    wanted = tuple(tissue)
    ids, inverse, n_each = np.unique(annotation, return_inverse=True, return_counts=True)
    # 0 is in no tree.
    found = [assign_region(ontology, int(i), level) if i else ("unannotated", None) for i in ids]
    kept = {region: name for name, region in found if name in wanted}
    if not kept:
        raise ValueError(f"the annotation has no voxel of tissue={', '.join(wanted)}.")
    ordered = sorted(kept, key=lambda region: (region.order, region.id))
    row = np.array([ordered.index(r) if r in kept else -1 for _, r in found])[inverse.ravel()]
    index = np.flatnonzero(row >= 0)
    table = pd.DataFrame(ordered, columns=list(Structure._fields))
    table = table[["acronym", "name", "id", "color"]].assign(
        color="#" + table["color"],
        tissue=[kept[region] for region in ordered],
        n_voxels=np.bincount(row[index], minlength=len(ordered)),
    )
    counts = dict.fromkeys((*TISSUES, "unassigned", "unannotated"), 0)
    for n, (name, _) in zip(n_each.tolist(), found, strict=True):
        counts[name] += n
    return RegionMap(index, row[index], table, counts)
