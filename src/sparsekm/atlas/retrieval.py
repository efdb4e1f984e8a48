"""Fetch the files of an age from a source, check each one, and store it with a manifest.

A body counts only after it has been read as what it should be: an archive that is whole, with a
header that fits its array and the dimensions of that age's annotation. Nothing here remembers an
earlier run: a source that is slow to ask keeps a cache of its own.

Files of an age, in ``{root}/{age}/``: ``listing.json``, the annotation zip under its server name,
``energy/{section data set id}.zip``, ``manifest.csv``, and for simulated data ``truth.csv``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sparsekm.atlas.envelope import open_envelope, parse_json
from sparsekm.atlas.grid import GridError, MissingGridError, read_annotation, read_energy
from sparsekm.atlas.listing import Gene, parse_listing, select_candidates
from sparsekm.atlas.manifest import ManifestEntry, digest, write_manifest
from sparsekm.atlas.ontology import parse_ontology
from sparsekm.atlas.sources import AtlasSource, NotFoundError
from sparsekm.atlas.vocabulary import get_age
from sparsekm.storage.atomic import atomic_path

LISTING_FILE = "listing.json"
MANIFEST_FILE = "manifest.csv"
TRUTH_FILE = "truth.csv"
ENERGY_FOLDER = "energy"

Progress = Callable[[int, int], None]


def retrieve_ontology(source: AtlasSource, path: str | Path) -> None:
    """Fetch the structure tree, check that it parses, and store it.

    Raises
    ------
    OntologyError, EnvelopeError
    """
    body = source.ontology()
    parse_ontology(parse_json(body, "ontology"), "ontology")
    _store(Path(path), body)


def retrieve_age(
    source: AtlasSource,
    age: str,
    folder: str | Path,
    *,
    plane: str = "sagittal",
    progress: Progress | None = None,
) -> list[ManifestEntry]:
    """Fetch all files of one age.

    Parameters
    ----------
    source : AtlasSource
    age : str
    folder : path
        The age's own folder, ``data/raw/{age}``.
    plane : str
        Plane of section of the data sets to fetch.
    progress : callable, optional
        Called as ``progress(done, total)`` after each energy grid.

    Returns
    -------
    list of ManifestEntry
        What was written to ``manifest.csv``: listing, annotation, then one entry for each usable
        section data set.

    Raises
    ------
    GridError, EnvelopeError
        If a file is not what it should be; then there is no manifest, only the files before it.
    NotFoundError
        If the source has no annotation or listing for the age.
    """
    folder = Path(folder)
    annotation_file = get_age(age).annotation_file
    listing, annotation = source.listing(age), source.annotation(age)
    dims = read_annotation(annotation, f"{age}: {annotation_file}").dims
    rows = open_envelope(parse_json(listing, f"{age}: {LISTING_FILE}"), f"{age}: {LISTING_FILE}")
    candidates, _ = select_candidates(parse_listing(rows, LISTING_FILE), age, plane=plane)
    # While files change, none may pass for a complete set.
    (folder / MANIFEST_FILE).unlink(missing_ok=True)
    entries = [
        _store_entry(folder, "listing", LISTING_FILE, listing, source.describe_url("listing", age)),
        _store_entry(
            folder,
            "annotation",
            annotation_file,
            annotation,
            source.describe_url("annotation", age),
        ),
    ]
    wanted = [(gene, item.id) for gene, items in candidates.items() for item in items]
    for done, (gene, item_id) in enumerate(wanted, start=1):
        entries.append(_retrieve_energy(source, age, folder, gene, item_id, dims))
        if progress is not None:
            progress(done, len(wanted))
    truth = source.truth(age)
    if truth is not None:
        _store(folder / TRUTH_FILE, truth)
    write_manifest(folder / MANIFEST_FILE, entries)
    _remove_unlisted(folder, entries)
    return entries


def energy_file(section_data_set_id: int) -> str:
    """Name of a stored energy zip relative to the age's folder."""
    return f"{ENERGY_FOLDER}/{section_data_set_id}.zip"


def _retrieve_energy(
    source: AtlasSource,
    age: str,
    folder: Path,
    gene: Gene,
    item_id: int,
    dims: tuple[int, int, int],
) -> ManifestEntry:
    body, status = _ask_energy(source, age, item_id, dims)
    file = energy_file(item_id) if status == "ok" else ""
    if file:
        _store(folder / file, body)
    return ManifestEntry(
        role="energy",
        file=file,
        url=source.describe_url("energy", age, item_id),
        bytes=len(body),
        sha256=digest(body) if body else "",
        status=status,
        section_data_set_id=item_id,
        gene_id=gene.id,
        gene=gene.symbol,
    )


def _ask_energy(
    source: AtlasSource, age: str, item_id: int, dims: tuple[int, int, int]
) -> tuple[bytes, str]:
    """Fetch and check one energy zip; a sound archive without a grid is an answer, not an error."""
    name = f"{age}, section data set {item_id}"
    try:
        body = source.energy(age, item_id)
        found = read_energy(body, name).dims
    except NotFoundError:
        return b"", "missing"
    except MissingGridError:
        return body, "no_grid"
    if found != dims:
        raise GridError(f"{name}: DimSize={found} should equal the annotation's {dims}.")
    return body, "ok"


def _store_entry(folder: Path, role: str, file: str, body: bytes, url: str) -> ManifestEntry:
    _store(folder / file, body)
    return ManifestEntry(role, file, url, len(body), digest(body), "ok")


def _store(path: Path, body: bytes) -> None:
    with atomic_path(path) as temporary:
        temporary.write_bytes(body)


def _remove_unlisted(folder: Path, entries: list[ManifestEntry]) -> None:
    """Drop energy grids an earlier run with other settings left behind."""
    listed = {entry.file for entry in entries}
    for path in (folder / ENERGY_FOLDER).glob("*.zip"):
        if f"{ENERGY_FOLDER}/{path.name}" not in listed:
            path.unlink()
