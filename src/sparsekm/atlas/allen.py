"""The servers of the Allen Institute as a source of the atlas's files, and a check of them.

Queries are simple and name only a product and an age. Failed experiments, other planes and other
treatments are filtered after the download, where they are counted.

A page of a listing is a range of database rows, and joins can produce more rows than there are
objects. So counts alone do not distinguish a repeated or shifted page from a join: unless there are
as many objects as announced rows, two passes with different page borders should agree.

The data belong to the Allen Institute [1]_ and are free for research with citation.

References
----------
.. [1] Allen Developing Mouse Brain Atlas, developingmouse.brain-map.org; Thompson et al., Neuron
   83:309-323 (2014), doi:10.1016/j.neuron.2014.05.033.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import pandas as pd

from sparsekm.atlas import (
    AGES,
    NO_DATA,
    PRODUCT,
    PRODUCT_ID,
    PRODUCT_NAME,
    STRUCTURE_GRAPH_ID,
    TISSUES,
    get_age,
)
from sparsekm.atlas.grid import DamagedArchiveError, GridError, read_annotation, read_energy
from sparsekm.atlas.listing import (
    EnvelopeError,
    open_envelope,
    parse_json,
    parse_listing,
    parse_rows,
    require_field,
    select_candidates,
    write_envelope,
)
from sparsekm.atlas.ontology import Ontology, map_regions, parse_ontology
from sparsekm.network import (
    Downloader,
    NotFoundError,
    RefusedError,
    TransientError,
    UnavailableError,
)

_SAFE = ";/?:@&=+$,"
_ANNOTATIONS = "informatics-archive/current-release/mouse_annotation"
_INCLUDED = "genes,probes(gene),plane_of_section,reference_space,treatments,specimen(donor(age))"
_THE_ATLAS = f"[abbreviation$eq'{PRODUCT}']"
GENES = (f"model::Gene,rma::criteria,products{_THE_ATLAS}", "genes.id")
PRODUCTS = (f"model::Product,rma::criteria,{_THE_ATLAS}", "products.id")
"""The queries for all genes of the atlas and for the atlas itself, as stages and order."""


def section_data_sets_of(age: str) -> tuple[str, str]:
    """Return the query for all section data sets of an age, as stages and order."""
    stages = (
        f"model::SectionDataSet,rma::criteria,products{_THE_ATLAS},"
        f"specimen(donor(age[name$eq'{get_age(age).name}'])),rma::include,{_INCLUDED}"
    )
    return stages, "data_sets.id"


def page_url(base: str, query: tuple[str, str], start_row: int, num_rows: int) -> str:
    """Return the address of one page of a query's rows on the server `base`."""
    stages, order = query
    page = f"[start_row$eq{start_row}][num_rows$eq{num_rows}]"
    options = f"rma::options[order$eq'{order}']{page}"
    return f"{base}/api/v2/data/query.json?criteria={quote(f'{stages},{options}', safe=_SAFE)}"


# Relative page lengths of successive passes, chosen so that their borders rarely coincide.
_STRETCHES = (1.0, 1.37, 0.81, 1.63)


class PagingError(EnvelopeError):
    """Pages that do not fit together."""


def collect_rows(
    ask: Callable[[int, int], dict], *, num_rows: int = 1000, source: str = "listing"
) -> list[dict]:
    """Collect the rows of all pages of ``ask(start_row, num_rows)``, one for each id, by id."""
    seen: list[Hashable] = []
    reason = ""
    for stretch in _STRETCHES:
        try:
            rows, total, signature = _pass_over(ask, max(1, round(num_rows * stretch)), source)
        except PagingError as error:
            reason = str(error)
            continue
        if len(rows) == total or signature in seen:
            return [rows[key] for key in sorted(rows)]
        seen.append(signature)
        reason = f"{source}: {len(rows)} different ids of total_rows={total}."
    raise UnavailableError(
        f"{source}: no two of {len(_STRETCHES)} passes over the pages agree ({reason})"
    )


def _pass_over(ask: Callable, num_rows: int, source: str) -> tuple[dict[int, dict], int, Hashable]:
    """Return the rows by id, their announced number, and what two passes should agree in.

    Rows repeated by joins occur equally often wherever the borders are, unless the server merges
    them into one object within a page; then only the ids can be compared.
    """
    rows: dict[int, dict] = {}
    times: Counter = Counter()
    start, announced, collapsed = 0, -1, False
    while start < announced or announced < 0:
        envelope = ask(start, num_rows)
        page = open_envelope(envelope, source)
        total = require_field(envelope, "total_rows", "count", source)
        advance = require_field(envelope, "num_rows", "count", source)
        ids = [require_field(row, "id", "id", source) for row in page]
        wrong = ""
        if announced not in (-1, total):
            wrong = f"announces total_rows={total}, the one before {announced}"
        elif start < total and not (page and advance):
            wrong = f"should have rows, total_rows={total}"
        elif start and ids and rows.keys() >= set(ids):
            wrong = "should bring new rows"
        if wrong:
            raise PagingError(f"{source}: the page at start_row={start} {wrong}.")
        for row_id, row in zip(ids, page, strict=True):
            rows.setdefault(row_id, row)
        times.update(ids)
        collapsed |= len(page) < advance
        announced = total
        start += advance
    return rows, announced, frozenset(times if collapsed else times.items())


URL = "https://api.brain-map.org"
DOWNLOAD_URL = "https://download.alleninstitute.org"
MAX_ARCHIVE_BYTES = 64 * 1024 * 1024
"""Largest archive accepted; the largest grid of the atlas has 3.2 MB before compression."""
MAX_JSON_BYTES = 256 * 1024 * 1024
PAGE_ROWS = 1000
"""Rows of a listing per request."""

# If the servers cannot parse a query, they return the position of the error.
_SYNTAX_ERROR = re.compile(r"line \d+, column \d+")


class AllenSource:
    """Downloads the files of the atlas from its servers; see `sparsekm.atlas`.

    `url` is the server for queries and grids, `download_url` that for annotations. `contact` is an
    address at which the servers' operators can reach you. `limits` are those of `Downloader`.
    """

    simulated = False

    def __init__(
        self,
        *,
        url: str = URL,
        download_url: str = DOWNLOAD_URL,
        contact: str = "",
        page_rows: int = PAGE_ROWS,
        **limits,
    ):
        for name, value in {"url": url, "download_url": download_url}.items():
            if not value.startswith(("http://", "https://")):
                raise ValueError(f"{name}={value!r} should begin with http:// or https://.")
        self._url, self._download_url = url.rstrip("/"), download_url.rstrip("/")
        self._page_rows = page_rows
        self._client = Downloader(contact, **limits)

    def describe_url(self, role: str, *item: str | int) -> str:
        """Return the address of a file; for a listing or the genes, of the first page."""
        match role:
            case "genes":
                return page_url(self._url, GENES, 0, self._page_rows)
            case "listing":
                return page_url(self._url, section_data_sets_of(str(item[0])), 0, self._page_rows)
            case "annotation":
                file = get_age(str(item[0])).annotation_file
                return f"{self._download_url}/{_ANNOTATIONS}/{file}"
            case "energy":
                return f"{self._url}/grid_data/download/{item[-1]}?include=energy"
        return f"{self._url}/api/v2/structure_graph_download/{STRUCTURE_GRAPH_ID}.json"

    def ontology(self) -> bytes:
        """Return the structure tree."""
        return self._get_answer(self.describe_url("ontology"))[0]

    def genes(self) -> bytes:
        """Return the genes of the atlas, all pages in one."""
        return self._collect(GENES, "genes")

    def listing(self, age: str) -> bytes:
        """Return the section data sets of an age, all pages in one."""
        return self._collect(section_data_sets_of(age), f"listing of {age}")

    def annotation(self, age: str) -> bytes:
        """Return the zip with the grid annotation of an age."""
        return self._get_archive(self.describe_url("annotation", age), read_annotation, GridError)

    def energy(self, age: str, section_data_set_id: int) -> bytes:
        """Return the zip with the energy grid of a section data set.

        The retrieval checks the grid, and records what is wrong with it.
        """
        return self._get_archive(self.describe_url("energy", age, section_data_set_id), read_energy)

    def truth(self, age: str) -> None:
        """Return None: nothing is planted in measured data."""

    def ask(self, query: tuple[str, str], start_row: int, num_rows: int) -> dict:
        """Return one page of a query's rows, in their envelope."""
        return self._get_answer(page_url(self._url, query, start_row, num_rows))[1]

    def _collect(self, query: tuple[str, str], what: str) -> bytes:
        rows = collect_rows(
            lambda start, num: self.ask(query, start, num), num_rows=self._page_rows, source=what
        )
        if not rows:
            # Servers also return nothing if they misunderstand the query.
            raise UnavailableError(f"{what}: n_rows=0 should be >= 1.")
        return write_envelope(rows)

    def _get_archive(self, url: str, read: Callable, *refused: type[Exception]) -> bytes:
        """Download a zip whose CRCs are correct; what `read` raises, if `refused`, is an error."""

        def check(body: bytes) -> bytes:
            try:
                read(body, url)
            except DamagedArchiveError as error:
                raise TransientError(f"{error} It begins {body[:40]!r}") from error
            except GridError as error:
                if isinstance(error, refused):
                    raise
            return body

        return self._client.get(url, most=MAX_ARCHIVE_BYTES, read=check)

    def _get_answer(self, url: str) -> tuple[bytes, Any]:
        """Download JSON in the servers' envelope; a reported failure is an `EnvelopeError`."""

        def check(body: bytes) -> tuple[bytes, object]:
            try:
                envelope = parse_json(body, url)
                if not isinstance(envelope, dict):
                    raise EnvelopeError(f"{url}: the answer should be an object.")
                open_envelope(envelope, url)
            except EnvelopeError as error:
                if _SYNTAX_ERROR.search(str(error)) and b'"success"' in body:
                    raise
                raise TransientError(str(error)) from error
            return body, envelope

        return self._client.get(url, most=MAX_JSON_BYTES, read=check)


class Grid(NamedTuple):
    """The expected grid of one age, and the number of voxels of some tissue classes."""

    dims: tuple[int, int, int]
    voxels: dict[str, int]


def atlas_grids() -> dict[str, Grid]:
    """Return the atlas's own grids by age, from the tables of the phantom, which has them too."""
    ages, structures = (
        pd.read_csv(Path(__file__).with_name("phantom") / f"{name}.csv", index_col=0)
        for name in ("ages", "structures")
    )
    brain = structures.drop(index="SpC")[[*AGES]].sum().astype(int)
    dims = ages[["nx", "ny", "nz"]].T.to_dict("list")
    grids = {age: Grid(tuple(dims[age]), {"brain": int(brain[age])}) for age in AGES}
    grids["E11.5"].voxels.update(spinal_cord=2222, ventricle=5679)
    return grids


class Findings(list[tuple[str, str, str, bool]]):
    """Facts about the servers: what was expected, what was found, and whether the two agree."""

    def note(self, fact: str, wanted: Any, found: Any, agrees: bool | None = None) -> None:
        """Add a fact; `wanted` is a value or a range of numbers."""
        if agrees is None:
            agrees = found in wanted if isinstance(wanted, range) else found == wanted
        if isinstance(wanted, range):
            wanted = f"{wanted[0]:,} to {wanted[-1]:,}"
            found = f"{found:,}" if isinstance(found, int) else found
        self.append((fact, str(wanted), str(found), agrees))

    @contextmanager
    def about(self, fact: str, wanted: Any) -> Iterator[None]:
        """Add an answer that cannot be read as what was found."""
        try:
            yield
        # The errors of the atlas's files are ValueErrors.
        except (NotFoundError, RefusedError, UnavailableError, ValueError) as error:
            text = " ".join(str(error).split())
            self.note(fact, wanted, text if len(text) <= 120 else f"{text[:117]}...", False)

    def format(self) -> str:
        """Format the facts as a table."""
        rows = [("fact", "expected", "found", "")]
        rows += [(*facts, "" if agrees else "DIFFERS") for *facts, agrees in self]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


_ROWS = 10


def check_servers(
    source: AllenSource,
    grids: Mapping[str, Grid] | None = None,
    *,
    n_listed: range = range(1_800, 20_001),
    n_structures: range = range(2_690, 2_701),
) -> Findings:
    """Check with at most forty requests whether the servers answer as this package expects.

    The expectations come from files of the servers or from their documentation: the product of the
    atlas, about two thousand section data sets at E11.5 (`n_listed`, with all planes and failed
    ones), the tree of 2,691 structures, and for each age its reference space, the size of its grid
    and the number of annotated voxels. The reference spaces of P4 to P28 are the least certain: two
    other clients give them, but no file of the servers.
    """
    findings, ontology, grids = Findings(), None, grids or atlas_grids()
    fact, wanted = "product of the atlas", f"{PRODUCT_ID} {PRODUCT} {PRODUCT_NAME}"
    with findings.about(fact, wanted):
        rows = open_envelope(source.ask(PRODUCTS, 0, _ROWS), "products")
        told = (f"{row.get('id')} {row.get('abbreviation')} {row.get('name')}" for row in rows)
        findings.note(fact, wanted, "; ".join(told) or "none")
    with findings.about("structures in the tree", n_structures):
        ontology = parse_ontology(*parse_rows(source.ontology(), "tree"))
        findings.note("structures in the tree", n_structures, len(ontology))
    for age, grid in grids.items():
        _check_annotation(source, findings, age, grid, ontology)
    for number, (age, grid) in enumerate(grids.items()):
        ids = _check_listing(source, findings, age, None if number else n_listed)
        if number == 0:
            fact = f"energy grid at {age}: dimensions"
            with findings.about(fact, grid.dims):
                volume = read_energy(source.energy(age, next(iter(ids), 0)))
                findings.note(fact, grid.dims, volume.dims)
                has_data = bool((volume.values != NO_DATA).any())
                findings.note("energy grid: has data", True, has_data)
    return findings


def _check_annotation(
    source: AllenSource, findings: Findings, age: str, grid: Grid, ontology: Ontology | None
) -> None:
    """Compare the annotation of an age: its grid and, if the tree was read, its voxels."""
    with findings.about(f"annotation of {age}: dimensions", grid.dims):
        annotation = read_annotation(source.annotation(age))
        findings.note(f"annotation of {age}: dimensions", grid.dims, annotation.dims)
        if ontology is not None:
            counts = map_regions(annotation.values, ontology, tissue=TISSUES).counts
            for tissue, number in grid.voxels.items():
                findings.note(f"annotated voxels of {age}: {tissue}", number, counts[tissue])
            unknown = counts["unknown_ids"]
            findings.note(f"annotated voxels of {age}: unknown to the tree", 0, unknown)


def _check_listing(
    source: AllenSource, findings: Findings, age: str, n_listed: range | None
) -> list[int]:
    """Compare the first rows of an age's listing; return the ids of the usable ones."""
    fact, space = f"reference space of {age}: id", get_age(age).reference_space_id
    with findings.about(fact, space):
        envelope = source.ask(section_data_sets_of(age), 0, _ROWS)
        listed = parse_listing(open_envelope(envelope, "listing"))
        # Some rows may lack it; the others should agree.
        told = sorted(set(listed["reference_space_id"].dropna()))
        findings.note(fact, space, ", ".join(map(str, told)) or "not told", told == [space])
        ids = select_candidates(listed, age)[0]["id"].tolist()
        if n_listed is not None:
            total = int(envelope.get("total_rows", -1))
            findings.note(f"section data sets at {age}", n_listed, total)
            findings.note(f"usable ones of the first {_ROWS}", range(1, _ROWS + 1), len(ids))
        return ids
    return []
