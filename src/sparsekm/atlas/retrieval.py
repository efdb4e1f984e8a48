"""Downloading the files of an age from a source, checking them, and storing them with a manifest.

A file is accepted only after it has been read in the expected format: a complete archive, with a
header that matches its array and the dimensions of the age's annotation. If a grid is invalid, only
this replicate of its gene is lost, and the manifest records the reason; if many are invalid,
something else is wrong, and the run stops. This module keeps nothing from earlier runs; a slow
source has its own cache.

Files of an age, in ``{root}/{age}/``: ``listing.json``, the annotation zip under its server name,
``energy/{section data set id}.zip``, ``manifest.csv``, and for simulated data ``truth.csv``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sparsekm.atlas.envelope import EnvelopeError, open_envelope, parse_json
from sparsekm.atlas.gene_metadata import parse_genes
from sparsekm.atlas.grid import GridError, MissingGridError, Volume, read_annotation, read_energy
from sparsekm.atlas.listing import Gene, parse_listing, select_candidates
from sparsekm.atlas.manifest import ManifestEntry, digest, write_manifest
from sparsekm.atlas.ontology import parse_ontology
from sparsekm.atlas.sources import AtlasSource
from sparsekm.atlas.vocabulary import NO_DATA, get_age
from sparsekm.io.atomic import remove_unfinished, write_bytes
from sparsekm.network.errors import NotFoundError, RefusedError, UnavailableError
from sparsekm.network.prefetch import fetch_in_order

LISTING_FILE = "listing.json"
MANIFEST_FILE = "manifest.csv"
TRUTH_FILE = "truth.csv"
ENERGY_FOLDER = "energy"

MAX_REJECTED_SHARE = 0.1
"""Largest share of rejected grids; more indicate a general problem."""
MAX_FAILURES_IN_A_ROW = 5
"""Number of consecutive failures after which the source is considered down."""

Progress = Callable[[int, int], None]


def retrieve_ontology(source: AtlasSource, path: str | Path) -> None:
    """Download the structure tree, check that it parses, and store it."""
    body = source.ontology()
    parse_ontology(parse_json(body, "ontology"), "ontology")
    write_bytes(body, path)


def retrieve_genes(source: AtlasSource, path: str | Path) -> None:
    """Download the table of genes, check that it parses, and store it."""
    body = source.genes()
    parse_genes(open_envelope(parse_json(body, "genes"), "genes"), "genes")
    write_bytes(body, path)


def retrieve_age(
    source: AtlasSource,
    age: str,
    folder: str | Path,
    *,
    plane: str = "sagittal",
    max_not_fetched: int = 0,
    progress: Progress | None = None,
) -> list[ManifestEntry]:
    """Download all files of one age into its folder, and return the entries of ``manifest.csv``.

    The entries are the listing, the annotation, and each usable section data set of the plane. Up
    to `max_not_fetched` grids may be missing because a download failed.

    If the listing, the annotation or more than `MAX_REJECTED_SHARE` of the grids are invalid, raise
    a `GridError` or an `EnvelopeError`, and write no manifest. Other errors are those of
    `sparsekm.network.errors`.
    """
    folder = Path(folder)
    listing, body = source.listing(age), source.annotation(age)
    annotation = read_annotation(body, f"{age}: {get_age(age).annotation_file}")
    wanted = list_wanted(listing, age, plane)
    remove_unfinished(folder)
    # Without a manifest the files do not count as complete while they change.
    (folder / MANIFEST_FILE).unlink(missing_ok=True)
    entries = [
        _store_entry(source, age, folder, "listing", LISTING_FILE, listing),
        _store_entry(source, age, folder, "annotation", get_age(age).annotation_file, body),
    ]
    entries += _retrieve_energies(source, age, folder, wanted, annotation, progress)
    _check_entries(age, entries, max_not_fetched)
    truth = source.truth(age)
    if truth is not None:
        write_bytes(truth, folder / TRUTH_FILE)
    write_manifest(folder / MANIFEST_FILE, entries)
    _remove_unlisted(folder, entries)
    return entries


def list_wanted(listing: bytes, age: str, plane: str) -> list[tuple[Gene, int]]:
    """List the section data sets to download, at least one, each with its gene.

    `listing` is JSON in the servers' envelope.
    """
    where = f"{age}: {LISTING_FILE}"
    rows = open_envelope(parse_json(listing, where), where)
    candidates, excluded = select_candidates(parse_listing(rows, where), age, plane=plane)
    if not candidates:
        reasons = ", ".join(f"{reason}: {n}" for reason, n in excluded.items() if n)
        raise EnvelopeError(
            f"{where}: n_section_data_sets=0 that are {plane} should be >= 1, of {len(rows)} "
            f"listed ({reasons or 'none'})."
        )
    return [(gene, item.id) for gene, items in candidates.items() for item in items]


def energy_file(section_data_set_id: int) -> str:
    """Return the name of an energy zip relative to the age's folder."""
    return f"{ENERGY_FOLDER}/{section_data_set_id}.zip"


def _retrieve_energies(
    source: AtlasSource,
    age: str,
    folder: Path,
    wanted: list[tuple[Gene, int]],
    annotation: Volume,
    progress: Progress | None,
) -> list[ManifestEntry]:
    """Download, check and store the energies, in the given order."""
    entries: list[ManifestEntry] = []
    in_a_row = 0

    def fetch(item: tuple[Gene, int]) -> Download:
        return download_energy(source, age, item[1], annotation)

    received = fetch_in_order(fetch, wanted, at_once=source.at_once)
    for (gene, item_id), download in zip(wanted, received, strict=True):
        file = energy_file(item_id) if download.status == "ok" else ""
        if file:
            write_bytes(download.body, folder / file)
        entries.append(
            ManifestEntry(
                role="energy",
                file=file,
                url=source.describe_url("energy", age, item_id),
                bytes=len(download.body),
                sha256=digest(download.body) if download.body else "",
                status=download.status,
                section_data_set_id=item_id,
                gene_id=gene.id,
                gene=gene.symbol,
                valid_share=download.valid_share,
                reason=download.reason,
            )
        )
        in_a_row = in_a_row + 1 if download.status == "not_fetched" else 0
        if in_a_row == MAX_FAILURES_IN_A_ROW:
            raise UnavailableError(
                f"{age}: {in_a_row} consecutive downloads failed, after "
                f"{len(entries) - in_a_row} of {len(wanted)}. Run again to continue. The last: "
                f"{download.reason}"
            )
        if progress is not None:
            progress(len(entries), len(wanted))
    return entries


def _check_entries(age: str, entries: list[ManifestEntry], max_not_fetched: int) -> None:
    """Raise an error if too many grids are invalid or missing."""
    energies = [entry for entry in entries if entry.role == "energy"]
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


def _store_entry(
    source: AtlasSource, age: str, folder: Path, role: str, file: str, body: bytes
) -> ManifestEntry:
    write_bytes(body, folder / file)
    url = source.describe_url(role, age)
    return ManifestEntry(role, file, url, len(body), digest(body), "ok")


def _remove_unlisted(folder: Path, entries: list[ManifestEntry]) -> None:
    """Remove energy grids left by an earlier run with other settings."""
    listed = {entry.file for entry in entries}
    for path in (folder / ENERGY_FOLDER).glob("*.zip"):
        # A file whose name is not an id belongs to the user.
        if path.stem.isdigit() and f"{ENERGY_FOLDER}/{path.name}" not in listed:
            path.unlink()


@dataclass(frozen=True)
class Download:
    """The result of downloading one energy grid."""

    # As in the manifest: ``ok``, ``missing``, ``no_grid``, ``rejected`` or ``not_fetched``.
    status: str
    body: bytes = b""  # the zip; empty if there is none
    valid_share: float | None = None  # share of the annotated voxels that have data
    reason: str = ""  # why it was rejected or could not be downloaded


def download_energy(
    source: AtlasSource, age: str, section_data_set_id: int, annotation: Volume
) -> Download:
    """Download and check one energy zip, whose grid must have the dimensions of the annotation."""
    name = f"{age}, section data set {section_data_set_id}"
    try:
        body = source.energy(age, section_data_set_id)
    except NotFoundError:
        return Download("missing")
    except UnavailableError as error:
        return Download("not_fetched", reason=str(error))
    except RefusedError as error:
        return Download("rejected", reason=str(error))
    try:
        share = measure_valid_share(read_energy(body, name), annotation, name)
    except MissingGridError:
        return Download("no_grid", body)
    except GridError as error:
        return Download("rejected", body, reason=str(error))
    return Download("ok", body, share)


def measure_valid_share(energy: Volume, annotation: Volume, name: str) -> float:
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
