"""The servers' answers: their JSON envelope, the data sets of an age, the genes, the structures.

A failed query has HTTP status 200: only ``"success": false`` in its envelope shows that it failed.
A structure belongs to its highest ancestor (or itself) at the ``st_level``, which may be at any
depth, so regions are never nested.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from sparsekm.atlas import AGES, REGION_LEVEL, SPINAL_CORD_ID, TISSUES, TRACTS_ID, TREATMENT
from sparsekm.io.input_error import InputError, is_storable

MOST_TEXT = 10_000
"""Maximum characters of a name or of the aliases of a gene."""


class EnvelopeError(InputError):
    """An answer that is not the expected JSON, or that reports a failure."""


def parse_json(body: bytes, source: str) -> object:
    """Parse JSON that is not nested too deeply; messages name the source."""
    try:
        return json.loads(body)
    except RecursionError:
        raise EnvelopeError(f"{source}: the JSON is nested too deeply.") from None
    except ValueError as error:
        start = body[:40]
        raise EnvelopeError(f"{source}: should be JSON, begins {start!r} ({error}).") from None


def open_envelope(document: object, source: str) -> list[dict]:
    """Return the rows of an answer, an envelope or a bare list; a reported failure is an error."""
    rows = document
    if isinstance(document, dict):
        if document.get("success") is not True:
            reason = str(document.get("msg", "no reason given"))[:300]
            raise EnvelopeError(
                f"{source}: success={document.get('success')!r} should be true: {reason}"
            )
        # Some services answer an empty page with an empty object.
        rows = document.get("msg") or []
    if not _is_rows(rows):
        raise EnvelopeError(f"{source}: msg should be a list of objects.")
    return rows


def write_envelope(rows: list[dict]) -> bytes:
    """Write rows as a complete answer."""
    n_rows = {"num_rows": len(rows), "total_rows": len(rows)}
    return json.dumps({"success": True, "id": 0, "start_row": 0, **n_rows, "msg": rows}).encode()


def parse_rows(body: bytes, source: str) -> tuple[list[dict], str]:
    """Parse the rows of an answer, with its name for messages; see `open_envelope`."""
    return open_envelope(parse_json(body, source), source), source


def read_rows(path: str | Path) -> tuple[list[dict], str]:
    """Read the rows of a stored answer, with its name for messages."""
    return parse_rows(Path(path).read_bytes(), str(path))


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_rows(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(entry, dict) for entry in value)


# For each kind: the value of a missing field, what a field should be, and its check. An id written
# as a float may already have lost its last digits.
_KINDS: dict[str, tuple] = {
    "id": (None, "an integer > 0 and < 2**63", lambda v: _is_whole(v) and 0 < v < 2**63),
    "count": (None, "an integer >= 0", lambda v: _is_whole(v) and v >= 0),
    "flag": (False, "true, false or null", lambda v: isinstance(v, bool)),
    "text": (
        "",
        f"text of <= {MOST_TEXT} characters, without NUL or unpaired surrogates",
        lambda v: isinstance(v, str) and len(v) <= MOST_TEXT and is_storable(v),
    ),
    "object": ({}, "an object or null", lambda v: isinstance(v, dict)),
    "rows": ([], "a list of objects", _is_rows),
}


def read_field(row: dict, key: str, kind: str, source: str) -> Any:
    """Return a field of a row, of a kind above, or the default of a missing (or empty) field."""
    missing, rule, is_right = _KINDS[kind]
    value = row.get(key)
    if value is None or value == "":
        return missing
    if kind == "text" and _is_whole(value):
        value = str(value)
    if not is_right(value):
        raise EnvelopeError(f"{source}: {key}={str(value)[:60]!r} should be {rule}.")
    return value


def require_field(row: dict, key: str, kind: str, source: str) -> Any:
    """Return a field of a row that may not be missing."""
    value = read_field(row, key, kind, source)
    if value is None:
        raise EnvelopeError(f"{source}: {key}={row.get(key)!r} should be {_KINDS[kind][1]}.")
    return value


def _tabulate(
    rows: list[dict], source: str, columns: str, parse: Callable[[dict, str], tuple]
) -> pd.DataFrame:
    """Parse rows into `columns`, the id first; of rows that joins repeat, use the first."""
    found: dict[int, tuple] = {}
    for row in rows:
        row_id = require_field(row, "id", "id", source)
        found.setdefault(row_id, (row_id, *parse(row, f"{source}: id={row_id}")))
    return pd.DataFrame(list(found.values()), columns=columns.split(), dtype=object)


def parse_listing(rows: list[dict], source: str = "listing") -> pd.DataFrame:
    """Tabulate section data sets, one series of sections each, ascending by id.

    The columns are id; failed (quality control); delegate (flagged to represent its gene); plane;
    reference_space_id; age; qc_date (ISO 8601); treated (for in-situ hybridisation, or unknown);
    and for the first of n_genes: gene_id, symbol, name and entrez_id.
    """
    columns = (
        "id failed delegate plane reference_space_id age qc_date treated "
        "n_genes gene_id symbol name entrez_id"
    )
    table = _tabulate(rows, source, columns, _parse_row)
    kinds = {"id": "int64", "failed": bool, "delegate": bool, "treated": bool}
    whole = dict.fromkeys(("reference_space_id", "gene_id", "entrez_id"), "Int64")
    return table.astype({**kinds, **whole}).sort_values("id", ignore_index=True)


def _parse_row(row: dict, where: str) -> tuple:
    plane = read_field(row, "plane_of_section", "object", where)
    donor = read_field(read_field(row, "specimen", "object", where), "donor", "object", where)
    treatments = read_field(row, "treatments", "rows", where)
    names = [read_field(treatment, "name", "text", where) for treatment in treatments]
    genes = {}
    for entry in read_field(row, "genes", "rows", where):
        gene_id = require_field(entry, "id", "id", f"{where}: gene")
        symbol, name = (read_field(entry, key, "text", where) for key in ("acronym", "name"))
        entrez_id = read_field(entry, "entrez_id", "id", where)
        genes.setdefault(gene_id, (gene_id, symbol.strip() or str(gene_id), name, entrez_id))
    return (
        *(read_field(row, flag, "flag", where) for flag in ("failed", "delegate")),
        read_field(plane, "name", "text", where),
        read_field(row, "reference_space_id", "id", where),
        read_field(read_field(donor, "age", "object", where), "name", "text", where),
        read_field(row, "qc_date", "text", where),
        not names or TREATMENT in names,
        len(genes),
        *next(iter(genes.values()), (None, "", "", None)),
    )


def select_candidates(
    listed: pd.DataFrame, age: str, *, plane: str = "sagittal"
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Select the usable data sets of an age, and count the others by their first reason.

    They are sorted by symbol, gene and id; a gene has the names of its first data set.
    """
    space = listed["reference_space_id"]
    reasons = {
        "failed": listed["failed"],
        "other_age": ~listed["age"].isin(["", age]) | (space.notna() & (space != AGES[age])),
        "other_plane": listed["plane"] != plane,
        "other_treatment": ~listed["treated"],
        "without_gene": listed["n_genes"] == 0,
        "several_genes": listed["n_genes"] > 1,
    }
    first = np.select([wrong.to_numpy(bool) for wrong in reasons.values()], list(reasons), "")
    usable = listed[first == ""].astype({"gene_id": "int64"})
    names = ["symbol", "name", "entrez_id"]
    heads = usable.drop_duplicates("gene_id").set_index("gene_id")[names]
    usable[names] = heads.loc[usable["gene_id"]].set_axis(usable.index)
    usable = usable.sort_values(["symbol", "gene_id", "id"], ignore_index=True)
    return usable, {reason: int((first == reason).sum()) for reason in reasons}


def choose_replicates(candidates: pd.DataFrame, rule: str = "delegate") -> pd.DataFrame:
    """Choose one or more of the usable data sets of a gene, ascending by id, for its column.

    ``latest`` chooses the latest ``qc_date``, then the smallest id. ``delegate`` does so among the
    data sets that are flagged to represent the gene, if there are any. ``mean`` chooses all, to be
    averaged.
    """
    if rule == "mean":
        return candidates
    if rule == "delegate" and candidates["delegate"].any():
        candidates = candidates[candidates["delegate"]]
    return candidates.sort_values("qc_date", ascending=False, kind="stable").head(1)


def parse_genes(rows: list[dict], source: str = "genes") -> pd.DataFrame:
    """Tabulate entrez_id (nullable), ensembl_id and aliases (joined by ``;``) by gene_id."""

    def parse(row: dict, where: str) -> tuple:
        ensembl, aliases = (read_field(row, k, "text", where) for k in ("ensembl_id", "alias_tags"))
        return read_field(row, "entrez_id", "id", where), ensembl, ";".join(aliases.split())

    table = _tabulate(rows, source, "gene_id entrez_id ensembl_id aliases", parse)
    return table.astype({"gene_id": "int64", "entrez_id": "Int64"}).set_index("gene_id")


def add_genes(var: pd.DataFrame, genes: pd.DataFrame) -> pd.DataFrame:
    """Add known Ensembl ids, aliases and missing Entrez ids to a copy of `var`."""
    found = genes.reindex(var["gene_id"].to_numpy()).set_axis(var.index)
    texts = found[["ensembl_id", "aliases"]].fillna("").astype(object)
    return var.assign(entrez_id=var["entrez_id"].fillna(found["entrez_id"]), **texts)


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

    Raise an `OntologyError` if there is no structure, an id occurs twice, or a colour is invalid.
    """
    ontology = Ontology()
    # The stack is a list, so that a deep tree cannot exhaust Python's recursion limit.
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


# The tissue below each top of the tree, and how far below the top is the region of a structure
# without an ancestor at the level (None: it has no region). The spinal cord is part of the neural
# plate.
_TOPS = {
    SPINAL_CORD_ID: ("spinal_cord", 0),
    NEURAL_PLATE_ID: ("brain", None),
    VENTRICLES_ID: ("ventricle", 1),
    TRACTS_ID: ("tract", 0),
}


def assign_region(
    ontology: Ontology, structure_id: int, level: int = REGION_LEVEL
) -> tuple[str, Structure | None]:
    """Find the tissue and the region of a structure: its ancestor at the level, or as in `_TOPS`.

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
