"""Whether the servers still answer as this package expects, in at most ten requests.

What is expected was measured on files of the servers, or stated by their documentation: the
atlas' product, roughly two thousand section data sets at E11.5, the tree of 2,691 structures, the
grid of 70 x 75 x 40 voxels and the annotated voxels of each class at E11.5.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sparsekm.atlas.allen import queries
from sparsekm.atlas.allen.client import Client
from sparsekm.atlas.envelope import EnvelopeError, open_envelope
from sparsekm.atlas.grid import GridError, MissingGridError, read_annotation, read_energy
from sparsekm.atlas.listing import parse_listing, select_candidates
from sparsekm.atlas.ontology import OntologyError, parse_ontology
from sparsekm.atlas.regions import map_regions
from sparsekm.atlas.sources import NotFoundError, RefusedError, UnavailableError
from sparsekm.atlas.vocabulary import NO_DATA, PRODUCT, PRODUCT_ID, PRODUCT_NAME, TISSUES

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
class Expectations:
    """What the servers are expected to say about one age.

    Attributes
    ----------
    age : str
    n_section_data_sets : (int, int)
        Bounds on how many the atlas lists at the age, of all planes and outcomes.
    n_structures : (int, int)
        Bounds on the size of the tree.
    dims : tuple of int
    voxels : dict of str to int
        Annotated voxels by tissue class; classes that are not named are not compared.
    """

    age: str = "E11.5"
    n_section_data_sets: tuple[int, int] = (1_800, 20_000)
    n_structures: tuple[int, int] = (2_690, 2_700)
    dims: tuple[int, int, int] = (70, 75, 40)
    voxels: dict[str, int] = field(
        default_factory=lambda: {"brain": 5155, "spinal_cord": 2222, "ventricle": 5679}
    )


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
        One that asks once for each body keeps the number of requests at ten at most.
    url, download_url : str
    expected : Expectations, optional

    Returns
    -------
    list of Finding
        An answer that cannot be read is a finding that does not agree, not an error.
    """
    expected = expected or Expectations()
    return [
        *_check_product(client, url),
        *_check_tree_and_voxels(client, url, download_url, expected),
        *_check_listing_and_grid(client, url, expected),
    ]


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


def _check_tree_and_voxels(
    client: Client, url: str, download_url: str, expected: Expectations
) -> list[Finding]:
    findings = []
    ontology = annotation = None
    try:
        document = client.fetch_answer(queries.ontology_url(url))[1]
        ontology = parse_ontology(document)
        findings.append(_within("structures in the tree", expected.n_structures, len(ontology)))
    except _ERRORS as error:
        findings.append(_failed("structures in the tree", expected.n_structures, error))
    what = f"annotation of {expected.age}: dimensions"
    try:
        address = queries.annotation_url(download_url, expected.age)
        annotation = read_annotation(client.fetch_archive(address, read_annotation))
        findings.append(_equal(what, expected.dims, annotation.dims))
    except _ERRORS as error:
        findings.append(_failed(what, expected.dims, error))
    if ontology is None or annotation is None:
        return findings
    try:
        counts = map_regions(annotation.values, ontology, tissue=TISSUES).counts
    except _ERRORS as error:
        return [*findings, _failed("annotated voxels", expected.voxels, error)]
    findings += [
        _equal(f"annotated voxels: {tissue}", n, counts[tissue])
        for tissue, n in expected.voxels.items()
    ]
    return [*findings, _equal("annotated voxels: unknown to the tree", 0, counts["unknown_ids"])]


def _check_listing_and_grid(client: Client, url: str, expected: Expectations) -> list[Finding]:
    what = f"section data sets at {expected.age}"
    try:
        query = queries.section_data_sets_of(expected.age)
        rows, total = _ask(client, queries.page_url(url, query, 0, _ROWS))
        candidates, _ = select_candidates(parse_listing(rows), expected.age)
    except _ERRORS as error:
        return [_failed(what, expected.n_section_data_sets, error)]
    findings = [_within(what, expected.n_section_data_sets, total)]
    ids = [item.id for items in candidates.values() for item in items]
    findings.append(_within(f"usable ones of the first {_ROWS}", (1, _ROWS), len(ids)))
    return [*findings, *_check_grid(client, url, ids[:_MAX_GRIDS], expected)]


def _check_grid(client: Client, url: str, ids: list[int], expected: Expectations) -> list[Finding]:
    """Compare the first grid there is of some section data sets; single ones may have none."""
    what = f"energy grid at {expected.age}: dimensions"
    last: Exception | str = "none to ask for"
    for section_data_set_id in ids:
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
    return Finding(fact, f"{low:,} to {high:,}", f"{found:,}", low <= found <= high)


def _equal(fact: str, wanted: object, found: object) -> Finding:
    return Finding(fact, str(wanted), str(found), wanted == found)


def _failed(fact: str, wanted: object, error: object) -> Finding:
    return Finding(fact, str(wanted), _shorten(error), False)


def _shorten(error: object) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 120 else f"{text[:117]}..."
