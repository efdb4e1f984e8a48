"""The servers of the Allen Institute as a source of the atlas's files.

Queries are simple and name only a product and an age. Failed experiments, other planes and other
treatments are filtered after the download, where they are counted.

A page of a listing is a range of database rows, and joins can produce more rows than there are
objects in the answer: an object can occur twice, within a page or across a page border. Therefore
counts alone do not distinguish a repeated or shifted page from a join. If there are as many objects
as announced rows, the listing is complete; otherwise it is accepted once two passes with different
page borders agree.

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
from dataclasses import dataclass, field
from urllib.parse import quote

from sparsekm.atlas.grid import (
    DamagedArchiveError,
    GridError,
    Volume,
    read_annotation,
    read_energy,
)
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
# The language has no way to quote these within a value.
_FORBIDDEN = "'\"[](),$:;"
_ANNOTATIONS = "informatics-archive/current-release/mouse_annotation"
_INCLUDED = "genes,probes(gene),plane_of_section,reference_space,treatments,specimen(donor(age))"


def quote_value(value: str) -> str:
    """Quote a value of a query; the language cannot quote every character."""
    for character in value:
        if character in _FORBIDDEN or character.isspace():
            raise ValueError(f"value={value!r} should not hold {character!r}.")
    return f"'{value}'"


def section_data_sets_of(age: str) -> tuple[str, str]:
    """Return the query for all section data sets of an age, as stages and order."""
    name = quote_value(get_age(age).name)
    stages = (
        f"model::SectionDataSet,rma::criteria,products[abbreviation$eq{quote_value(PRODUCT)}],"
        f"specimen(donor(age[name$eq{name}])),rma::include,{_INCLUDED}"
    )
    return stages, "data_sets.id"


def genes_of_the_atlas() -> tuple[str, str]:
    """Return the query for all genes of the atlas, as stages and order."""
    return (
        f"model::Gene,rma::criteria,products[abbreviation$eq{quote_value(PRODUCT)}]",
        "genes.id",
    )


def products_of_the_atlas() -> tuple[str, str]:
    """Return the query for the atlas itself, as stages and order."""
    return f"model::Product,rma::criteria,[abbreviation$eq{quote_value(PRODUCT)}]", "products.id"


def page_url(base: str, query: tuple[str, str], start_row: int, num_rows: int) -> str:
    """Return the address of one page of a query's rows on the server `base`.

    A query consists of its stages and the column to order by, without which pages would be
    undefined.
    """
    stages, order = query
    page = f"[start_row$eq{start_row}][num_rows$eq{num_rows}]"
    options = f"rma::options[order$eq{quote_value(order)}]{page}"
    return f"{base}/api/v2/data/query.json?criteria={quote(f'{stages},{options}', safe=_SAFE)}"


def ontology_url(base: str) -> str:
    """Return the address of the structure tree."""
    return f"{base}/api/v2/structure_graph_download/{STRUCTURE_GRAPH_ID}.json"


def energy_url(base: str, section_data_set_id: int) -> str:
    """Return the address of the energy grid of a section data set."""
    return f"{base}/grid_data/download/{section_data_set_id}?include=energy"


def annotation_url(base: str, age: str) -> str:
    """Return the address of the grid annotation of an age."""
    return f"{base}/{_ANNOTATIONS}/{get_age(age).annotation_file}"


# Relative page lengths of successive passes, chosen so that their borders rarely coincide.
_STRETCHES = (1.0, 1.37, 0.81, 1.63)


class PagingError(EnvelopeError):
    """Pages that do not fit together."""


def collect_rows(
    ask: Callable[[int, int], dict], *, num_rows: int = 1000, source: str = "listing"
) -> list[dict]:
    """Collect the rows of all pages, the first for each id, in ascending order of id.

    ``ask(start_row, num_rows)`` returns the envelope of a page. If no two passes over the pages
    agree, raise `UnavailableError`.
    """
    seen: list[Hashable] = []
    reason = ""
    for stretch in _STRETCHES:
        try:
            found = _pass_over_pages(ask, max(1, round(num_rows * stretch)), source)
        except PagingError as error:
            reason = str(error)
            continue
        if len(found.rows) == found.total or found.signature in seen:
            return [found.rows[key] for key in sorted(found.rows)]
        seen.append(found.signature)
        reason = f"{source}: {len(found.rows)} different ids of total_rows={found.total}."
    raise UnavailableError(
        f"{source}: no two of {len(_STRETCHES)} passes over the pages agree ({reason})"
    )


@dataclass
class _Pass:
    """The result of one pass over all pages: rows by id, and how often each id occurred."""

    rows: dict[int, dict] = field(default_factory=dict)
    times: Counter = field(default_factory=Counter)
    collapsed: bool = False
    total: int = -1

    @property
    def signature(self) -> Hashable:
        """What must agree between two passes with different borders.

        Rows repeated by joins occur equally often wherever the borders are, unless the server
        merges them into one object within a page; then only the ids can be compared.
        """
        return frozenset(self.times if self.collapsed else self.times.items())


def _pass_over_pages(ask: Callable[[int, int], dict], num_rows: int, source: str) -> _Pass:
    found, start = _Pass(), 0
    while start < found.total or found.total < 0:
        envelope = ask(start, num_rows)
        page = open_envelope(envelope, source)
        total = _count(envelope, "total_rows", source)
        advance = _count(envelope, "num_rows", source)
        if found.total not in (-1, total):
            raise PagingError(
                f"{source}: total_rows={total} at start_row={start} should be {found.total}, as on "
                "the page before."
            )
        if start < total and not (page and advance):
            raise PagingError(
                f"{source}: the page at start_row={start} should have rows, total_rows={total}."
            )
        ids = [require_id(row.get("id"), "id", source) for row in page]
        if start and ids and found.rows.keys() >= set(ids):
            raise PagingError(f"{source}: the page at start_row={start} should bring new rows.")
        for row_id, row in zip(ids, page, strict=True):
            found.rows.setdefault(row_id, row)
        found.times.update(ids)
        found.collapsed |= len(page) < advance
        found.total = total
        start += advance
    return found


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

    def fetch_archive(
        self, url: str, read: Callable[[bytes, str], Volume], *, judge: bool = True
    ) -> bytes:
        """Download a zip archive with correct CRCs; `read` reads its volume.

        If `judge`, an intact archive with an invalid or missing volume is an error (`GridError`).
        It is not retried, since it is what the server meant to send.
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
    """Downloads the files of the atlas from its servers; see `AtlasSource`.

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
        return self._collect(genes_of_the_atlas(), "genes")

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

    def describe_url(
        self, role: str, age: str | None = None, section_data_set_id: int | None = None
    ) -> str:
        """Return the address of a file; for a listing or the genes, of the first page."""
        match role:
            case "ontology":
                return ontology_url(self._url)
            case "genes":
                return self._page_url(genes_of_the_atlas(), 0, self._page_rows)
            case "listing":
                return self._page_url(section_data_sets_of(age), 0, self._page_rows)
            case "annotation":
                return annotation_url(self._download_url, age)
            case _:
                return energy_url(self._url, section_data_set_id)

    def truth(self, age: str) -> None:
        """Return None: nothing is planted in measured data."""

    def _page_url(self, query: tuple[str, str], start_row: int, num_rows: int) -> str:
        return page_url(self._url, query, start_row, num_rows)

    def _collect(self, query: tuple[str, str], what: str) -> bytes:
        def ask(start_row: int, num_rows: int) -> dict:
            return self._client.fetch_answer(self._page_url(query, start_row, num_rows))[1]

        rows = collect_rows(ask, num_rows=self._page_rows, source=what)
        if not rows:
            # Servers also return nothing if they misunderstand the query.
            raise UnavailableError(f"{what}: n_rows=0 should be >= 1.")
        return write_envelope(rows)


def _check_address(name: str, value: str) -> str:
    if not value.startswith(("http://", "https://")):
        raise ValueError(f"{name}={value!r} should begin with http:// or https://.")
    return value.rstrip("/")
