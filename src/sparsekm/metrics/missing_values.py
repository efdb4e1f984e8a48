"""Missing values that a container keeps outside its values: masks, and markers among objects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import issparse


def mark_missing(values: Any) -> Any:
    """Return an argument in which what is missing is NaN, or None where values are no numbers.

    A masked value is a missing one: in a masked array, in a list of them, and among the stored
    values of a sparse matrix. So are the markers of pandas among objects and dates, and what its
    sparse columns do not store, unless that is 0. Everything else is returned as it is.
    """
    if isinstance(values, list | tuple) and any(isinstance(v, np.ma.MaskedArray) for v in values):
        values = np.ma.array([None if v is np.ma.masked else v for v in values])
    if isinstance(values, np.ma.MaskedArray):
        values = _fill(values)
    if issparse(values) and isinstance(getattr(values, "data", None), np.ma.MaskedArray):
        marked = values.copy()
        marked.data = _fill(values.data)
        return marked
    if isinstance(values, pd.DataFrame):
        return _mark_in_table(values)
    if isinstance(values, np.ndarray) and values.dtype.kind in "OmM":
        missing = pd.isna(values)
        return np.where(missing, np.nan, values.astype(object)) if missing.any() else values
    return values


def _fill(values: np.ma.MaskedArray) -> np.ndarray:
    if not np.ma.is_masked(values):
        return np.ma.getdata(values)
    if values.dtype.kind == "f":
        return values.filled(np.nan)
    if values.dtype.kind in "biu":
        return values.astype(np.float64).filled(np.nan)
    return np.where(np.ma.getmaskarray(values), None, np.ma.getdata(values).astype(object))


def _mark_in_table(table: pd.DataFrame) -> pd.DataFrame:
    kinds = list(table.dtypes)
    if all(isinstance(kind, pd.SparseDtype) for kind in kinds):
        zeros = all(kind.fill_value == 0 for kind in kinds)
        return table if zeros else table.sparse.to_dense()
    if any(kind.kind in "OmM" for kind in kinds) and table.isna().any(axis=None):
        marked = np.where(table.isna(), np.nan, table.to_numpy(dtype=object))
        return pd.DataFrame(marked, table.index, table.columns)
    return table
