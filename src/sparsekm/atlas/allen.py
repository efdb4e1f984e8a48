"""The servers of the Allen Institute as a source of the atlas's files, and a check of them.

Queries are simple and name only a product and an age; unusable data sets are filtered and counted
after the download. The data are free for research with citation: Allen Developing Mouse Brain
Atlas, developingmouse.brain-map.org; Thompson et al., Neuron 83:309-323 (2014),
doi:10.1016/j.neuron.2014.05.033.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import quote

import pandas as pd

from sparsekm.atlas import AGES, TISSUES, annotation_file
from sparsekm.atlas.grid import DamagedArchiveError, GridError, read_annotation, read_energy
from sparsekm.atlas.listing import (
    EnvelopeError,
    Ontology,
    map_regions,
    open_envelope,
    parse_json,
    parse_listing,
    parse_ontology,
    parse_rows,
    require_field,
    select_candidates,
    write_envelope,
)
from sparsekm.network import Downloader, RefusedError, TransientError, UnavailableError

PRODUCT_ID = 3
PRODUCT = "DevMouse"
PRODUCT_NAME = "Developing Mouse Brain"
STRUCTURE_GRAPH_ID = 17
URL = "https://api.brain-map.org"
DOWNLOAD_URL = "https://download.alleninstitute.org"
MAX_ARCHIVE_BYTES = 64 * 1024 * 1024
"""Largest archive accepted; the largest grid of the atlas has 3.2 MB before compression."""
MAX_JSON_BYTES = 256 * 1024 * 1024
PAGE_ROWS = 1000
"""Rows of a listing per request."""

_SAFE = ";/?:@&=+$,"
_ANNOTATIONS = "informatics-archive/current-release/mouse_annotation"
_INCLUDED = "genes,plane_of_section,treatments,specimen(donor(age))"
_THE_ATLAS = f"[abbreviation$eq'{PRODUCT}']"
GENES = (f"model::Gene,rma::criteria,products{_THE_ATLAS}", "genes.id")
PRODUCTS = (f"model::Product,rma::criteria,{_THE_ATLAS}", "products.id")
"""The queries for all genes of the atlas and for the atlas itself, as stages and order."""
# If the servers cannot parse a query, they return the position of the error.
_SYNTAX_ERROR = re.compile(r"line \d+, column \d+")


def section_data_sets_of(age: str) -> tuple[str, str]:
    """Return the query for all section data sets of an age, as stages and order."""
    stages = (
        f"model::SectionDataSet,rma::criteria,products{_THE_ATLAS},"
        f"specimen(donor(age[name$eq'{age}'])),rma::include,{_INCLUDED}"
    )
    return stages, "data_sets.id"


def page_url(base: str, query: tuple[str, str], start_row: int = 0) -> str:
    """Return the address of one page of a query's rows on the server `base`."""
    stages, order = query
    page = f"[start_row$eq{start_row}][num_rows$eq{PAGE_ROWS}]"
    options = f"rma::options[order$eq'{order}']{page}"
    return f"{base}/api/v2/data/query.json?criteria={quote(f'{stages},{options}', safe=_SAFE)}"


def collect_rows(ask: Callable[[int], dict], source: str = "listing") -> list[dict]:
    """Collect the rows of all pages of ``ask(start_row)``, one for each id, ascending.

    A page is a range of database rows. Joins can turn them into fewer objects, or repeat some.
    Pages are ordered by id, so a page that begins before the end of the previous one is repeated or
    shifted.
    """
    rows: dict[int, dict] = {}
    start, total = 0, None
    while total is None or start < total:
        envelope = ask(start)
        page = open_envelope(envelope, source)
        keys = "total_rows", "num_rows"
        announced, advance = (require_field(envelope, key, "count", source) for key in keys)
        found = {require_field(row, "id", "id", source): row for row in reversed(page)}
        wrong = ""
        if total not in (None, announced):
            wrong = f"announces total_rows={announced}, but the previous page announced {total}"
        elif start < announced and not (found and advance):
            wrong = f"is empty; it should have rows, because total_rows={announced}"
        elif rows and found and min(found) < max(rows):
            wrong = f"begins with id={min(found)}, but it should exceed the previous id={max(rows)}"
        if wrong:
            told = f"{source}: the page at start_row={start} {wrong}. Run again to retry."
            raise UnavailableError(told)
        rows, total = found | rows, announced
        start += advance
    return [rows[key] for key in sorted(rows)]


class AllenSource:
    """Downloads the files of the atlas from its servers; see `sparsekm.atlas`.

    `url` is the server for queries and grids, `download_url` the server for annotations. `contact`
    is an address at which the servers' operators can reach you. `limits` are passed to
    `Downloader`.
    """

    simulated = False

    def __init__(
        self, *, url: str = URL, download_url: str = DOWNLOAD_URL, contact: str = "", **limits
    ):
        self._url, self._download_url = url.rstrip("/"), download_url.rstrip("/")
        self._client = Downloader(contact, **limits)

    def describe_url(self, role: str, *item: str | int) -> str:
        """Return the address of a file; for a listing or the genes, of its first page."""
        match role:
            case "genes":
                return page_url(self._url, GENES)
            case "listing":
                return page_url(self._url, section_data_sets_of(str(item[0])))
            case "annotation":
                file = annotation_file(str(item[0]))
                return f"{self._download_url}/{_ANNOTATIONS}/{file}"
            case "energy":
                return f"{self._url}/grid_data/download/{item[-1]}?include=energy"
        return f"{self._url}/api/v2/structure_graph_download/{STRUCTURE_GRAPH_ID}.json"

    def ontology(self) -> bytes:
        """Return the structure tree."""
        return write_envelope(open_envelope(self._get_answer(self.describe_url("ontology")), ""))

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

    def ask(self, query: tuple[str, str], start_row: int = 0) -> dict:
        """Return one page of a query's rows, in their envelope."""
        return self._get_answer(page_url(self._url, query, start_row))

    def _collect(self, query: tuple[str, str], what: str) -> bytes:
        rows = collect_rows(partial(self.ask, query), what)
        if not rows:
            # Servers also return nothing if they misunderstand the query.
            raise UnavailableError(f"{what}: n_rows=0 should be >= 1.")
        return write_envelope(rows)

    def _get_archive(self, url: str, read: Callable, *refused: type[Exception]) -> bytes:
        """Download a zip with correct CRCs; errors of `read` are only raised if `refused`."""

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

    def _get_answer(self, url: str) -> dict[str, Any]:
        """Download JSON in the servers' envelope; a reported failure is an `EnvelopeError`."""

        def check(body: bytes) -> dict[str, Any]:
            try:
                answer = parse_json(body, url)
                envelope = answer if isinstance(answer, dict) else {}
                open_envelope(envelope, url)
            except EnvelopeError as error:
                if _SYNTAX_ERROR.search(str(error)) and b'"success"' in body:
                    raise
                raise TransientError(str(error)) from error
            return envelope

        return self._client.get(url, most=MAX_JSON_BYTES, read=check)


def check_servers(
    source: AllenSource,
    ages: dict[str, Any] | None = None,
    *,
    n_listed: range = range(1_800, 20_001),
    n_structures: range = range(2_690, 2_701),
) -> pd.DataFrame:
    """Check with at most forty requests whether the servers answer as this package expects.

    The rows are fact, expected, found, agrees. The expected values come from files of the servers
    or their documentation; the reference spaces of P4 to P28 are only known from two other clients.
    The full phantom has the grids of the atlas; `ages` replaces its plans.
    """
    # Imported here, because the analysis of the real atlas does not depend on the phantom's code.
    from sparsekm.atlas.phantom import get_size

    ages, tree, facts = ages or get_size("full").ages, Ontology(), []

    def note(fact: str, expected: Any, find: Callable, *arguments: Any) -> None:
        try:
            found = find(*arguments)
        # The errors of the atlas's files are ValueErrors.
        except (LookupError, RefusedError, UnavailableError, ValueError) as error:
            found = " ".join(str(error).split())[:120]
        agrees = found in expected if isinstance(expected, range) else found == expected
        if isinstance(expected, range):
            expected = f"{expected[0]:,} to {expected[-1]:,}"
        facts.append((fact, expected, found, agrees))

    def describe_product() -> str:
        rows = open_envelope(source.ask(PRODUCTS), "products")
        told = (f"{r.get('id')} {r.get('abbreviation')} {r.get('name')}" for r in rows)
        # Joins repeat rows.
        return "; ".join(dict.fromkeys(told))

    def count_structures() -> int:
        tree.update(parse_ontology(*parse_rows(source.ontology(), "tree")))
        return len(tree)

    def measure_annotation(age: str) -> str:
        annotation = read_annotation(source.annotation(age))
        n_brain = map_regions(annotation.values, tree, tissue=TISSUES).counts["brain"]
        return f"{annotation.dims}, {n_brain:,} voxels of the brain"

    def find_space(age: str) -> str:
        envelope = source.ask(section_data_sets_of(age))
        rows = open_envelope(envelope, "listing")
        table = parse_listing(rows)
        listed[age] = table, envelope["total_rows"] - (len(rows) - len(table))
        # Some rows may lack it; the others should agree.
        spaces = set(table["reference_space_id"].dropna())
        return ", ".join(map(str, sorted(spaces))) or f"none, in {len(table)} rows"

    def measure_energy(age: str) -> tuple[int, int, int]:
        usable, _ = select_candidates(listed[age][0], age)
        return read_energy(source.energy(age, next(iter(usable["id"]), 0))).dims

    listed: dict[str, tuple[pd.DataFrame, int]] = {}
    note("product of the atlas", f"{PRODUCT_ID} {PRODUCT} {PRODUCT_NAME}", describe_product)
    note("structures in the tree", n_structures, count_structures)
    for age, plan in ages.items():
        n_brain = plan.n_tissue - plan.region_voxels.get("SpC", 0)
        expected = f"{plan.dims}, {n_brain:,} voxels of the brain"
        note(f"annotation of {age}", expected, measure_annotation, age)
        note(f"reference space of {age}", str(AGES[age]), find_space, age)
    first = next(iter(ages))
    note(f"section data sets at {first}", n_listed, lambda: listed[first][1])
    note(f"energy grid at {first}", ages[first].dims, measure_energy, first)
    return pd.DataFrame(facts, columns=["fact", "expected", "found", "agrees"])
