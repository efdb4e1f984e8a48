"""The servers of the Allen Institute as a source of the atlas's files.

The data belong to the Allen Institute [1]_ and are free for research with citation.

References
----------
.. [1] Allen Developing Mouse Brain Atlas, developingmouse.brain-map.org; Thompson et al., Neuron
   83:309-323 (2014), doi:10.1016/j.neuron.2014.05.033.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sparsekm.atlas.allen.paging import collect_rows
from sparsekm.atlas.allen.queries import (
    annotation_url,
    energy_url,
    genes_of_the_atlas,
    ontology_url,
    page_url,
    section_data_sets_of,
)
from sparsekm.atlas.envelope import EnvelopeError, open_envelope, parse_json, write_envelope
from sparsekm.atlas.grid import (
    DamagedArchiveError,
    GridError,
    Volume,
    read_annotation,
    read_energy,
)
from sparsekm.network import Downloader, TransientError, UnavailableError

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
