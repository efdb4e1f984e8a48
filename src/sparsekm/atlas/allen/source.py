"""The servers of the Allen Institute as a source of the atlas's files.

All downloads are kept in a cache, so that a second run downloads nothing. The data belong to the
Allen Institute [1]_ and are free for research with citation.

References
----------
.. [1] Allen Developing Mouse Brain Atlas, developingmouse.brain-map.org; Thompson et al., Neuron
   83:309-323 (2014), doi:10.1016/j.neuron.2014.05.033.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from sparsekm.atlas.allen import queries
from sparsekm.atlas.allen.client import Client
from sparsekm.atlas.allen.paging import collect_rows
from sparsekm.atlas.envelope import write_envelope
from sparsekm.atlas.grid import read_annotation, read_energy
from sparsekm.atlas.vocabulary import get_age
from sparsekm.network.cache import BodyCache
from sparsekm.network.errors import NotFoundError, UnavailableError
from sparsekm.network.gate import RequestGate
from sparsekm.network.retry import RetryPolicy
from sparsekm.network.transport import Transport

URL = "https://api.brain-map.org"
DOWNLOAD_URL = "https://download.alleninstitute.org"


class AllenSource:
    """Provides the files of the atlas from its servers or from the cache; see `AtlasSource`.

    It can be used from `at_once` threads. `url` is the server for queries and grids, `download_url`
    that for annotations. Processes that share the folder `cache` also share the limits. `contact`
    is an address at which the servers' operators can reach you; it goes into the User-Agent. There
    are `tries` attempts per file and `page_rows` rows of a listing per request. `timeouts` are
    ``connect_timeout``, ``read_timeout`` and ``total_timeout`` in seconds; see `Transport`.
    """

    simulated = False

    def __init__(
        self,
        *,
        url: str = URL,
        download_url: str = DOWNLOAD_URL,
        cache: str | Path = "cache/allen",
        requests_per_second: float = 2.0,
        requests_at_once: int = 2,
        contact: str = "",
        tries: int = 5,
        page_rows: int = 1000,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
        **timeouts: float,
    ):
        self.at_once = requests_at_once
        self._url = _check_address("url", url)
        self._download_url = _check_address("download_url", download_url)
        self._page_rows = page_rows
        self._cache = BodyCache(cache)
        gate = RequestGate(
            Path(cache) / "limits",
            per_second=requests_per_second,
            at_once=requests_at_once,
            clock=clock,
            sleep=sleep,
        )
        transport = Transport(gate, contact, **timeouts)
        self._client = Client(transport, RetryPolicy(tries=tries, sleep=sleep))

    def ontology(self) -> bytes:
        """Return the structure tree."""
        url = queries.ontology_url(self._url)
        return self._cached("ontology.json", url, lambda: self._client.fetch_answer(url)[0])

    def genes(self) -> bytes:
        """Return the genes of the atlas, all pages in one."""
        return self._collect("genes.json", queries.genes_of_the_atlas(), "genes")

    def listing(self, age: str) -> bytes:
        """Return the section data sets of an age, all pages in one."""
        name = f"{get_age(age).file_name}/listing.json"
        return self._collect(name, queries.section_data_sets_of(age), f"listing of {age}")

    def annotation(self, age: str) -> bytes:
        """Return the zip with the grid annotation of an age."""
        url = queries.annotation_url(self._download_url, age)
        name = f"{get_age(age).file_name}/{get_age(age).annotation_file}"
        return self._cached(name, url, lambda: self._client.fetch_archive(url, read_annotation))

    def energy(self, age: str, section_data_set_id: int) -> bytes:
        """Return the zip with the energy grid of a section data set."""
        url = queries.energy_url(self._url, section_data_set_id)
        return self._cached(
            _energy_name(age, section_data_set_id),
            url,
            # The retrieval checks the grid, and records what is wrong with it.
            lambda: self._client.fetch_archive(url, read_energy, judge=False),
            may_be_missing=True,
        )

    def cached_energy_bytes(self, age: str, section_data_set_id: int) -> int | None:
        """Return the size of an energy zip that is in the cache, 0 if the servers have none."""
        url = queries.energy_url(self._url, section_data_set_id)
        return self._cache.known_bytes(_energy_name(age, section_data_set_id), url)

    def describe_url(self, role: str, age: str, section_data_set_id: int | None = None) -> str:
        """Return the address of a file; for a listing, of its first page."""
        if role == "energy":
            return queries.energy_url(self._url, section_data_set_id)
        if role == "annotation":
            return queries.annotation_url(self._download_url, age)
        return self._first_page(queries.section_data_sets_of(age))

    def truth(self, age: str) -> None:
        """Return None: nothing is planted in measured data."""

    def _cached(
        self, name: str, url: str, fetch: Callable[[], bytes], *, may_be_missing: bool = False
    ) -> bytes:
        body = self._cache.get(name, url)
        if body is None:
            try:
                body = fetch()
            except NotFoundError:
                if may_be_missing:
                    self._cache.put_missing(name, url)
                raise
            self._cache.put(name, url, body)
        return body

    def _collect(self, name: str, query: tuple[str, str], what: str) -> bytes:
        def ask(start_row: int, num_rows: int) -> dict:
            url = queries.page_url(self._url, query, start_row, num_rows)
            return self._client.fetch_answer(url)[1]

        def fetch() -> bytes:
            rows = collect_rows(ask, num_rows=self._page_rows, source=what)
            if not rows:
                # Not cached: servers also return nothing if they misunderstand the query.
                raise UnavailableError(f"{what}: n_rows=0 should be >= 1.")
            return write_envelope(rows)

        return self._cached(name, self._first_page(query), fetch)

    def _first_page(self, query: tuple[str, str]) -> str:
        return queries.page_url(self._url, query, 0, self._page_rows)


def _energy_name(age: str, section_data_set_id: int) -> str:
    return f"{get_age(age).file_name}/energy/{section_data_set_id}.zip"


def _check_address(name: str, value: str) -> str:
    if not value.startswith(("http://", "https://")):
        raise ValueError(f"{name}={value!r} should begin with http:// or https://.")
    return value.rstrip("/")
