"""The one edge where data enter: what NumPy, SciPy or pandas hold, and what to give instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import issparse

from sparsekm.cluster.matrices.sparse_checks import check_indices
from sparsekm.metrics.missing_values import mark_missing

_OF_A_FILE = "what the file holds, or on the command line `sparsekm run FILE`"

# By package and class: what to give in place of such data, {}.
INSTEAD = {
    "anndata.AnnData": "{0}.X, one of {0}.layers, or sparsekm.tl.sparse_kmeans({0}, n_clusters)",
    "anndata.BaseCompressedSparseDataset": "{}.to_memory()",
    "anndata.Raw": "{}.X",
    "builtins.dict": "pandas.DataFrame({})",
    "builtins.generator": "list({})",
    "builtins.str": _OF_A_FILE,
    "cudf.DataFrame": "{}.to_pandas()",
    "cupy.ndarray": "cupy.asnumpy({})",
    "h5py.Group": "anndata.io.sparse_dataset({}).to_memory()",
    "mudata.MuData": "{}.mod[name].X",
    "numpy.recarray": "pandas.DataFrame({})",
    "pandas.Series": "{}.to_frame() if it is the only feature",
    "pathlib.PurePath": _OF_A_FILE,
    "polars.LazyFrame": "{}.collect()",
    "polars.Series": "{}.to_frame() if it is the only feature",
    "sparsekm.StreamedMatrix": "its source as an array in memory; only `fit` and `path` of "
    "L0KMeans, L1KMeans and KMeans read blocks",
    "torch.Tensor": "{}.detach().cpu().numpy()",
    "xarray.Dataset": "{}.to_dataframe()",
    "zarr.Group": "anndata.io.sparse_dataset({}).to_memory()",
}


def as_readable(X: Any, name: str = "X") -> Any:
    """Return data as scikit-learn reads them: an array, a sparse matrix or a data frame.

    What dask holds is computed, what is masked is NaN, and indices of a sparse matrix are checked.
    Messages call the data `name`.

    Raises
    ------
    TypeError
        If NumPy cannot read X, or its values are no numbers.
    ValueError
        If a text is no number, or indices of a sparse matrix lie outside its shape.
    """
    X = mark_missing(compute(X))
    if hasattr(X, "to_scipy_sparse"):
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
    if not is_plain and not hasattr(X, "__array__"):
        raise wrong_type(name, X, INSTEAD)
    try:
        values = np.asanyarray(X)
    except Exception as error:
        raise wrong_type(name, X, INSTEAD) from error
    if values.dtype.names or (values.ndim != 2 and not is_plain):
        raise wrong_type(name, X, INSTEAD)
    _check_numbers(values, f"{name} is of type {type_name(X)} and dtype {values.dtype}")
    # The names of the features are read from a frame.
    return X if hasattr(X, "columns") or hasattr(X, "__dataframe__") else values


def compute(X: Any) -> Any:
    """Return what dask holds, or anything else as it is."""
    return X.compute() if hasattr(X, "__dask_graph__") else X


def wrong_type(
    name: str,
    value: object,
    instead: Mapping[str, str],
    otherwise: str = "a NumPy array, a CSR or CSC matrix of SciPy or a pandas DataFrame",
) -> TypeError:
    """Make the error that names the type of an argument and what to give in its place."""
    advice = next((instead[kind] for kind in type_names(value) if kind in instead), otherwise)
    return TypeError(f"{name} is of type {type_name(value)}: give {advice.format(name)}.")


def type_name(value: object) -> str:
    """Return the package and the name of a type; of Python's own types, the name alone."""
    return type_names(value)[0].removeprefix("builtins.")


def type_names(value: object) -> list[str]:
    """Return the package and the name of a type, and of those that it inherits from."""
    return [f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in type(value).__mro__]


def _check_numbers(values: np.ndarray | pd.Series, what: str) -> None:
    """Refuse dates, and texts and objects that are no numbers."""
    if values.dtype.kind in "mM":
        raise TypeError(f"{what}: every value should be a number.")
    if values.dtype.kind in "OSU":
        try:
            values.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{what}: every value should be a number; {error}.") from None
