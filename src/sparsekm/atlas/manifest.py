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
from pathlib import Path

import pandas as pd

from sparsekm.storage.atomic import write_table

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
_NUMBERS = {
    "section_data_set_id": "Int64",
    "gene_id": "Int64",
    "bytes": "Int64",
    "valid_share": "float64",
}
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
    bytes : int
    sha256 : str
    status : str
    section_data_set_id, gene_id : int or None
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
    for column in ("section_data_set_id", "gene_id"):
        table[column] = table[column].astype("Int64")
    write_table(table, path)


def read_manifest(path: str | Path) -> list[ManifestEntry]:
    """Read a manifest.

    Raises
    ------
    ValueError
        If a column is missing or a status is not known.
    """
    path = Path(path)
    table = pd.read_csv(
        path,
        dtype={**dict.fromkeys(COLUMNS, str), **_NUMBERS},
        keep_default_na=False,
        na_values={column: [""] for column in _NUMBERS},
    )
    absent = [column for column in COLUMNS if column not in table.columns]
    if absent:
        raise ValueError(f"{path}: columns should include {', '.join(absent)}.")
    for status in table["status"].unique():
        if status not in STATUSES:
            raise ValueError(f"{path}: status={status!r} should be one of {', '.join(STATUSES)}.")
    return [
        ManifestEntry(**{column: _plain(value) for column, value in zip(COLUMNS, row, strict=True)})
        for row in table[list(COLUMNS)].itertuples(index=False, name=None)
    ]


def _plain(value: object) -> object:
    if pd.isna(value):
        return None
    return value if isinstance(value, str | float) else int(value)
