"""The servers' answers: their JSON envelope, the section data sets of an age, the genes.

A failed query has HTTP status 200, ``"success": false`` and the reason as a string in ``"msg"``, so
only the envelope shows that it failed.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from sparsekm.atlas.vocabulary import PLANES, TREATMENT, get_age
from sparsekm.io.input_error import InputError, is_storable

MOST_JSON_BYTES = 256 * 1024**2
"""Largest answer that is parsed; the largest listing of the atlas has about 20 MB."""
MOST_TEXT = 10_000
"""Maximum characters of a name or of the aliases of a gene."""


class EnvelopeError(InputError):
    """An answer that is not the expected JSON, or that reports a failure."""


def parse_json(body: str | bytes, source: str) -> object:
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
        rows = document.get("msg")
        # Some services answer an empty page with an empty object.
        rows = [] if rows == {} else rows
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
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
    """Read the rows of a stored answer after checking its size, and hand on its name."""
    path = Path(path)
    size = path.stat().st_size
    if size > MOST_JSON_BYTES:
        raise EnvelopeError(f"{path}: bytes={size} should be <= {MOST_JSON_BYTES}.")
    return parse_rows(path.read_bytes(), str(path))


def is_whole(value: object) -> bool:
    """Tell whether a JSON value is an integer."""
    return isinstance(value, int) and not isinstance(value, bool)


def require_id(value: object, key: str, source: str) -> int:
    """Return an id, refusing anything but a positive JSON integer.

    An id written as a float may already have lost its last digits.
    """
    if not is_whole(value):
        kind = type(value).__name__
        raise EnvelopeError(f"{source}: {key}={value!r} should be an integer, not {kind}.")
    if not 0 < value < 2**63:
        raise EnvelopeError(f"{source}: {key}={value} should be > 0 and < 2**63.")
    return value


def read_id(row: dict, key: str, source: str) -> int | None:
    """Return an id of a row, None if it is missing."""
    value = row.get(key)
    return None if value is None else require_id(value, key, source)


def read_text(row: dict, key: str, source: str) -> str:
    """Return a text field of a row, an integer as text, empty if it is missing."""
    value = row.get(key)
    if value is None:
        return ""
    if is_whole(value):
        value = str(require_id(value, key, source))
    if not isinstance(value, str):
        raise EnvelopeError(f"{source}: {key} should be text, not {type(value).__name__}.")
    if len(value) > MOST_TEXT or not is_storable(value):
        raise EnvelopeError(
            f"{source}: {key}={value[:60]!r} should be text of <= {MOST_TEXT} characters, without "
            "NUL or unpaired surrogates."
        )
    return value


def read_list(row: dict, key: str, source: str) -> list[dict]:
    """Return a list of objects of a row, empty if it is missing."""
    value = row.get(key) or []
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise EnvelopeError(f"{source}: {key} should be a list of objects.")
    return value


_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Gene:
    """A gene as the atlas names it."""

    id: int  # the id in the atlas
    # As of about 2009; some symbols end in ``*``.
    symbol: str
    name: str
    entrez_id: int | None


@dataclass(frozen=True)
class SectionDataSet:
    """One series of sections."""

    id: int
    # Whether it failed quality control; whether the atlas flags it to represent its gene.
    failed: bool
    delegate: bool
    plane: str | None  # ``"sagittal"`` or ``"coronal"``
    reference_space_id: int | None
    age: str | None
    qc_date: datetime | None  # the date of its quality control
    treatments: tuple[str, ...]  # empty if not listed
    genes: tuple[Gene, ...]


def parse_listing(rows: list[dict], source: str = "listing") -> list[SectionDataSet]:
    """Build section data sets, ascending by id; joins repeat rows, of which the first is used."""
    by_id: dict[int, SectionDataSet] = {}
    for row in rows:
        parsed = _parse_row(row, source)
        by_id.setdefault(parsed.id, parsed)
    return [by_id[key] for key in sorted(by_id)]


def select_candidates(
    section_data_sets: list[SectionDataSet], age: str, *, plane: str = "sagittal"
) -> tuple[dict[Gene, list[SectionDataSet]], dict[str, int]]:
    """Group the usable data sets of an age by gene, and count the others by their first reason."""
    excluded = Counter(dict.fromkeys(EXCLUSION_REASONS, 0))
    by_gene: dict[int, tuple[Gene, list[SectionDataSet]]] = {}
    for item in section_data_sets:
        reason = _exclusion_reason(item, age, plane)
        if reason:
            excluded[reason] += 1
            continue
        gene = item.genes[0]
        by_gene.setdefault(gene.id, (gene, []))[1].append(item)
    ordered = sorted(by_gene.values(), key=lambda entry: (entry[0].symbol, entry[0].id))
    return {gene: sorted(found, key=lambda s: s.id) for gene, found in ordered}, dict(excluded)


EXCLUSION_REASONS = (
    *("failed", "other_age", "other_plane"),
    *("other_treatment", "without_gene", "several_genes"),
)


def _exclusion_reason(item: SectionDataSet, age: str, plane: str) -> str | None:
    space = get_age(age).reference_space_id
    if item.failed:
        return "failed"
    if item.age not in (None, age) or item.reference_space_id not in (None, space):
        return "other_age"
    if item.plane != plane:
        return "other_plane"
    if item.treatments and TREATMENT not in item.treatments:
        return "other_treatment"
    if not item.genes:
        return "without_gene"
    return "several_genes" if len(item.genes) > 1 else None


def _parse_row(row: dict, source: str) -> SectionDataSet:
    item_id = require_id(row.get("id"), "id", source)
    where = f"{source}: section data set {item_id}"
    donor = _nested(_nested(row, "specimen"), "donor")
    planes = {number: name for name, number in PLANES.items()}
    treatments = read_list(row, "treatments", where)
    return SectionDataSet(
        id=item_id,
        failed=_parse_flag(row.get("failed"), "failed", where),
        delegate=_parse_flag(row.get("delegate"), "delegate", where),
        plane=read_text(_nested(row, "plane_of_section"), "name", where)
        or next((planes[n] for n in planes if n == row.get("plane_of_section_id")), None),
        reference_space_id=read_id(row, "reference_space_id", where),
        age=read_text(_nested(donor, "age"), "name", where) or None,
        qc_date=_parse_date(row.get("qc_date"), where),
        treatments=tuple(read_text(treatment, "name", where) for treatment in treatments),
        genes=_parse_genes(row, where),
    )


def _parse_genes(row: dict, where: str) -> tuple[Gene, ...]:
    """Return the genes of a row or, if it has none, of its probes."""
    probes = (_nested(probe, "gene") for probe in read_list(row, "probes", where))
    genes: dict[int, Gene] = {}
    for entry in read_list(row, "genes", where) or filter(None, probes):
        gene_id = require_id(entry.get("id"), "gene id", where)
        symbol = read_text(entry, "acronym", where).strip() or str(gene_id)
        name, entrez_id = read_text(entry, "name", where), read_id(entry, "entrez_id", where)
        genes.setdefault(gene_id, Gene(gene_id, symbol, name, entrez_id))
    return tuple(genes.values())


def _nested(row: dict, key: str) -> dict:
    value = row.get(key)
    return value if isinstance(value, dict) else {}


def _parse_flag(value: object, key: str, where: str) -> bool:
    if value is None:
        return False
    if not isinstance(value, bool):
        raise EnvelopeError(f"{where}: {key}={value!r} should be true, false or null.")
    return value


def _parse_date(value: object, where: str) -> datetime | None:
    if not value:
        return None
    try:
        date = datetime.fromisoformat(str(value))
    except ValueError:
        raise EnvelopeError(f"{where}: qc_date={value!r} should be an ISO 8601 date.") from None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


REPLICATE_RULES = ("delegate", "latest", "mean")


def choose_replicates(
    candidates: list[SectionDataSet], rule: str = "delegate"
) -> list[SectionDataSet]:
    """Choose one or more of the usable data sets of a gene for its column.

    ``delegate`` chooses the latest that is flagged to represent the gene, or of all if none is.
    ``latest`` chooses the latest ``qc_date``, then the smallest id; ``mean`` all, to be averaged.
    """
    if rule not in REPLICATE_RULES:
        raise ValueError(f"replicates={rule!r} should be one of {', '.join(REPLICATE_RULES)}.")
    if not candidates:
        raise ValueError("n_candidates=0 should be >= 1.")
    candidates = sorted(candidates, key=lambda item: item.id)
    if rule == "mean":
        return candidates
    if rule == "delegate":
        candidates = [item for item in candidates if item.delegate] or candidates
    # Of equal dates the first, which has the smallest id.
    return [max(candidates, key=lambda item: item.qc_date or _NEVER)]


def parse_genes(rows: list[dict], source: str = "genes") -> pd.DataFrame:
    """Tabulate entrez_id (nullable), ensembl_id and aliases (joined by ``;``) by gene_id."""
    genes: dict[int, tuple] = {}
    for row in rows:
        gene_id = require_id(row.get("id"), "id", source)
        where = f"{source}: gene {gene_id}"
        entrez, ensembl = read_id(row, "entrez_id", where), read_text(row, "ensembl_id", where)
        aliases = ";".join(read_text(row, "alias_tags", where).split())
        genes.setdefault(gene_id, (entrez, ensembl, aliases))
    names = ["entrez_id", "ensembl_id", "aliases"]
    table = pd.DataFrame(list(genes.values()), columns=names, dtype=object)
    table.index = pd.Index(list(genes), dtype="int64", name="gene_id")
    return table.astype({"entrez_id": "Int64"})


def add_genes(var: pd.DataFrame, genes: pd.DataFrame) -> pd.DataFrame:
    """Add Ensembl ids, aliases and missing Entrez ids, as far as known, to a copy of `var`."""
    found = genes.reindex(var["gene_id"].to_numpy()).set_axis(var.index)
    return var.assign(
        entrez_id=var["entrez_id"].fillna(found["entrez_id"]),
        ensembl_id=found["ensembl_id"].fillna("").astype(object),
        aliases=found["aliases"].fillna("").astype(object),
    )
