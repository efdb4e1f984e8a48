"""The tree of brain structures, and its mapping to regions of one level.

Parsing uses its own stack, so that a deep or malicious tree cannot exhaust Python's.

A structure belongs to its ancestor (or itself) at the given ``st_level``. Depth in the tree cannot
be used instead, since level-3 nodes are at two depths. If a parent and its child have the same
level, the parent is used, so that regions are never nested.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from sparsekm.atlas.listing import (
    EnvelopeError,
    open_envelope,
    read_json,
    read_list,
    read_text,
    require_id,
)
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


class Ontology:
    """Structures by id, with paths to the root.

    All parents of `structures` must be keys too. A cycle of parents is an `OntologyError`.
    """

    def __init__(self, structures: dict[int, Structure], source: str = "ontology"):
        self._structures = structures
        _refuse_cycles(structures, source)

    def __len__(self) -> int:
        return len(self._structures)

    def __contains__(self, structure_id: int) -> bool:
        return structure_id in self._structures

    def __getitem__(self, structure_id: int) -> Structure:
        return self._structures[structure_id]

    def __iter__(self):
        return iter(self._structures.values())

    def path(self, structure_id: int) -> list[Structure]:
        """Return the structure and its ancestors, from the root down to the structure itself."""
        steps = []
        step: int | None = structure_id
        while step is not None:
            structure = self._structures[step]
            steps.append(structure)
            step = structure.parent_id
        return steps[::-1]


def read_ontology(path: str | Path) -> Ontology:
    """Read the structure tree from a file."""
    return parse_ontology(read_json(path), str(path))


def parse_ontology(document: object, source: str = "ontology") -> Ontology:
    """Build the tree from the servers' envelope or from a bare list of roots.

    Structures are nested in their parent's ``children``, or flat with ``parent_structure_id``, or
    both. It is an `OntologyError` if the two contradict each other, an id occurs twice, or parents
    form a cycle.
    """
    waiting = [(row, None) for row in reversed(open_envelope(document, source))]
    if not waiting:
        raise OntologyError(f"{source}: n_structures=0 should be >= 1.")
    structures: dict[int, Structure] = {}
    while waiting:
        row, parent_id = waiting.pop()
        structure = _parse_structure(row, parent_id, len(structures), source)
        if structure.id in structures:
            raise OntologyError(f"{source}: id={structure.id} should occur once.")
        structures[structure.id] = structure
        for child in reversed(read_list(row, "children", f"{source}: structure {structure.id}")):
            waiting.append((child, structure.id))
    return Ontology(_cut_loose_roots(structures), source)


def _parse_structure(row: dict, nested_in: int | None, order: int, source: str) -> Structure:
    structure_id = require_id(row.get("id"), "id", source)
    parent_id = row.get("parent_structure_id")
    if parent_id is not None:
        parent_id = require_id(parent_id, "parent_structure_id", source)
    if nested_in is not None and parent_id not in (None, nested_in):
        raise OntologyError(
            f"{source}: parent_structure_id={parent_id} of id={structure_id} should be "
            f"{nested_in}, since it is one of its children."
        )
    level = row.get("st_level")
    if level is not None and (isinstance(level, bool) or not isinstance(level, int)):
        raise EnvelopeError(
            f"{source}: st_level={level!r} of id={structure_id} should be an integer or null."
        )
    position = row.get("graph_order")
    where = f"{source}: structure {structure_id}"
    color = read_text(row, "color_hex_triplet", where) or "888888"
    if not _COLOR.fullmatch(color):
        raise OntologyError(
            f"{where}: color_hex_triplet={color[:60]!r} should be six hexadecimal digits."
        )
    return Structure(
        id=structure_id,
        acronym=read_text(row, "acronym", where).strip() or str(structure_id),
        name=read_text(row, "name", where),
        st_level=level,
        parent_id=nested_in if nested_in is not None else parent_id,
        color=color,
        order=position if isinstance(position, int) else order,
    )


def _cut_loose_roots(structures: dict[int, Structure]) -> dict[int, Structure]:
    """Remove parents that are not in the file; their children become roots."""
    return {
        key: node if node.parent_id in structures else replace(node, parent_id=None)
        for key, node in structures.items()
    }


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


@dataclass(frozen=True)
class Region:
    """The tissue and region of a structure."""

    tissue: str  # ``"brain"``, ``"spinal_cord"``, ``"ventricle"``, ``"tract"`` or ``"unassigned"``
    structure: Structure | None  # the region; None for an unassigned structure


def assign_region(ontology: Ontology, structure_id: int, level: int = REGION_LEVEL) -> Region:
    """Find the region of a structure, with ``st_level`` equal to `level`.

    Under the neural plate it is the ancestor at that level. If there is none, the spinal cord is
    its own region and other structures are unassigned, as are unknown ids. Ventricles and tracts
    without such an ancestor belong to the top of their trees.
    """
    if structure_id not in ontology:
        return Region(UNASSIGNED, None)
    path = ontology.path(structure_id)
    at_level = next((node for node in path if node.st_level == level), None)
    by_id = {node.id: node for node in path}
    if SPINAL_CORD_ID in by_id:
        return Region("spinal_cord", at_level or by_id[SPINAL_CORD_ID])
    if NEURAL_PLATE_ID in by_id:
        return Region("brain", at_level) if at_level else Region(UNASSIGNED, None)
    if VENTRICLES_ID in by_id:
        return Region("ventricle", at_level or path[min(path.index(by_id[VENTRICLES_ID]) + 1,
                                                        len(path) - 1)])  # fmt: skip
    if TRACTS_ID in by_id:
        return Region("tract", at_level or by_id[TRACTS_ID])
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
    """Map an annotation volume, structure ids with 0 for unannotated, to regions.

    `tissue` are the classes to keep, of ``brain, spinal_cord, ventricle, tract``.
    """
    wanted = _check_tissue(tissue)
    flat = np.asarray(annotation).ravel()
    if not np.issubdtype(flat.dtype, np.integer):
        raise TypeError(
            f"annotation dtype={flat.dtype} should be an integer type: floats lose ids."
        )
    ids, inverse, n_each = np.unique(flat, return_inverse=True, return_counts=True)
    assigned = [None if i == 0 else assign_region(ontology, int(i), level) for i in ids]
    kept = [region is not None and region.tissue in wanted for region in assigned]
    if not any(kept):
        raise ValueError(f"the annotation has no voxel of tissue={', '.join(wanted)}.")
    table, row_of = _tabulate([r for r, keep in zip(assigned, kept, strict=True) if keep])
    row = np.array(
        [row_of[r.structure.id] if keep else -1 for r, keep in zip(assigned, kept, strict=True)]
    )[inverse.ravel()]
    index = np.flatnonzero(row >= 0)
    region = row[index]
    table["n_voxels"] = np.bincount(region, minlength=len(table))
    return RegionMap(index, region, table, _count_classes(ids, n_each, assigned, ontology))


def _check_tissue(tissue: Iterable[str]) -> tuple[str, ...]:
    wanted = (tissue,) if isinstance(tissue, str) else tuple(tissue)
    for name in wanted:
        if name not in TISSUES:
            raise ValueError(f"tissue={name!r} should be one of {', '.join(TISSUES)}.")
    if not wanted:
        raise ValueError(f"tissue=() should name at least one of {', '.join(TISSUES)}.")
    return wanted


def _tabulate(regions: list[Region]) -> tuple[pd.DataFrame, dict[int, int]]:
    unique = {region.structure.id: region for region in regions}
    ordered = sorted(unique.values(), key=lambda r: (r.structure.order, r.structure.id))
    table = pd.DataFrame(
        {
            "acronym": [r.structure.acronym for r in ordered],
            "name": [r.structure.name for r in ordered],
            "id": np.array([r.structure.id for r in ordered], dtype=np.int64),
            "color": [f"#{r.structure.color}" for r in ordered],
            "tissue": [r.tissue for r in ordered],
        }
    )
    return table, {r.structure.id: row for row, r in enumerate(ordered)}


def _count_classes(
    ids: np.ndarray, n_each: np.ndarray, assigned: list[Region | None], ontology: Ontology
) -> dict[str, int]:
    counts = dict.fromkeys((*TISSUES, UNASSIGNED, UNANNOTATED, "unknown_ids"), 0)
    for structure_id, n, region in zip(ids, n_each, assigned, strict=True):
        counts[UNANNOTATED if region is None else region.tissue] += int(n)
        if region is not None and int(structure_id) not in ontology:
            counts["unknown_ids"] += int(n)
    return counts
