"""The servers' answers: their JSON envelope, the section data sets of an age, the genes.

A failed query has HTTP status 200: only ``"success": false`` in its envelope shows that it failed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sparsekm.atlas import AGES, TREATMENT
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
    """Parse the rows of an answer, and hand on its name; see `open_envelope`."""
    return open_envelope(parse_json(body, source), source), source


def read_rows(path: str | Path) -> tuple[list[dict], str]:
    """Read the rows of a stored answer, and hand on its name."""
    return parse_rows(Path(path).read_bytes(), str(path))


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_rows(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(entry, dict) for entry in value)


# By kind: what stands for a missing field, what a field should be, and whether it is. An id written
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
    """Return a field of a row, of a kind above, or what stands for a missing (or empty) one."""
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
    """Parse rows into `columns`, of which the first is the id; joins repeat rows: use the first."""
    found: dict[int, tuple] = {}
    for row in rows:
        row_id = require_field(row, "id", "id", source)
        found.setdefault(row_id, (row_id, *parse(row, f"{source}: id={row_id}")))
    return pd.DataFrame(list(found.values()), columns=columns.split(), dtype=object)


def parse_listing(rows: list[dict], source: str = "listing") -> pd.DataFrame:
    """Tabulate section data sets, one series of sections each, ascending by id.

    The columns are id; failed (quality control); delegate (flagged to represent its gene); plane;
    reference_space_id; age; qc_date (ISO 8601); treated (for in-situ hybridisation, or not told);
    and of the first of n_genes: gene_id, symbol, name and entrez_id.
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

    ``latest`` chooses the latest ``qc_date``, then the smallest id; ``delegate`` the same of those
    that are flagged to represent the gene, if any; ``mean`` all, to be averaged.
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
    """Add Ensembl ids, aliases and missing Entrez ids, as far as known, to a copy of `var`."""
    found = genes.reindex(var["gene_id"].to_numpy()).set_axis(var.index)
    texts = found[["ensembl_id", "aliases"]].fillna("").astype(object)
    return var.assign(entrez_id=var["entrez_id"].fillna(found["entrez_id"]), **texts)
