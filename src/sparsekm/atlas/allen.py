"""The servers of the Allen Institute as a source of the atlas's files.

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
from collections.abc import Callable, Hashable
from urllib.parse import quote

from sparsekm.atlas.grid import DamagedArchiveError, GridError, read_annotation, read_energy
from sparsekm.atlas.listing import (
    EnvelopeError,
    open_envelope,
    parse_json,
    require_id,
    write_envelope,
)
from sparsekm.atlas.vocabulary import PRODUCT, STRUCTURE_GRAPH_ID, get_age
from sparsekm.network import Downloader, TransientError, UnavailableError

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


def file_url(base: str, role: str, name: str | int = "") -> str:
    """Return the address of an energy grid (by section data set), annotation (by age) or tree."""
    match role:
        case "energy":
            return f"{base}/grid_data/download/{name}?include=energy"
        case "annotation":
            return f"{base}/{_ANNOTATIONS}/{get_age(str(name)).annotation_file}"
        case _:
            return f"{base}/api/v2/structure_graph_download/{STRUCTURE_GRAPH_ID}.json"


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
        total = _count(envelope, "total_rows", source)
        advance = _count(envelope, "num_rows", source)
        if announced not in (-1, total):
            raise PagingError(
                f"{source}: total_rows={total} at start_row={start} should be {announced}, as on "
                "the page before."
            )
        if start < total and not (page and advance):
            raise PagingError(
                f"{source}: the page at start_row={start} should have rows, total_rows={total}."
            )
        ids = [require_id(row.get("id"), "id", source) for row in page]
        if start and ids and rows.keys() >= set(ids):
            raise PagingError(f"{source}: the page at start_row={start} should bring new rows.")
        for row_id, row in zip(ids, page, strict=True):
            rows.setdefault(row_id, row)
        times.update(ids)
        collapsed |= len(page) < advance
        announced = total
        start += advance
    return rows, announced, frozenset(times if collapsed else times.items())


def _count(envelope: dict, key: str, source: str) -> int:
    value = envelope.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise EnvelopeError(f"{source}: {key}={value!r} should be an integer >= 0.")
    return value


URL = "https://api.brain-map.org"
DOWNLOAD_URL = "https://download.alleninstitute.org"
MAX_ARCHIVE_BYTES = 64 * 1024 * 1024
"""Largest archive accepted; the largest grid of the atlas has 3.2 MB before compression."""
MAX_JSON_BYTES = 256 * 1024 * 1024
PAGE_ROWS = 1000
"""Rows of a listing per request."""

# If the servers cannot parse a query, they return the position of the error.
_SYNTAX_ERROR = re.compile(r"line \d+, column \d+")


class Client(Downloader):
    """Downloads files from the servers and checks that they are complete."""

    def fetch_archive(self, url: str, read: Callable, *, judge: bool = True) -> bytes:
        """Download a zip archive with correct CRCs; `read` reads its volume.

        If `judge`, an intact archive with an invalid or missing volume is an error, not retried.
        """

        def check(body: bytes) -> bytes:
            try:
                read(body, url)
            except DamagedArchiveError as error:
                raise TransientError(f"{error} It begins {body[:40]!r}") from error
            except GridError:
                if judge:
                    raise
            return body

        return self.get(url, most=MAX_ARCHIVE_BYTES, read=check)

    def fetch_answer(self, url: str) -> tuple[bytes, dict]:
        """Download JSON in the servers' envelope; a reported failure is an `EnvelopeError`."""

        def check(body: bytes) -> tuple[bytes, dict]:
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

        return self.get(url, most=MAX_JSON_BYTES, read=check)


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
        self._url = _check_address("url", url)
        self._download_url = _check_address("download_url", download_url)
        self._page_rows = page_rows
        self._client = Client(contact, **limits)

    def ontology(self) -> bytes:
        """Return the structure tree."""
        return self._client.fetch_answer(self.describe_url("ontology"))[0]

    def genes(self) -> bytes:
        """Return the genes of the atlas, all pages in one."""
        return self._collect(GENES, "genes")

    def listing(self, age: str) -> bytes:
        """Return the section data sets of an age, all pages in one."""
        return self._collect(section_data_sets_of(age), f"listing of {age}")

    def annotation(self, age: str) -> bytes:
        """Return the zip with the grid annotation of an age."""
        return self._client.fetch_archive(self.describe_url("annotation", age), read_annotation)

    def energy(self, age: str, section_data_set_id: int) -> bytes:
        """Return the zip with the energy grid of a section data set."""
        url = self.describe_url("energy", age, section_data_set_id)
        # The retrieval checks the grid, and records what is wrong with it.
        return self._client.fetch_archive(url, read_energy, judge=False)

    def describe_url(self, role: str, *item: str | int) -> str:
        """Return the address of a file; for a listing or the genes, of the first page."""
        if role in ("genes", "listing"):
            query = GENES if role == "genes" else section_data_sets_of(*item)
            return page_url(self._url, query, 0, self._page_rows)
        base = self._download_url if role == "annotation" else self._url
        return file_url(base, role, *item[-1:])

    def truth(self, age: str) -> None:
        """Return None: nothing is planted in measured data."""

    def _collect(self, query: tuple[str, str], what: str) -> bytes:
        def ask(start_row: int, num_rows: int) -> dict:
            return self._client.fetch_answer(page_url(self._url, query, start_row, num_rows))[1]

        rows = collect_rows(ask, num_rows=self._page_rows, source=what)
        if not rows:
            # Servers also return nothing if they misunderstand the query.
            raise UnavailableError(f"{what}: n_rows=0 should be >= 1.")
        return write_envelope(rows)


def _check_address(name: str, value: str) -> str:
    if not value.startswith(("http://", "https://")):
        raise ValueError(f"{name}={value!r} should begin with http:// or https://.")
    return value.rstrip("/")
