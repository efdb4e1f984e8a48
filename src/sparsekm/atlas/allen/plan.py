"""The plan of a download: numbers of grids and bytes, without downloading a grid."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import numpy as np
import pandas as pd

from sparsekm.atlas.retrieval import (
    LISTING_FILE,
    StoredFiles,
    energy_file,
    list_wanted,
    read_stored_annotation,
)
from sparsekm.atlas.sources import AtlasSource
from sparsekm.atlas.vocabulary import ENERGY_DTYPE, get_age

PACKED_SHARE = 0.2
"""Compressed bytes of a grid per byte of its array, as in the servers' files."""
_GIGABYTE = 1e9


def plan_retrieval(
    source: AtlasSource, ages: Collection[str], folder: str | Path, *, plane: str = "sagittal"
) -> pd.DataFrame:
    """Tabulate how many grids each age has, and how many are still to be downloaded.

    Listings and annotations are stored in the folder of the source as by `retrieve_age`, grids are
    not. Of simulated data nothing is to be downloaded.

    Each age has a row: age, n_grids, n_stored, stored_bytes, n_to_fetch, bytes_to_fetch. The last
    is estimated from the mean of the stored grids of the age or, without any, from the size of its
    annotation and `PACKED_SHARE`.
    """
    return pd.DataFrame([_plan_age(StoredFiles(source, Path(folder, a)), a, plane) for a in ages])


def describe_plan(plan: pd.DataFrame) -> str:
    """Format a plan: one line for each age, and one for the total."""
    total = plan.drop(columns="age").sum()
    lines = [_describe_row(row["age"], row) for _, row in plan.iterrows()]
    return "\n".join([*lines, _describe_row("all", total)])


def _plan_age(stored: StoredFiles, age: str, plane: str) -> dict[str, object]:
    stored.get("listing", LISTING_FILE, age)
    wanted = [item_id for _, item_id in list_wanted(stored.folder, age, plane)]
    sizes = [stored.size("energy", energy_file(item_id), age, item_id) for item_id in wanted]
    known = [size for size in sizes if size is not None]
    n_to_fetch = len(sizes) - len(known)
    each = 0.0
    if n_to_fetch:
        each = np.mean([size for size in known if size] or [_guess_bytes(stored, age)])
    return {
        "age": age,
        "n_grids": len(sizes),
        "n_stored": len(known),
        "stored_bytes": sum(known),
        "n_to_fetch": n_to_fetch,
        "bytes_to_fetch": round(n_to_fetch * each),
    }


def _guess_bytes(stored: StoredFiles, age: str) -> float:
    stored.get("annotation", get_age(age).annotation_file, age)
    dims = read_stored_annotation(stored.folder, age).dims
    return PACKED_SHARE * ENERGY_DTYPE.itemsize * np.prod(dims)


def _describe_row(name: str, row: pd.Series) -> str:
    return (
        f"{name:>6}: {row['n_grids']:,} grids; {row['n_stored']:,} on disk "
        f"({row['stored_bytes'] / _GIGABYTE:.3f} GB), {row['n_to_fetch']:,} to fetch "
        f"(about {row['bytes_to_fetch'] / _GIGABYTE:.3f} GB)"
    )
