"""The only place where data enter: check whether NumPy can read a caller's data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, issparse

from sparsekm.metrics import mark_missing


def check_indices(X: Any) -> None:
    """Refuse, by a ValueError, a CSR or CSC matrix whose indices lie outside its shape."""
    if not issparse(X) or X.format not in ("csr", "csc"):
        return
    n_lines, n_places = X.shape if X.format == "csr" else X.shape[::-1]
    starts, n_stored = X.indptr, min(len(X.indices), len(X.data))
    falls = (np.diff(starts, append=n_stored) < 0).any()
    if len(starts) != n_lines + 1 or starts[0] != 0 or falls:
        raise ValueError(
            f"X.indptr should have {n_lines + 1} entries ({X.format.upper()} format), begin with "
            f"0, never fall, and end with at most {n_stored}, the number of stored values."
        )
    used = X.indices[: starts[-1]]
    if len(used) and (used.min() < 0 or used.max() >= n_places):
        wrong = used.min() if used.min() < 0 else used.max()
        n_what = "n_features" if X.format == "csr" else "n_samples"
        raise ValueError(f"X.indices holds {wrong}; should be >= 0 and < {n_what}={n_places}.")


def in_canonical_format(X: Any) -> np.ndarray | csr_array:
    """Return checked data, a CSR or CSC matrix as a csr_array, sorted and without duplicates."""
    if not issparse(X):
        return X
    rows = X.tocsr()
    if not rows.has_canonical_format:
        # The caller's data are not changed.
        rows = rows.copy() if rows is X else rows
        rows.sum_duplicates()
    return csr_array((rows.data, rows.indices, rows.indptr), rows.shape)


_OF_A_FILE = "what the file holds, or on the command line `sparsekm run FILE`"

# What to give instead of data of a package and class; {} is the name of the argument.
INSTEAD = {
    "anndata.AnnData": "{0}.X, one of {0}.layers, or sparsekm.tl.sparse_kmeans({0}, n_clusters)",
    "anndata.BaseCompressedSparseDataset": "{}.to_memory()",
    "anndata.Raw": "{}.X",
    "builtins.dict": "pandas.DataFrame({})",
    "builtins.generator": "list({})",
    "builtins.str": _OF_A_FILE,
    "pandas.Series": "{}.to_frame() if it is the only feature",
    "pathlib.PurePath": _OF_A_FILE,
    "sparsekm.StreamedMatrix": "its source as an array in memory; only `fit` and `path` of "
    "L0KMeans, L1KMeans and KMeans read blocks",
}


def as_readable(X: Any, name: str = "X") -> Any:
    """Return data as scikit-learn reads them: an array, a sparse matrix or a data frame.

    Arrays of dask are computed, and masked values become NaN. Data that NumPy cannot read as
    numbers are a TypeError; texts that are not numbers, or indices outside the shape, are a
    ValueError.
    """
    if type(X) is np.ndarray and X.dtype.kind == "f":
        return X
    X = mark_missing(compute(X))
    # A data frame has its columns as attributes; its type does not.
    if hasattr(type(X), "to_scipy_sparse"):
        X = X.to_scipy_sparse()
    if issparse(X):
        check_indices(X)
        return mark_missing(X)
    X = mark_missing(X)
    if isinstance(X, pd.DataFrame):
        for place, dtype in enumerate(X.dtypes):
            what = f"{name} has the column {X.columns[place]!r} of dtype {dtype}"
            _check_numbers(X.iloc[:, place], what)
        return X
    is_plain = isinstance(X, np.ndarray | Sequence) and not isinstance(X, str | bytes)
    try:
        values = np.asanyarray(X if is_plain else X.__array__())
    except Exception as error:
        raise wrong_type(name, X, INSTEAD) from error
    if values.dtype.names or (values.ndim != 2 and not is_plain):
        raise wrong_type(name, X, INSTEAD)
    _check_numbers(values, f"{name} is of type {type_name(X)} and dtype {values.dtype}")
    # scikit-learn reads the names of the features from a data frame.
    return X if hasattr(X, "columns") or hasattr(X, "__dataframe__") else values


def compute(X: Any) -> Any:
    """Compute an array of dask; return anything else unchanged."""
    return X.compute() if hasattr(type(X), "__dask_graph__") else X


def wrong_type(
    name: str,
    value: object,
    instead: Mapping[str, str],
    otherwise: str = "a NumPy array, a CSR or CSC matrix of SciPy or a pandas DataFrame",
) -> TypeError:
    """Make the error that names the type of an argument and what to give instead."""
    advice = next((instead[kind] for kind in type_names(value) if kind in instead), otherwise)
    return TypeError(f"{name} is of type {type_name(value)}: give {advice.format(name)}.")


def type_name(value: object) -> str:
    """Return the package and the name of a type; for built-in types, only the name."""
    return type_names(value)[0].removeprefix("builtins.")


def type_names(value: object) -> list[str]:
    """Return the package and the name of a type and of the types that it inherits from."""
    return [f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in type(value).__mro__]


def _check_numbers(values: np.ndarray | pd.Series, what: str) -> None:
    """Refuse dates, and texts and objects that are not numbers."""
    if values.dtype.kind in "mM":
        raise TypeError(f"{what}: every value should be a number.")
    if values.dtype.kind in "OSU":
        try:
            values.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{what}: every value should be a number; {error}.") from None


Seed = int | np.random.RandomState | np.random.Generator | np.random.SeedSequence | None
