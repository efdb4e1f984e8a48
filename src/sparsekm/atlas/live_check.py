"""Check with at most forty requests whether the servers still answer as this package expects.

The expectations come from files of the servers or from their documentation: the product of the
atlas, about two thousand section data sets at E11.5, the tree of 2,691 structures, and for each age
its reference space, the size of its grid and the number of annotated voxels. The reference spaces
of P4 to P28 are the least certain: two other clients give them, but no file of the servers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from sparsekm.atlas.allen import PRODUCTS, Client, file_url, page_url, section_data_sets_of
from sparsekm.atlas.grid import MissingGridError, Volume, read_annotation, read_energy
from sparsekm.atlas.listing import open_envelope, parse_listing, select_candidates
from sparsekm.atlas.ontology import Ontology, map_regions, parse_ontology
from sparsekm.atlas.phantom.sizes import FULL_COUNTS, GRIDS, REGIONS
from sparsekm.atlas.vocabulary import NO_DATA, PRODUCT, PRODUCT_ID, PRODUCT_NAME, TISSUES, get_age
from sparsekm.network import NotFoundError, RefusedError, UnavailableError

_ROWS = 10
_MAX_GRIDS = 3
# The errors of the atlas's files are such too.
_ERRORS = (NotFoundError, RefusedError, UnavailableError, ValueError)


@dataclass(frozen=True)
class Grid:
    """The expected grid of one age, and the number of voxels of some tissue classes."""

    dims: tuple[int, int, int]
    voxels: dict[str, int]


def _expect_grids() -> dict[str, Grid]:
    """Return the atlas's own grids, which the phantom has at full size."""
    grids = {}
    for age, counts in FULL_COUNTS.items():
        brain = sum(n for region, n in zip(REGIONS, counts, strict=True) if region != "SpC")
        grids[age] = Grid(GRIDS[age][0], {"brain": brain})
    grids["E11.5"].voxels.update(spinal_cord=2222, ventricle=5679)
    return grids


@dataclass(frozen=True)
class Expectations:
    """The expected answers of the servers."""

    # Bounds on the number listed at the first age, including all planes and failed ones.
    n_section_data_sets: tuple[int, int] = (1_800, 20_000)
    n_structures: tuple[int, int] = (2_690, 2_700)  # bounds on the size of the tree
    # By age. An energy grid of the first age is also requested.
    grids: dict[str, Grid] = field(default_factory=_expect_grids)


@dataclass(frozen=True)
class Finding:
    """One fact: the expected value, the value found, and whether they agree."""

    fact: str
    expected: str
    found: str
    agrees: bool


def format_findings(findings: list[Finding]) -> str:
    """Format findings as a table."""
    rows = [("fact", "expected", "found", "")]
    rows += [(f.fact, f.expected, f.found, "" if f.agrees else "DIFFERS") for f in findings]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(row, [*widths, 0], strict=True)).rstrip()
        for row in rows
    )


def check_servers(
    client: Client, url: str, download_url: str, expected: Expectations | None = None
) -> list[Finding]:
    """Compare the servers' answers with the expectations; what cannot be read is a finding too."""
    expected = expected or Expectations()
    check = _Check(client, url, download_url)
    check.product()
    check.tree(expected.n_structures)
    for age, grid in expected.grids.items():
        check.annotation(age, grid)
    first = next(iter(expected.grids))
    for age in expected.grids:
        check.listing(age, expected if age == first else None)
    return check.findings


class _Check:
    """Sends the requests and collects the findings in order."""

    def __init__(self, client: Client, url: str, download_url: str) -> None:
        self.findings: list[Finding] = []
        self._client, self._url, self._download_url = client, url, download_url
        self._ontology: Ontology | None = None

    def product(self) -> None:
        fact, wanted = "product of the atlas", f"{PRODUCT_ID} {PRODUCT} {PRODUCT_NAME}"
        with self._about(fact, wanted):
            rows, _ = self._ask(PRODUCTS)
            told = (f"{row.get('id')} {row.get('abbreviation')} {row.get('name')}" for row in rows)
            self._note(fact, wanted, "; ".join(told) or "none")

    def tree(self, bounds: tuple[int, int]) -> None:
        fact = "structures in the tree"
        with self._about(fact, "{:,} to {:,}".format(*bounds)):
            self._ontology = parse_ontology(
                self._client.fetch_answer(file_url(self._url, "tree"))[1]
            )
            self._within(fact, bounds, len(self._ontology))

    def annotation(self, age: str, grid: Grid) -> None:
        """Compare the annotation of an age: its grid and, if the tree was read, its voxels."""
        fact = f"annotation of {age}: dimensions"
        with self._about(fact, grid.dims):
            address = file_url(self._download_url, "annotation", age)
            annotation = read_annotation(self._client.fetch_archive(address, read_annotation))
            self._note(fact, grid.dims, annotation.dims)
            fact = f"annotated voxels of {age}"
            if self._ontology is not None:
                with self._about(fact, grid.voxels):
                    counts = map_regions(annotation.values, self._ontology, tissue=TISSUES).counts
                    for tissue, number in grid.voxels.items():
                        self._note(f"{fact}: {tissue}", number, counts[tissue])
                    self._note(f"{fact}: unknown to the tree", 0, counts["unknown_ids"])

    def listing(self, age: str, expected: Expectations | None) -> None:
        """Compare the first rows of an age's listing and, if expected, its size and a grid."""
        fact, wanted = f"reference space of {age}: id", get_age(age).reference_space_id
        ids: list[int] = []
        with self._about(fact, wanted):
            rows, total = self._ask(section_data_sets_of(age))
            listed = parse_listing(rows)
            candidates, _ = select_candidates(listed, age)
            # Some rows may lack it; the others should agree.
            spaces = {item.reference_space_id for item in listed} - {None}
            told = ", ".join(map(str, sorted(spaces))) or "not told"
            self._note(fact, wanted, told, spaces == {wanted})
            ids = [item.id for items in candidates.values() for item in items]
            if expected is not None:
                self._within(f"section data sets at {age}", expected.n_section_data_sets, total)
                self._within(f"usable ones of the first {_ROWS}", (1, _ROWS), len(ids))
        if expected is not None:
            fact, dims = f"energy grid at {age}: dimensions", expected.grids[age].dims
            with self._about(fact, dims):
                volume = self._first_energy(ids[:_MAX_GRIDS])
                self._note(fact, dims, volume.dims)
                self._note("energy grid: has data", True, bool((volume.values != NO_DATA).any()))

    def _first_energy(self, ids: list[int]) -> Volume:
        """Download the first available grid of some section data sets; some may have none."""
        last: Exception = NotFoundError("no section data set to request")
        for section_data_set_id in ids:
            address = file_url(self._url, "energy", section_data_set_id)
            try:
                return read_energy(self._client.fetch_archive(address, read_energy))
            except (MissingGridError, NotFoundError) as error:
                last = error
        raise last

    def _ask(self, query: tuple[str, str]) -> tuple[list[dict], int]:
        address = page_url(self._url, query, 0, _ROWS)
        envelope = self._client.fetch_answer(address)[1]
        return open_envelope(envelope, address), int(envelope.get("total_rows", -1))

    @contextmanager
    def _about(self, fact: str, wanted: object) -> Iterator[None]:
        """Turn an answer that cannot be read into a finding that does not agree."""
        try:
            yield
        except _ERRORS as error:
            text = " ".join(str(error).split())
            self._note(fact, wanted, text if len(text) <= 120 else f"{text[:117]}...", False)

    def _within(self, fact: str, bounds: tuple[int, int], found: int) -> None:
        agrees = bounds[0] <= found <= bounds[1]
        self._note(fact, "{:,} to {:,}".format(*bounds), f"{found:,}", agrees)

    def _note(self, fact: str, wanted: object, found: object, agrees: bool | None = None) -> None:
        agrees = wanted == found if agrees is None else agrees
        self.findings.append(Finding(fact, str(wanted), str(found), agrees))
