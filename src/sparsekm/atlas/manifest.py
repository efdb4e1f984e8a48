"""The manifest of an age: every requested file and its status.

One CSV per age. ``status`` is

* ``ok``: checked and stored;
* ``missing``: the source has no such file;
* ``no_grid``: an intact archive without a volume;
* ``rejected``: an intact archive whose volume does not belong to this age or has invalid energies;
* ``not_fetched``: the download failed, and the settings allow it to be missing.

Only the last are downloaded again.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

import pandas as pd

from sparsekm.io.checked_hdf5 import DamagedFileError
from sparsekm.io.checked_table import NUMBER_OR_NOTHING, WHOLE, WHOLE_OR_NOTHING, WORD
from sparsekm.io.table_format import TableFormat

_FORMAT = TableFormat(
    "retrieve_atlas",
    {
        "role": WORD,
        "section_data_set_id": WHOLE_OR_NOTHING,
        "gene_id": WHOLE_OR_NOTHING,
        "gene": WORD,
        "file": WORD,
        "url": WORD,
        "bytes": WHOLE,
        "sha256": WORD,
        "status": WORD,
        "valid_share": NUMBER_OR_NOTHING,
        "reason": WORD,
    },
)
STATUSES = ("ok", "missing", "no_grid", "rejected", "not_fetched")


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
            raise DamagedFileError(
                path, f"status={status!r} should be one of {', '.join(STATUSES)}", _FORMAT.rule
            )
    for file in table["file"]:
        name = PurePosixPath(file)
        if name.is_absolute() or ".." in name.parts:
            raise DamagedFileError(path, f"file={file!r} should lie in the folder", _FORMAT.rule)
    return [
        ManifestEntry(**{name: None if pd.isna(value) else value for name, value in row.items()})
        for row in table.to_dict("records")
    ]
