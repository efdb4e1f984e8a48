"""Whether the servers still answer as this package expects, in at most forty requests.

What is expected was measured on files of the servers, or stated by their documentation: the
atlas' product, roughly two thousand section data sets at E11.5, the tree of 2,691 structures, and
of each age its reference space, the size of its grid and its annotated voxels. The reference
spaces of P4 to P28 are the least certain of these: two clients name them, no file of the servers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sparsekm.atlas.allen import queries
from sparsekm.atlas.allen.client import Client
from sparsekm.atlas.envelope import EnvelopeError, open_envelope
from sparsekm.atlas.grid import GridError, MissingGridError, read_annotation, read_energy
from sparsekm.atlas.listing import parse_listing, select_candidates
from sparsekm.atlas.ontology import Ontology, OntologyError, parse_ontology
from sparsekm.atlas.regions import map_regions
from sparsekm.atlas.vocabulary import (
    NO_DATA,
    PRODUCT,
    PRODUCT_ID,
    PRODUCT_NAME,
    TISSUES,
    get_age,
)
from sparsekm.network.errors import NotFoundError, RefusedError, UnavailableError

_ROWS = 10
_MAX_GRIDS = 3
_ERRORS = (
    EnvelopeError,
    GridError,
    OntologyError,
    NotFoundError,
    RefusedError,
    UnavailableError,
    ValueError,
)


@dataclass(frozen=True)
class Grid:
    """What the servers are expected to say about the grid of one age.

    Attributes
    ----------
    voxels : dict of str to int
        Annotated voxels by tissue class; classes that are not named are not compared.
    """

    dims: tuple[int, int, int]
    voxels: dict[str, int]


_GRIDS = {
    "E11.5": Grid((70, 75, 40), {"brain": 5155, "spinal_cord": 2222, "ventricle": 5679}),
    "E13.5": Grid((89, 109, 69), {"brain": 9510}),
    "E15.5": Grid((94, 132, 65), {"brain": 11416}),
    "E18.5": Grid((67, 43, 40), {"brain": 11546}),
    "P4": Grid((77, 43, 50), {"brain": 21185}),
    "P14": Grid((68, 40, 50), {"brain": 24213}),
    "P28": Grid((73, 41, 53), {"brain": 28455}),
}


@dataclass(frozen=True)
class Expectations:
    """What the servers are expected to say.

    Attributes
    ----------
    n_section_data_sets : (int, int)
        Bounds on how many the atlas lists at the first age, of all planes and outcomes.
    n_structures : (int, int)
        Bounds on the size of the tree.
    grids : dict of str to Grid
        By age. Of the first one an energy grid is asked for, too.
    """

    n_section_data_sets: tuple[int, int] = (1_800, 20_000)
    n_structures: tuple[int, int] = (2_690, 2_700)
    grids: dict[str, Grid] = field(default_factory=lambda: dict(_GRIDS))


@dataclass(frozen=True)
class Finding:
    """One fact: what was expected, what was found, and whether they agree."""

    fact: str
    expected: str
    found: str
    agrees: bool


def check_servers(
    client: Client, url: str, download_url: str, expected: Expectations | None = None
) -> list[Finding]:
    """Compare the servers' answers with what is expected.

    Parameters
    ----------
    client : Client
        One that asks once for each body keeps the number of requests at forty at most.

    Returns
    -------
    list of Finding
        An answer that cannot be read is a finding that does not agree, not an error.
    """
    expected = expected or Expectations()
    findings = _check_product(client, url)
    ontology, found = _check_tree(client, url, expected)
    findings += found
    for age, grid in expected.grids.items():
        findings += _check_annotation(client, download_url, age, grid, ontology)
    first = next(iter(expected.grids))
    for age in expected.grids:
        candidates, found = _check_listing(client, url, age, expected if age == first else None)
        findings += found
        if age == first:
            findings += _check_energy(client, url, age, candidates, expected.grids[age])
    return findings


def write_findings(findings: list[Finding]) -> str:
    """Write findings as a table."""
    rows = [("fact", "expected", "found", "")]
    rows += [(f.fact, f.expected, f.found, "" if f.agrees else "DIFFERS") for f in findings]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(row, [*widths, 0], strict=True)).rstrip()
        for row in rows
    )


def _check_product(client: Client, url: str) -> list[Finding]:
    wanted = f"{PRODUCT_ID} {PRODUCT} {PRODUCT_NAME}"
    try:
        rows = _ask(client, queries.page_url(url, queries.products_of_the_atlas(), 0, _ROWS))[0]
        found = "; ".join(f"{r.get('id')} {r.get('abbreviation')} {r.get('name')}" for r in rows)
    except _ERRORS as error:
        found = _shorten(error)
    return [Finding("product of the atlas", wanted, found or "none", found == wanted)]


def _check_tree(
    client: Client, url: str, expected: Expectations
) -> tuple[Ontology | None, list[Finding]]:
    what = "structures in the tree"
    try:
        ontology = parse_ontology(client.fetch_answer(queries.ontology_url(url))[1])
    except _ERRORS as error:
        return None, [_failed(what, _bounds(expected.n_structures), error)]
    return ontology, [_within(what, expected.n_structures, len(ontology))]


def _check_annotation(
    client: Client, download_url: str, age: str, grid: Grid, ontology: Ontology | None
) -> list[Finding]:
    """Compare the annotation of an age: its grid, and its voxels where the tree is there."""
    what = f"annotation of {age}: dimensions"
    try:
        address = queries.annotation_url(download_url, age)
        annotation = read_annotation(client.fetch_archive(address, read_annotation))
    except _ERRORS as error:
        return [_failed(what, grid.dims, error)]
    findings = [_equal(what, grid.dims, annotation.dims)]
    if ontology is None:
        return findings
    what = f"annotated voxels of {age}"
    try:
        counts = map_regions(annotation.values, ontology, tissue=TISSUES).counts
    except _ERRORS as error:
        return [*findings, _failed(what, grid.voxels, error)]
    findings += [
        _equal(f"{what}: {tissue}", n, counts[tissue]) for tissue, n in grid.voxels.items()
    ]
    return [*findings, _equal(f"{what}: unknown to the tree", 0, counts["unknown_ids"])]


def _check_listing(
    client: Client, url: str, age: str, expected: Expectations | None
) -> tuple[list[int], list[Finding]]:
    """Compare the first rows of an age's listing, and their number where that is expected.

    Also give the ids of the usable section data sets among them.
    """
    space = f"reference space of {age}: id"
    wanted = get_age(age).reference_space_id
    try:
        query = queries.section_data_sets_of(age)
        rows, total = _ask(client, queries.page_url(url, query, 0, _ROWS))
        listed = parse_listing(rows)
        candidates, _ = select_candidates(listed, age)
    except _ERRORS as error:
        return [], [_failed(space, wanted, error)]
    # Some rows may not say; those that do should agree.
    spaces = {item.reference_space_id for item in listed} - {None}
    told = ", ".join(map(str, sorted(spaces))) or "not told"
    findings = [Finding(space, str(wanted), told, spaces == {wanted})]
    ids = [item.id for items in candidates.values() for item in items]
    if expected is not None:
        what = f"section data sets at {age}"
        findings.append(_within(what, expected.n_section_data_sets, total))
        findings.append(_within(f"usable ones of the first {_ROWS}", (1, _ROWS), len(ids)))
    return ids, findings


def _check_energy(
    client: Client, url: str, age: str, ids: list[int], expected: Grid
) -> list[Finding]:
    """Compare the first grid there is of some section data sets; single ones may have none."""
    what = f"energy grid at {age}: dimensions"
    last: Exception | str = "none to ask for"
    for section_data_set_id in ids[:_MAX_GRIDS]:
        address = queries.energy_url(url, section_data_set_id)
        try:
            volume = read_energy(client.fetch_archive(address, read_energy))
            return [
                _equal(what, expected.dims, volume.dims),
                _equal("energy grid: has data", True, bool((volume.values != NO_DATA).any())),
            ]
        except (MissingGridError, NotFoundError) as error:
            last = error
        except _ERRORS as error:
            return [_failed(what, expected.dims, error)]
    return [_failed(what, expected.dims, last)]


def _ask(client: Client, address: str) -> tuple[list[dict], int]:
    envelope = client.fetch_answer(address)[1]
    return open_envelope(envelope, address), int(envelope.get("total_rows", -1))


def _within(fact: str, bounds: tuple[int, int], found: int) -> Finding:
    low, high = bounds
    return Finding(fact, _bounds(bounds), f"{found:,}", low <= found <= high)


def _bounds(bounds: tuple[int, int]) -> str:
    return "{:,} to {:,}".format(*bounds)


def _equal(fact: str, wanted: object, found: object) -> Finding:
    return Finding(fact, str(wanted), str(found), wanted == found)


def _failed(fact: str, wanted: object, error: object) -> Finding:
    return Finding(fact, str(wanted), _shorten(error), False)


def _shorten(error: object) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 120 else f"{text[:117]}..."
