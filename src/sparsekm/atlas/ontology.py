"""The tree of brain structures, as sent by `structure_graph_download`.

Parsing uses its own stack, so that a deep or malicious tree cannot exhaust Python's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from sparsekm.atlas.envelope import (
    EnvelopeError,
    open_envelope,
    read_json,
    read_text,
    require_id,
)
from sparsekm.io.input_error import InputError

MAX_DEPTH = 100

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
    both. It is an `OntologyError` if the two contradict each other, an id occurs twice, the tree is
    deeper than `MAX_DEPTH`, or parents form a cycle.
    """
    waiting = [(row, None, 1) for row in reversed(open_envelope(document, source))]
    if not waiting:
        raise OntologyError(f"{source}: n_structures=0 should be >= 1.")
    structures: dict[int, Structure] = {}
    while waiting:
        row, parent_id, depth = waiting.pop()
        structure = _parse_structure(row, parent_id, len(structures), source)
        if structure.id in structures:
            raise OntologyError(f"{source}: id={structure.id} should occur once.")
        if depth > MAX_DEPTH:
            raise OntologyError(f"{source}: depth={depth} at id={structure.id} should be "
                                f"<= {MAX_DEPTH}.")  # fmt: skip
        structures[structure.id] = structure
        for child in reversed(_children(row, source)):
            waiting.append((child, structure.id, depth + 1))
    return Ontology(_cut_loose_roots(structures), source)


def _children(row: dict, source: str) -> list[dict]:
    children = row.get("children") or []
    if not isinstance(children, list) or not all(isinstance(child, dict) for child in children):
        raise OntologyError(f"{source}: children of id={row['id']} should be a list of objects.")
    return children


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
