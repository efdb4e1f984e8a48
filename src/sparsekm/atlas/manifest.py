"""The manifest of an age: every file that was asked for, and what became of it.

One CSV per age. ``status`` is

* ``ok``: checked and stored;
* ``missing``: the source has no such file;
* ``no_grid``: a sound archive without a volume;
* ``rejected``: a sound archive whose volume is not one of this age, or holds what is no energy;
* ``not_fetched``: the source could not give it, and the run was allowed to do without.

Only the last is asked for again.
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
    """One file of an age.

    Attributes
    ----------
    role : str
        ``"listing"``, ``"annotation"`` or ``"energy"``.
    file : str
        Name relative to the age's folder; empty where nothing was stored.
    url : str
        Where the file comes from.
    gene : str
        Symbol.
    valid_share : float or None
        Of an energy grid: the share of the annotated voxels that have data.
    reason : str
        Why a volume was rejected or could not be fetched.
    """

    role: str
    file: str
    url: str
    bytes: int
    sha256: str
    status: str
    section_data_set_id: int | None = None
    gene_id: int | None = None
    gene: str = ""
    valid_share: float | None = None
    reason: str = ""


def digest(body: bytes) -> str:
    """Give the SHA-256 of a body in hexadecimal."""
    return hashlib.sha256(body).hexdigest()


def write_manifest(path: str | Path, entries: list[ManifestEntry]) -> None:
    """Write a manifest, whole or not at all."""
    table = pd.DataFrame([asdict(entry) for entry in entries], columns=list(_FORMAT.columns))
    _FORMAT.write(path, table.astype({"section_data_set_id": "Int64", "gene_id": "Int64"}))


def read_manifest(path: str | Path) -> list[ManifestEntry]:
    """Read a manifest, whose statuses are known and whose files lie in the age's folder."""
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
