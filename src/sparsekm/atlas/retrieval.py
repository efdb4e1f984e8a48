"""Planning the downloads of an age, checking its files, and storing them with a manifest.

A file is accepted only after it has been read. If a grid is invalid, only this replicate of its
gene is lost, and the manifest records the reason; if many are invalid, the run stops. Files of
earlier runs are not downloaded again; simulated files are drawn anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from pathlib import Path, PurePosixPath
from typing import Any

import pandas as pd

from sparsekm.atlas import NO_DATA, annotation_file
from sparsekm.atlas.grid import GridError, MissingGridError, Volume, read_annotation, read_energy
from sparsekm.atlas.listing import (
    EnvelopeError,
    parse_genes,
    parse_listing,
    parse_ontology,
    parse_rows,
    select_candidates,
)
from sparsekm.io.atomic import remove_unfinished, write_bytes
from sparsekm.io.hdf5_format import DamagedFileError
from sparsekm.io.tables import TABLES
from sparsekm.network import NotFoundError, Received, RefusedError, UnavailableError

MANIFEST = TABLES["manifest.csv"]
STATUSES = ("ok", "missing", "no_grid", "rejected", "not_fetched")
"""The statuses of a file, in this order.

It was checked and stored; the source does not have it; the archive is intact but has no volume; its
volume does not belong to this age or has invalid energies; or the download failed, and the settings
allow the file to be missing. Only files with the last status are downloaded again.
"""

LISTING_FILE = "listing.json"
MANIFEST_FILE = "manifest.csv"
TRUTH_FILE = "truth.csv"

MAX_REJECTED_SHARE = 0.1
"""Largest share of rejected grids; more indicate a general problem."""
MAX_FAILURES_IN_A_ROW = 5
"""Number of consecutive failures after which the source is considered down."""
PACKED_SHARE = 0.2
"""Compressed bytes of a grid per byte of its array, as in the servers' files."""


def digest(body: bytes) -> str:
    """Return the SHA-256 of a file's content in hexadecimal."""
    return hashlib.sha256(body).hexdigest()


def read_manifest(path: str | Path) -> pd.DataFrame:
    """Read a manifest, and check that statuses are known and files are in the age's folder."""
    table = MANIFEST.read(path)
    for status, file in zip(table["status"], map(PurePosixPath, table["file"]), strict=True):
        if status not in STATUSES:
            problem = f"status={status!r} should be one of {', '.join(STATUSES)}"
        elif file.is_absolute() or ".." in file.parts:
            problem = f"file={str(file)!r} should lie in the folder"
        else:
            continue
        raise DamagedFileError(path, problem, MANIFEST.rule)
    return table


class StoredFiles:
    """The files of a source in a folder, downloaded once, or simulated, and their manifest.

    A file has a role, the name of the source's method, and an item: its age, or age and id.
    """

    def __init__(self, source: Any, folder: str | Path):
        self.folder = Path(folder)
        self.entries: list[dict[str, Any]] = []
        self._source = source
        self._received = None if source.simulated else Received(folder)

    def get(self, role: str, file: str, *item: object) -> bytes:
        """Return the content of a file, then on disk, and add its entry to the manifest."""
        url = self._source.describe_url(role, *item)
        nothing = {"file": "", "bytes": 0, "sha256": "", "gene": "", "reason": ""}
        self.entries.append({"role": role, "url": url, "status": "ok", **nothing})
        body = self._fetch(role, file, url, *item)
        self.entries[-1] |= {"file": file, "bytes": len(body), "sha256": digest(body)}
        return body

    def _fetch(self, role: str, file: str, url: str, *item: object) -> bytes:
        fetch = getattr(self._source, role)
        if self._received is None:
            body = fetch(*item)
            write_bytes(body, self.folder / file)
            return body
        body = self._received.find(file, url)
        if body is None:
            try:
                body = fetch(*item)
            except NotFoundError:
                # Only grids can be known to be missing.
                if role == "energy":
                    self._received.add(file, url, None)
                raise
            self._received.add(file, url, body)
        return body

    def is_here(self, role: str, file: str, *item: object) -> bool:
        """Tell whether a file need not be downloaded."""
        url = self._source.describe_url(role, *item)
        return self._received is None or self._received.knows(file, url)

    def list_wanted(self, age: str, plane: str) -> pd.DataFrame:
        """List the usable section data sets of an age, at least one; see `parse_listing`."""
        body, path = self.get("listing", LISTING_FILE, age), self.folder / LISTING_FILE
        listed = parse_listing(*parse_rows(body, str(path)))
        usable, excluded = select_candidates(listed, age, plane=plane)
        if usable.empty:
            reasons = ", ".join(f"{reason}: {n}" for reason, n in excluded.items() if n)
            raise EnvelopeError(
                f"{path}: no section data set of plane={plane} is usable; at least one should be. "
                f"{len(listed)} are listed; of these are excluded: {reasons or 'none'}."
            )
        return usable

    def get_annotation(self, age: str) -> Volume:
        """Get the annotation of an age."""
        file = annotation_file(age)
        return read_annotation(self.get("annotation", file, age), str(self.folder / file))

    def write_manifest(self) -> pd.DataFrame:
        """Write the manifest, and return it."""
        table = pd.DataFrame(self.entries, columns=list(MANIFEST.columns), dtype=object)
        ids = {"section_data_set_id": "Int64", "gene_id": "Int64"}
        table = table.astype({**ids, "bytes": "int64"})
        MANIFEST.write(self.folder / MANIFEST_FILE, table)
        return table


def retrieve_tables(source: Any, folder: str | Path) -> pd.DataFrame:
    """Store the structure tree and the table of genes if they parse, and return the manifest."""
    stored = StoredFiles(source, folder)
    for role, parse in (("ontology", parse_ontology), ("genes", parse_genes)):
        file = f"{role}.json"
        parse(*parse_rows(stored.get(role, file), str(stored.folder / file)))
    return stored.write_manifest()


def retrieve_age(
    source: Any,
    age: str,
    folder: str | Path,
    *,
    plane: str = "sagittal",
    max_not_fetched: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Store all files of one age in its folder, and return the manifest.

    Up to `max_not_fetched` grids may be missing because a download failed, and a share of
    `MAX_REJECTED_SHARE` may be invalid. Otherwise raise an error and do not write a manifest.
    """
    folder = Path(folder)
    for place in (folder, folder / "energy"):
        remove_unfinished(place)
    # Without a manifest the files do not count as complete while they change.
    (folder / MANIFEST_FILE).unlink(missing_ok=True)
    stored = StoredFiles(source, folder)
    wanted, annotation = stored.list_wanted(age, plane), stored.get_annotation(age)
    in_a_row = 0
    for done, item in enumerate(wanted.itertuples(), start=1):
        found = _retrieve_energy(stored, age, item.id, annotation)
        of_gene = {"gene_id": item.gene_id, "gene": item.symbol}
        stored.entries[-1] |= {"section_data_set_id": item.id, **of_gene, **found}
        in_a_row = in_a_row + 1 if found.get("status") == "not_fetched" else 0
        if in_a_row == MAX_FAILURES_IN_A_ROW:
            raise UnavailableError(
                f"{age}: {in_a_row} consecutive downloads failed, after {done - in_a_row} of "
                f"{len(wanted)}. Run again to continue. The last failure: {found['reason']}"
            )
        if progress is not None:
            progress(done, len(wanted))
    _check_energies(age, pd.DataFrame(stored.entries[2:]), max_not_fetched)
    truth = source.truth(age)
    if truth is not None:
        write_bytes(truth, folder / TRUTH_FILE)
    return stored.write_manifest()


def energy_file(section_data_set_id: int) -> str:
    """Return the name of an energy zip relative to the age's folder."""
    return f"energy/{section_data_set_id}.zip"


def _retrieve_energy(stored: StoredFiles, age: str, item_id: int, annotation: Volume) -> dict:
    """Get and check one energy zip; return the manifest entry of an unusable one."""
    name = f"{age}, section data set {item_id}"
    try:
        energy = read_energy(stored.get("energy", energy_file(item_id), age, item_id), name)
        if energy.dims != annotation.dims:
            raise GridError(
                f"{name}: DimSize={energy.dims} should equal the annotation's {annotation.dims}."
            )
        if (energy.values[annotation.values != 0] == NO_DATA).all():
            raise GridError(f"{name}: no annotated voxel has a value; at least one should.")
    except NotFoundError:
        return {"status": "missing"}
    except MissingGridError:
        return {"status": "no_grid"}
    except UnavailableError as error:
        return {"status": "not_fetched", "reason": str(error)}
    except (RefusedError, GridError) as error:
        return {"status": "rejected", "reason": str(error)}
    return {}


def _check_energies(age: str, energies: pd.DataFrame, max_not_fetched: int) -> None:
    """Raise an error if too many grids are invalid or missing."""
    again = f"<= max_not_fetched={max_not_fetched}. Run again to continue"
    few = max(1, int(MAX_REJECTED_SHARE * len(energies)))
    for status, most, rule, kind in (
        ("rejected", few, f"at most {MAX_REJECTED_SHARE:.0%}", GridError),
        ("not_fetched", max_not_fetched, again, UnavailableError),
    ):
        reasons = energies.loc[energies["status"] == status, "reason"].tolist()
        if len(reasons) > most:
            raise kind(
                f"{age}: n_{status}={len(reasons)} of {len(energies)} grids are too many; there "
                f"should be {rule}. The first reason: {reasons[0]}"
            )


def plan_retrieval(
    source: Any, ages: Collection[str], folder: str | Path, *, plane: str = "sagittal"
) -> pd.DataFrame:
    """Tabulate how many grids each age and all have, and how many are still to be downloaded.

    Listings and annotations are stored as in `retrieve_age`; grids are not. Bytes to fetch are
    estimated from the size of the age's grid and `PACKED_SHARE`.
    """
    rows: list[tuple] = []
    for age in ages:
        stored = StoredFiles(source, Path(folder, age))
        ids = stored.list_wanted(age, plane)["id"].tolist()
        n_bytes = PACKED_SHARE * stored.get_annotation(age).values.nbytes
        n_stored = sum(stored.is_here("energy", energy_file(i), age, i) for i in ids)
        n_left = len(ids) - n_stored
        rows.append((age, len(ids), n_stored, n_left, round(n_left * n_bytes)))
    names = ["age", "n_grids", "n_stored", "n_to_fetch", "bytes_to_fetch"]
    plan = pd.DataFrame(rows, columns=names)
    plan.loc[len(plan)] = ["all", *plan[names[1:]].sum()]
    return plan
