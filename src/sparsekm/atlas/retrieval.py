"""Planning the downloads of an age, checking its files, and storing them with a manifest.

A file is accepted only after it has been read in the expected format. If a grid is invalid, only
this replicate of its gene is lost, and the manifest records the reason; if many are, something else
is wrong, and the run stops. What earlier runs downloaded is not downloaded again, and stays when
the plane changes; simulated files are drawn anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pandas as pd

from sparsekm.atlas import NO_DATA, get_age
from sparsekm.atlas.grid import GridError, MissingGridError, Volume, read_annotation, read_energy
from sparsekm.atlas.listing import (
    EnvelopeError,
    parse_genes,
    parse_listing,
    parse_rows,
    select_candidates,
)
from sparsekm.atlas.ontology import parse_ontology
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

MANIFEST = TableFormat(
    "retrieve_atlas",
    {
        **columns(WORD, "role"),  # ``listing``, ``annotation`` or ``energy``
        **columns(WHOLE_OR_NOTHING, "section_data_set_id gene_id"),
        # The file is relative to the folder, empty if nothing was stored; the url is its origin.
        **columns(WORD, "gene file url"),
        **columns(WHOLE, "bytes"),
        **columns(WORD, "sha256 status"),
        # For an energy grid, the share of annotated voxels that have data.
        **columns(NUMBER_OR_NOTHING, "valid_share"),
        **columns(WORD, "reason"),  # why a volume was rejected or could not be downloaded
    },
)
STATUSES = ("ok", "missing", "no_grid", "rejected", "not_fetched")
"""Checked and stored; the source has no such file; an intact archive without a volume; one whose
volume does not belong to this age or has invalid energies; or the download failed, and the settings
allow it to be missing. Only the last are downloaded again."""

LISTING_FILE = "listing.json"
MANIFEST_FILE = "manifest.csv"
TRUTH_FILE = "truth.csv"

MAX_REJECTED_SHARE = 0.1
"""Largest share of rejected grids; more indicate a general problem."""
MAX_FAILURES_IN_A_ROW = 5
"""Number of consecutive failures after which the source is considered down."""
PACKED_SHARE = 0.2
"""Compressed bytes of a grid per byte of its array, as in the servers' files."""

Progress = Callable[[int, int], None]


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
        """Return the body of a file that is on disk now, and add its entry to the manifest."""
        url = self._source.describe_url(role, *item)
        nothing = {"file": "", "bytes": 0, "sha256": ""}
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
        return self._received.size(file, self._source.describe_url(role, *item))

    def list_wanted(self, age: str, plane: str) -> pd.DataFrame:
        """List the usable section data sets of an age, at least one; see `parse_listing`."""
        body, path = self.get("listing", LISTING_FILE, age), self.folder / LISTING_FILE
        listed = parse_listing(*parse_rows(body, str(path)))
        usable, excluded = select_candidates(listed, age, plane=plane)
        if usable.empty:
            reasons = ", ".join(f"{reason}: {n}" for reason, n in excluded.items() if n)
            raise EnvelopeError(
                f"{path}: n_section_data_sets=0 that are {plane} should be >= 1, of {len(listed)} "
                f"listed ({reasons or 'none'})."
            )
        return usable

    def get_annotation(self, age: str) -> Volume:
        """Get the annotation of an age."""
        file = get_age(age).annotation_file
        return read_annotation(self.get("annotation", file, age), str(self.folder / file))

    def write_manifest(self) -> pd.DataFrame:
        """Write the manifest, and return it."""
        table = pd.DataFrame(self.entries, columns=list(MANIFEST.columns), dtype=object)
        ids = {"section_data_set_id": "Int64", "gene_id": "Int64"}
        table = table.astype({**ids, "bytes": "int64", "valid_share": float})
        table = table.fillna({"gene": "", "reason": ""})
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
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Store all files of one age in its folder, and return the manifest.

    Its rows are the listing, the annotation, and each usable section data set of the plane. Up to
    `max_not_fetched` grids may be missing because a download failed.

    If the listing, the annotation or more than `MAX_REJECTED_SHARE` of the grids are invalid, raise
    a `GridError` or an `EnvelopeError`, and write no manifest.
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
                f"{len(wanted)}. Run again to continue. The last: {found['reason']}"
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
    """Get one energy zip, and return what was found: a share of valid voxels, or a status."""
    try:
        body = stored.get("energy", energy_file(item_id), age, item_id)
        name = f"{age}, section data set {item_id}"
        return {"valid_share": _measure_valid_share(body, name, annotation)}
    except NotFoundError:
        return {"status": "missing"}
    except MissingGridError:
        return {"status": "no_grid"}
    except UnavailableError as error:
        return {"status": "not_fetched", "reason": str(error)}
    except (RefusedError, GridError) as error:
        return {"status": "rejected", "reason": str(error)}


def _measure_valid_share(body: bytes, name: str, annotation: Volume) -> float:
    """Return the share of annotated voxels that have data, to four decimals; 0 is an error."""
    energy = read_energy(body, name)
    if energy.dims != annotation.dims:
        raise GridError(
            f"{name}: DimSize={energy.dims} should equal the annotation's {annotation.dims}."
        )
    valid = energy.values[annotation.values != 0] != NO_DATA
    if not valid.any():
        raise GridError(f"{name}: n_valid=0 of {valid.size} annotated voxels should be >= 1.")
    return max(round(valid.mean(), 4), 0.0001)


def _check_energies(age: str, energies: pd.DataFrame, max_not_fetched: int) -> None:
    """Raise an error if too many grids are invalid or missing."""
    failed = {name: rows for name, rows in energies.groupby("status") if name != "ok"}
    rejected, not_fetched = (failed.get(name, []) for name in ("rejected", "not_fetched"))
    if len(rejected) > max(1, MAX_REJECTED_SHARE * len(energies)):
        raise GridError(
            f"{age}: n_rejected={len(rejected)} of {len(energies)} grids should be at "
            f"most {MAX_REJECTED_SHARE:.0%}. The first: {rejected['reason'].iloc[0]}"
        )
    if len(not_fetched) > max_not_fetched:
        raise UnavailableError(
            f"{age}: n_not_fetched={len(not_fetched)} of {len(energies)} grids should be "
            f"<= max_not_fetched={max_not_fetched}. Run again to continue. The first: "
            f"{not_fetched['reason'].iloc[0]}"
        )


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
    ids = stored.list_wanted(age, plane)["id"].tolist()
    sizes = [stored.size("energy", energy_file(item_id), age, item_id) for item_id in ids]
    known = [size for size in sizes if size is not None]
    n_to_fetch, each = len(sizes) - len(known), [size for size in known if size]
    if n_to_fetch and not each:
        each = [PACKED_SHARE * stored.get_annotation(age).values.nbytes]
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
