"""Section data sets (one gene, one brain, one series of sections) from the servers' listings.

If a gene has several at one age, `choose_replicates` chooses among them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sparsekm.atlas.envelope import EnvelopeError, read_rows, read_text, require_id
from sparsekm.atlas.vocabulary import TREATMENT, get_age

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


def read_listing(path: str | Path) -> list[SectionDataSet]:
    """Read the section data sets of a stored listing; see `parse_listing`."""
    return parse_listing(read_rows(path), str(path))


def parse_listing(rows: list[dict], source: str = "listing") -> list[SectionDataSet]:
    """Build section data sets from rows of an answer, in ascending order of id.

    Joins repeat rows, so an id may occur several times; the first row is used.
    """
    by_id: dict[int, SectionDataSet] = {}
    for row in rows:
        parsed = _parse_row(row, source)
        by_id.setdefault(parsed.id, parsed)
    return [by_id[key] for key in sorted(by_id)]


def select_candidates(
    section_data_sets: list[SectionDataSet], age: str, *, plane: str = "sagittal"
) -> tuple[dict[Gene, list[SectionDataSet]], dict[str, int]]:
    """Group the usable section data sets of one age by gene, and count the others by reason.

    Genes are sorted by symbol, then gene id, and data sets by id. Only the first applicable reason
    is counted.
    """
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
    "failed",
    "other_age",
    "other_plane",
    "other_treatment",
    "without_gene",
    "several_genes",
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
    space = row.get("reference_space_id")
    plane = read_text(_nested(row, "plane_of_section"), "name", where)
    return SectionDataSet(
        id=item_id,
        failed=_parse_flag(row.get("failed"), "failed", where),
        delegate=_parse_flag(row.get("delegate"), "delegate", where),
        plane=plane or _plane_of(row.get("plane_of_section_id")),
        reference_space_id=None
        if space is None
        else require_id(space, "reference_space_id", where),
        age=read_text(_nested(donor, "age"), "name", where) or None,
        qc_date=_parse_date(row.get("qc_date"), where),
        treatments=tuple(
            read_text(treatment, "name", where) for treatment in _list(row, "treatments", where)
        ),
        genes=_parse_genes(row, where),
    )


def _parse_genes(row: dict, where: str) -> tuple[Gene, ...]:
    """Return the genes of a row or, if it has none, of its probes."""
    found = _list(row, "genes", where) or [
        _nested(probe, "gene") for probe in _list(row, "probes", where) if probe.get("gene")
    ]
    genes: dict[int, Gene] = {}
    for entry in found:
        gene_id = require_id(entry.get("id"), "gene id", where)
        entrez = entry.get("entrez_id")
        genes.setdefault(
            gene_id,
            Gene(
                id=gene_id,
                symbol=read_text(entry, "acronym", where).strip() or str(gene_id),
                name=read_text(entry, "name", where),
                entrez_id=None if entrez is None else require_id(entrez, "entrez_id", where),
            ),
        )
    return tuple(genes.values())


def _plane_of(number: object) -> str | None:
    return next((name for code, name in ((1, "coronal"), (2, "sagittal")) if code == number), None)


def _nested(row: dict, key: str) -> dict:
    value = row.get(key)
    return value if isinstance(value, dict) else {}


def _list(row: dict, key: str, where: str) -> list[dict]:
    value = row.get(key) or []
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise EnvelopeError(f"{where}: {key} should be a list of objects.")
    return value


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

    ``delegate`` chooses the one flagged to represent the gene; if several are flagged, the latest
    of these, and if none is, the latest of all. ``latest`` chooses the latest ``qc_date``, then the
    smallest id. ``mean`` chooses all, to be averaged voxel by voxel over those that have data.
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
