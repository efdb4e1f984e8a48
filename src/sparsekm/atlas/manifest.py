"""The manifest of an age: every file that was asked for, and what became of it.

One CSV per age with the columns of `COLUMNS`. ``status`` is

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

from sparsekm.io.atomic import write_table
from sparsekm.io.checked_hdf5 import DamagedFileError
from sparsekm.io.checked_table import (
    NUMBER_OR_NOTHING,
    WHOLE,
    WHOLE_OR_NOTHING,
    convert_columns,
    read_words,
    require_columns,
)

COLUMNS = (
    "role",
    "section_data_set_id",
    "gene_id",
    "gene",
    "file",
    "url",
    "bytes",
    "sha256",
    "status",
    "valid_share",
    "reason",
)
_RULE = "retrieve_atlas"
_IDS = ("section_data_set_id", "gene_id")
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
    table = pd.DataFrame([asdict(entry) for entry in entries], columns=list(COLUMNS))
    for column in _IDS:
        table[column] = table[column].astype("Int64")
    write_table(table, path)


def read_manifest(path: str | Path) -> list[ManifestEntry]:
    """Read a manifest.

    Raises
    ------
    DamagedFileError
        If a column is missing, a status is not known, a number is none, or a file does not lie in
        the age's folder.
    """
    table = read_words(path, _RULE)
    require_columns(path, table, COLUMNS, _RULE)
    for status in table["status"].unique():
        if status not in STATUSES:
            raise DamagedFileError(
                path, f"status={status!r} should be one of {', '.join(STATUSES)}", _RULE
            )
    for file in table["file"]:
        name = PurePosixPath(file)
        if name.is_absolute() or ".." in name.parts:
            raise DamagedFileError(path, f"file={file!r} should lie in the folder", _RULE)
    kinds = {"bytes": WHOLE, "valid_share": NUMBER_OR_NOTHING}
    kinds |= dict.fromkeys(_IDS, WHOLE_OR_NOTHING)
    table = convert_columns(path, table[list(COLUMNS)], kinds, _RULE)
    return [
        ManifestEntry(**{name: None if pd.isna(value) else value for name, value in row.items()})
        for row in table.to_dict("records")
    ]
