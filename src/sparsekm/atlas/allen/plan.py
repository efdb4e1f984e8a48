"""The plan of a download: numbers of grids and bytes, without downloading a grid."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pandas as pd

from sparsekm.atlas.grid import read_annotation
from sparsekm.atlas.retrieval import list_wanted
from sparsekm.atlas.sources import AtlasSource
from sparsekm.atlas.vocabulary import ENERGY_DTYPE, get_age

PACKED_SHARE = 0.2
"""Compressed bytes of a grid per byte of its array, as in the servers' files."""
_GIGABYTE = 1e9


def plan_retrieval(
    source: AtlasSource, ages: Collection[str], *, plane: str = "sagittal"
) -> pd.DataFrame:
    """Tabulate how many grids each age has, and how many are still to be downloaded.

    Listings and annotations are downloaded unless the cache has them; grids are not. A source
    without ``cached_energy_bytes`` downloads nothing over a network.

    Each age has a row: age, n_grids, n_cached, cached_bytes, n_to_fetch, bytes_to_fetch. The last
    is estimated from the mean of the cached grids of the age or, without any, from the size of its
    annotation and `PACKED_SHARE`.
    """
    return pd.DataFrame([_plan_age(source, age, plane) for age in ages])


def describe_plan(plan: pd.DataFrame) -> str:
    """Format a plan: one line for each age, and one for the total."""
    total = plan.drop(columns="age").sum()
    lines = [_describe_row(row["age"], row) for _, row in plan.iterrows()]
    return "\n".join([*lines, _describe_row("all", total)])


def _plan_age(source: AtlasSource, age: str, plane: str) -> dict[str, object]:
    wanted = list_wanted(source.listing(age), age, plane)
    known_bytes = getattr(source, "cached_energy_bytes", lambda age, item_id: 0)
    sizes = [known_bytes(age, item_id) for _, item_id in wanted]
    known = [size for size in sizes if size is not None]
    n_to_fetch = len(sizes) - len(known)
    each = 0.0
    if n_to_fetch:
        each = np.mean([size for size in known if size] or [_guess_bytes(source, age)])
    return {
        "age": age,
        "n_grids": len(sizes),
        "n_cached": len(known),
        "cached_bytes": sum(known),
        "n_to_fetch": n_to_fetch,
        "bytes_to_fetch": round(n_to_fetch * each),
    }


def _guess_bytes(source: AtlasSource, age: str) -> float:
    name = get_age(age).annotation_file
    dims = read_annotation(source.annotation(age), f"{age}: {name}").dims
    return PACKED_SHARE * ENERGY_DTYPE.itemsize * np.prod(dims)


def _describe_row(name: str, row: pd.Series) -> str:
    return (
        f"{name:>6}: {row['n_grids']:,} grids; {row['n_cached']:,} in the cache "
        f"({row['cached_bytes'] / _GIGABYTE:.3f} GB), {row['n_to_fetch']:,} to fetch "
        f"(about {row['bytes_to_fetch'] / _GIGABYTE:.3f} GB)"
    )
