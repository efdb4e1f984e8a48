"""Planning the downloads of an age, checking its files, and storing them with a manifest.

A file is accepted only after it has been read in the expected format. If a grid is invalid, only
this replicate of its gene is lost, and the manifest records the reason; if many are, something else
is wrong, and the run stops. What earlier runs downloaded is not downloaded again, and stays when
the plane changes; simulated files are drawn anew.

Files of all ages, in the folder of the source: ``ontology.json``, ``genes.json``, ``manifest.csv``.
Files of an age, in ``{age}/`` below: ``listing.json``, the annotation zip under its server name,
``energy/{section data set id}.zip``, ``manifest.csv``, and for simulated data ``truth.csv``.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pandas as pd

from sparsekm.atlas.grid import GridError, MissingGridError, Volume, read_annotation, read_energy
from sparsekm.atlas.listing import (
    EnvelopeError,
    Gene,
    parse_genes,
    parse_listing,
    read_rows,
    select_candidates,
)
from sparsekm.atlas.ontology import parse_ontology
from sparsekm.atlas.vocabulary import ENERGY_DTYPE, NO_DATA, get_age
from sparsekm.io.atomic import remove_unfinished, write_bytes
from sparsekm.io.hdf5_format import DamagedFileError
from sparsekm.io.tables import (
    NUMBER_OR_NOTHING,
    WHOLE,
    WHOLE_OR_NOTHING,
    WORD,
    TableFormat,
    columns,
)
from sparsekm.network import NotFoundError, Received, RefusedError, UnavailableError

_FORMAT = TableFormat(
    "retrieve_atlas",
    {
        **columns(WORD, "role"),
        **columns(WHOLE_OR_NOTHING, "section_data_set_id gene_id"),
        **columns(WORD, "gene file url"),
        **columns(WHOLE, "bytes"),
        **columns(WORD, "sha256 status"),
        **columns(NUMBER_OR_NOTHING, "valid_share"),
        **columns(WORD, "reason"),
    },
)
STATUSES = ("ok", "missing", "no_grid", "rejected", "not_fetched")
"""Checked and stored; the source has no such file; an intact archive without a volume; one whose
volume does not belong to this age or has invalid energies; or the download failed, and the settings
allow it to be missing. Only the last are downloaded again."""


@dataclass(frozen=True)
class ManifestEntry:
    """One file of an age."""

    role: str  # ``"listing"``, ``"annotation"`` or ``"energy"``
    file: str  # name relative to the age's folder; empty if nothing was stored
    url: str  # the origin of the file
    bytes: int
    sha256: str
    status: str
    section_data_set_id: int | None = None
    gene_id: int | None = None
    gene: str = ""  # symbol
    # For an energy grid, the share of annotated voxels that have data.
    valid_share: float | None = None
    reason: str = ""  # why a volume was rejected or could not be downloaded


def digest(body: bytes) -> str:
    """Return the SHA-256 of a file's content in hexadecimal."""
    return hashlib.sha256(body).hexdigest()


def write_manifest(path: str | Path, entries: list[ManifestEntry]) -> None:
    """Write a manifest atomically."""
    table = pd.DataFrame([asdict(entry) for entry in entries], columns=list(_FORMAT.columns))
    _FORMAT.write(path, table.astype({"section_data_set_id": "Int64", "gene_id": "Int64"}))


def read_manifest(path: str | Path) -> list[ManifestEntry]:
    """Read a manifest, and check that statuses are known and files are in the age's folder."""
    table = _FORMAT.read(path)
    for status in table["status"].unique():
        if status not in STATUSES:
            problem = f"status={status!r} should be one of {', '.join(STATUSES)}"
            raise DamagedFileError(path, problem, _FORMAT.rule)
    for name in map(PurePosixPath, table["file"]):
        if name.is_absolute() or ".." in name.parts:
            problem = f"file={str(name)!r} should lie in the folder"
            raise DamagedFileError(path, problem, _FORMAT.rule)
    return [
        ManifestEntry(**{name: None if pd.isna(value) else value for name, value in row.items()})
        for row in table.to_dict("records")
    ]


ONTOLOGY_FILE = "ontology.json"
GENES_FILE = "genes.json"
LISTING_FILE = "listing.json"
MANIFEST_FILE = "manifest.csv"
TRUTH_FILE = "truth.csv"

MAX_REJECTED_SHARE = 0.1
"""Largest share of rejected grids; more indicate a general problem."""
MAX_FAILURES_IN_A_ROW = 5
"""Number of consecutive failures after which the source is considered down."""

Progress = Callable[[int, int], None]


def retrieve_tables(source: Any, folder: str | Path) -> list[ManifestEntry]:
    """Download the structure tree and the table of genes, check that they parse, and store them."""
    stored = StoredFiles(source, folder)
    entries = [
        stored.get_entry("ontology", ONTOLOGY_FILE),
        stored.get_entry("genes", GENES_FILE),
    ]
    parse_ontology(*read_rows(stored.folder / ONTOLOGY_FILE))
    parse_genes(*read_rows(stored.folder / GENES_FILE))
    write_manifest(stored.folder / MANIFEST_FILE, entries)
    return entries


class StoredFiles:
    """The files of a source in a folder: downloaded once, or simulated.

    A file has a role, the name of the source's method, and an item: its age, or age and id.
    """

    def __init__(self, source: Any, folder: str | Path):
        self.folder = Path(folder)
        self.source = source
        self._received = None if source.simulated else Received(folder)

    def get(self, role: str, file: str, *item: object) -> bytes:
        """Return the body of a file that is on disk now."""
        fetch = getattr(self.source, role)
        if self._received is None:
            body = fetch(*item)
            write_bytes(body, self.folder / file)
            return body
        url = self.source.describe_url(role, *item)
        body = self._received.find(file, url)
        if body is None:
            try:
                body = fetch(*item)
            except NotFoundError:
                # Only of grids some are known to be missing.
                if role == "energy":
                    self._received.add(file, url, None)
                raise
            self._received.add(file, url, body)
        return body

    def size(self, role: str, file: str, *item: object) -> int | None:
        """Return the length of a file that need not be fetched, 0 if there is none, or None."""
        if self._received is None:
            return 0
        return self._received.size(file, self.source.describe_url(role, *item))

    def get_entry(self, role: str, file: str, *item: object) -> ManifestEntry:
        """Store a file, and return its entry in the manifest."""
        body = self.get(role, file, *item)
        url = self.source.describe_url(role, *item)
        return ManifestEntry(role, file, url, len(body), digest(body), "ok")

    def list_wanted(self, age: str, plane: str) -> list[tuple[Gene, int]]:
        """List the section data sets of the stored listing to use, at least one, with genes."""
        path = self.folder / LISTING_FILE
        listed = parse_listing(*read_rows(path))
        candidates, excluded = select_candidates(listed, age, plane=plane)
        if not candidates:
            reasons = ", ".join(f"{reason}: {n}" for reason, n in excluded.items() if n)
            raise EnvelopeError(
                f"{path}: n_section_data_sets=0 that are {plane} should be >= 1, of {len(listed)} "
                f"listed ({reasons or 'none'})."
            )
        return [(gene, item.id) for gene, items in candidates.items() for item in items]

    def read_annotation(self, age: str) -> Volume:
        """Read the stored annotation of an age."""
        path = self.folder / get_age(age).annotation_file
        return read_annotation(path.read_bytes(), str(path))


def retrieve_age(
    source: Any,
    age: str,
    folder: str | Path,
    *,
    plane: str = "sagittal",
    max_not_fetched: int = 0,
    progress: Progress | None = None,
) -> list[ManifestEntry]:
    """Store all files of one age in its folder, and return the entries of ``manifest.csv``.

    The entries are the listing, the annotation, and each usable section data set of the plane. Up
    to `max_not_fetched` grids may be missing because a download failed.

    If the listing, the annotation or more than `MAX_REJECTED_SHARE` of the grids are invalid, raise
    a `GridError` or an `EnvelopeError`, and write no manifest.
    """
    folder = Path(folder)
    for place in (folder, folder / "energy"):
        remove_unfinished(place)
    # Without a manifest the files do not count as complete while they change.
    (folder / MANIFEST_FILE).unlink(missing_ok=True)
    stored = StoredFiles(source, folder)
    entries = [
        stored.get_entry("listing", LISTING_FILE, age),
        stored.get_entry("annotation", get_age(age).annotation_file, age),
    ]
    wanted, annotation, in_a_row = stored.list_wanted(age, plane), stored.read_annotation(age), 0
    for done, (gene, item_id) in enumerate(wanted, start=1):
        entry = _retrieve_energy(stored, age, gene, item_id, annotation)
        entries.append(entry)
        in_a_row = in_a_row + 1 if entry.status == "not_fetched" else 0
        if in_a_row == MAX_FAILURES_IN_A_ROW:
            raise UnavailableError(
                f"{age}: {in_a_row} consecutive downloads failed, after {done - in_a_row} of "
                f"{len(wanted)}. Run again to continue. The last: {entry.reason}"
            )
        if progress is not None:
            progress(done, len(wanted))
    _check_entries(age, entries[2:], max_not_fetched)
    truth = source.truth(age)
    if truth is not None:
        write_bytes(truth, folder / TRUTH_FILE)
    write_manifest(folder / MANIFEST_FILE, entries)
    return entries


def energy_file(section_data_set_id: int) -> str:
    """Return the name of an energy zip relative to the age's folder."""
    return f"energy/{section_data_set_id}.zip"


def _retrieve_energy(
    stored: StoredFiles, age: str, gene: Gene, item_id: int, annotation: Volume
) -> ManifestEntry:
    """Get and check one energy zip, whose grid must have the dimensions of the annotation."""
    file, name = energy_file(item_id), f"{age}, section data set {item_id}"
    body, share, status, reason = b"", None, "ok", ""
    try:
        body = stored.get("energy", file, age, item_id)
        share = _measure_valid_share(read_energy(body, name), annotation, name)
    except NotFoundError:
        status = "missing"
    except MissingGridError:
        status = "no_grid"
    except UnavailableError as error:
        status, reason = "not_fetched", str(error)
    except (RefusedError, GridError) as error:
        status, reason = "rejected", str(error)
    url = stored.source.describe_url("energy", age, item_id)
    told = (file, url, len(body), digest(body)) if body else ("", url, 0, "")
    of_gene = (item_id, gene.id, gene.symbol)
    return ManifestEntry("energy", *told, status, *of_gene, valid_share=share, reason=reason)


def _check_entries(age: str, energies: list[ManifestEntry], max_not_fetched: int) -> None:
    """Raise an error if too many grids are invalid or missing."""
    by_status = Counter(entry.status for entry in energies)
    first_reasons = {entry.status: entry.reason for entry in reversed(energies)}
    if by_status["rejected"] > max(1, MAX_REJECTED_SHARE * len(energies)):
        raise GridError(
            f"{age}: n_rejected={by_status['rejected']} of {len(energies)} grids should be at "
            f"most {MAX_REJECTED_SHARE:.0%}. The first: {first_reasons['rejected']}"
        )
    if by_status["not_fetched"] > max_not_fetched:
        raise UnavailableError(
            f"{age}: n_not_fetched={by_status['not_fetched']} of {len(energies)} grids should be "
            f"<= max_not_fetched={max_not_fetched}. Run again to continue. The first: "
            f"{first_reasons['not_fetched']}"
        )


def _measure_valid_share(energy: Volume, annotation: Volume, name: str) -> float:
    """Return the share of annotated voxels that have data, to four decimals; 0 is an error."""
    if energy.dims != annotation.dims:
        raise GridError(
            f"{name}: DimSize={energy.dims} should equal the annotation's {annotation.dims}."
        )
    annotated = annotation.values != 0
    n_annotated = int(np.count_nonzero(annotated))
    n_valid = int(np.count_nonzero(annotated & (energy.values != NO_DATA)))
    if not n_valid:
        raise GridError(f"{name}: n_valid=0 of {n_annotated} annotated voxels should be >= 1.")
    return max(round(n_valid / n_annotated, 4), 0.0001)


PACKED_SHARE = 0.2
"""Compressed bytes of a grid per byte of its array, as in the servers' files."""


def plan_retrieval(
    source: Any, ages: Collection[str], folder: str | Path, *, plane: str = "sagittal"
) -> pd.DataFrame:
    """Tabulate how many grids each age has, and how many are still to be downloaded.

    Listings and annotations are stored as by `retrieve_age`, grids are not. Bytes to fetch are
    estimated from the mean of the stored grids of the age or, without any, from the size of its
    annotation and `PACKED_SHARE`. Of simulated data nothing is to be downloaded.
    """
    return pd.DataFrame([_plan_age(StoredFiles(source, Path(folder, a)), a, plane) for a in ages])


def _plan_age(stored: StoredFiles, age: str, plane: str) -> dict[str, object]:
    stored.get("listing", LISTING_FILE, age)
    ids = [item_id for _, item_id in stored.list_wanted(age, plane)]
    sizes = [stored.size("energy", energy_file(item_id), age, item_id) for item_id in ids]
    known = [size for size in sizes if size is not None]
    n_to_fetch, each = len(sizes) - len(known), [size for size in known if size]
    if n_to_fetch and not each:
        stored.get("annotation", get_age(age).annotation_file, age)
        dims = stored.read_annotation(age).dims
        each = [PACKED_SHARE * ENERGY_DTYPE.itemsize * np.prod(dims)]
    return {
        "age": age,
        "n_grids": len(sizes),
        "n_stored": len(known),
        "stored_bytes": sum(known),
        "n_to_fetch": n_to_fetch,
        "bytes_to_fetch": round(n_to_fetch * np.mean(each)) if n_to_fetch else 0,
    }


def describe_plan(plan: pd.DataFrame) -> str:
    """Format a plan: one line for each age, and one for the total."""
    total = pd.DataFrame([{"age": "all", **plan.drop(columns="age").sum()}])
    return "\n".join(
        f"{row.age:>6}: {row.n_grids:,} grids; {row.n_stored:,} on disk "
        f"({row.stored_bytes / 1e9:.3f} GB), {row.n_to_fetch:,} to fetch "
        f"(about {row.bytes_to_fetch / 1e9:.3f} GB)"
        for row in pd.concat([plan, total]).itertuples()
    )
