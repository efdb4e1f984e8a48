"""The tree of brain structures, and its mapping to regions of one level.

A structure belongs to its ancestor (or itself) at the given ``st_level``. Depth in the tree cannot
be used instead, since level-3 nodes are at two depths. If a parent and its child have the same
level, the parent is used, so that regions are never nested.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from sparsekm.atlas import listing
from sparsekm.atlas.vocabulary import (
    NEURAL_PLATE_ID,
    REGION_LEVEL,
    SPINAL_CORD_ID,
    TISSUES,
    TRACTS_ID,
    VENTRICLES_ID,
)
from sparsekm.io.input_error import InputError

_COLOR = re.compile(r"[0-9A-Fa-f]{6}")


class OntologyError(InputError):
    """An invalid structure tree."""


@dataclass(frozen=True)
class Structure:
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
    """Structures by id, without cycles, whose parents are among them."""

    def path(self, structure_id: int) -> list[Structure]:
        """Return the structure and its ancestors, from the root down to the structure itself."""
        steps, step = [], self.get(structure_id)
        while step is not None:
            steps.append(step)
            step = None if step.parent_id is None else self[step.parent_id]
        return steps[::-1]


def parse_ontology(document: object, source: str = "ontology") -> Ontology:
    """Build the tree from the servers' envelope or from a bare list of roots.

    Structures are nested in their parent's ``children``, or flat with ``parent_structure_id``. If
    the two contradict each other, an id occurs twice, or parents form a cycle: `OntologyError`.
    """
    # An own stack, so that a deep or malicious tree cannot exhaust Python's.
    waiting = [(row, None) for row in reversed(listing.open_envelope(document, source))]
    if not waiting:
        raise OntologyError(f"{source}: n_structures=0 should be >= 1.")
    structures: dict[int, Structure] = {}
    while waiting:
        row, parent_id = waiting.pop()
        structure = _parse_structure(row, parent_id, len(structures), source)
        if structure.id in structures:
            raise OntologyError(f"{source}: id={structure.id} should occur once.")
        structures[structure.id] = structure
        where = f"{source}: structure {structure.id}"
        for child in reversed(listing.read_list(row, "children", where)):
            waiting.append((child, structure.id))
    # Parents that are not in the file are removed; their children become roots.
    linked = Ontology(
        (key, node if node.parent_id in structures else replace(node, parent_id=None))
        for key, node in structures.items()
    )
    _refuse_cycles(linked, source)
    return linked


def _parse_structure(row: dict, nested_in: int | None, order: int, source: str) -> Structure:
    structure_id = listing.require_id(row.get("id"), "id", source)
    parent_id = listing.read_id(row, "parent_structure_id", source)
    if nested_in is not None and parent_id not in (None, nested_in):
        raise OntologyError(
            f"{source}: parent_structure_id={parent_id} of id={structure_id} should be "
            f"{nested_in}, since it is one of its children."
        )
    level = row.get("st_level")
    if level is not None and not listing.is_whole(level):
        raise listing.EnvelopeError(
            f"{source}: st_level={level!r} of id={structure_id} should be an integer or null."
        )
    position = row.get("graph_order")
    where = f"{source}: structure {structure_id}"
    color = listing.read_text(row, "color_hex_triplet", where) or "888888"
    if not _COLOR.fullmatch(color):
        raise OntologyError(
            f"{where}: color_hex_triplet={color[:60]!r} should be six hexadecimal digits."
        )
    return Structure(
        id=structure_id,
        acronym=listing.read_text(row, "acronym", where).strip() or str(structure_id),
        name=listing.read_text(row, "name", where),
        st_level=level,
        parent_id=nested_in if nested_in is not None else parent_id,
        color=color,
        order=position if isinstance(position, int) else order,
    )


def _refuse_cycles(structures: dict[int, Structure], source: str) -> None:
    settled: set[int] = set()
    for start in structures:
        trail: dict[int, None] = {}
        step: int | None = start
        while step is not None and step not in settled:
            if step in trail:
                raise OntologyError(f"{source}: id={step} should not be its own ancestor.")
            trail[step] = None
            step = structures[step].parent_id
        settled.update(trail)


UNASSIGNED = "unassigned"
UNANNOTATED = "unannotated"


class Region(NamedTuple):
    """The tissue and region of a structure."""

    tissue: str  # one of `TISSUES`, or ``"unassigned"``
    structure: Structure | None  # the region; None for an unassigned structure


def assign_region(ontology: Ontology, structure_id: int, level: int = REGION_LEVEL) -> Region:
    """Find the region of a structure, with ``st_level`` equal to `level`.

    Under the neural plate it is the ancestor at that level. If there is none, the spinal cord is
    its own region and other structures are unassigned, as are unknown ids. Ventricles and tracts
    without such an ancestor belong to the top of their trees.
    """
    path = ontology.path(structure_id)
    at_level = next((node for node in path if node.st_level == level), None)
    ids = [node.id for node in path]
    if SPINAL_CORD_ID in ids:
        return Region("spinal_cord", at_level or ontology[SPINAL_CORD_ID])
    if NEURAL_PLATE_ID in ids:
        return Region("brain" if at_level else UNASSIGNED, at_level)
    if VENTRICLES_ID in ids:
        below_top = min(ids.index(VENTRICLES_ID) + 1, len(path) - 1)
        return Region("ventricle", at_level or path[below_top])
    if TRACTS_ID in ids:
        return Region("tract", at_level or ontology[TRACTS_ID])
    return Region(UNASSIGNED, None)


@dataclass(frozen=True)
class RegionMap:
    """The annotated voxels of the selected tissue, and counts of all others."""

    index: np.ndarray  # (n_voxels,), int64: linear positions in the file, ascending
    region: np.ndarray  # (n_voxels,), int: the row of `table` to which each voxel belongs
    # One row per region present, in the ontology's order: acronym, name, id, color
    # (``"#RRGGBB"``), tissue, n_voxels.
    table: pd.DataFrame
    # Voxels per tissue class, with ``"unassigned"``, ``"unannotated"`` and ``"unknown_ids"``
    # (voxels with ids that are not in the ontology, a subset of the unassigned).
    counts: dict[str, int]


def map_regions(
    annotation: np.ndarray,
    ontology: Ontology,
    *,
    level: int = REGION_LEVEL,
    tissue: Iterable[str] = ("brain", "spinal_cord"),
) -> RegionMap:
    """Map an annotation volume (0 is unannotated) to regions; `tissue` are the classes to keep."""
    wanted = _check_tissue(tissue)
    flat = np.asarray(annotation).ravel()
    if not np.issubdtype(flat.dtype, np.integer):
        raise TypeError(
            f"annotation dtype={flat.dtype} should be an integer type: floats lose ids."
        )
    ids, inverse, n_each = np.unique(flat, return_inverse=True, return_counts=True)
    assigned = [None if i == 0 else assign_region(ontology, int(i), level) for i in ids]
    kept = {r.structure.id: r for r in assigned if r is not None and r.tissue in wanted}
    if not kept:
        raise ValueError(f"the annotation has no voxel of tissue={', '.join(wanted)}.")
    ordered = sorted(kept.values(), key=lambda r: (r.structure.order, r.structure.id))
    row_of = {region: row for row, region in enumerate(ordered)}
    row = np.array([row_of.get(region, -1) for region in assigned])[inverse.ravel()]
    index = np.flatnonzero(row >= 0)
    structures = [region.structure for region in ordered]
    table = pd.DataFrame(
        {
            "acronym": [structure.acronym for structure in structures],
            "name": [structure.name for structure in structures],
            "id": np.array([structure.id for structure in structures], dtype=np.int64),
            "color": [f"#{structure.color}" for structure in structures],
            "tissue": [region.tissue for region in ordered],
            "n_voxels": np.bincount(row[index], minlength=len(ordered)),
        }
    )
    counts = dict.fromkeys((*TISSUES, UNASSIGNED, UNANNOTATED, "unknown_ids"), 0)
    for structure_id, n, region in zip(ids, n_each, assigned, strict=True):
        counts[UNANNOTATED if region is None else region.tissue] += int(n)
        if region is not None and int(structure_id) not in ontology:
            counts["unknown_ids"] += int(n)
    return RegionMap(index, row[index], table, counts)


def _check_tissue(tissue: Iterable[str]) -> tuple[str, ...]:
    wanted = (tissue,) if isinstance(tissue, str) else tuple(tissue)
    for name in wanted:
        if name not in TISSUES:
            raise ValueError(f"tissue={name!r} should be one of {', '.join(TISSUES)}.")
    if not wanted:
        raise ValueError(f"tissue=() should name at least one of {', '.join(TISSUES)}.")
    return wanted
