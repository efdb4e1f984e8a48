"""Rows of mostly zero weights in compressed form (CSR) inside an HDF5 group."""

from __future__ import annotations

import h5py
import numpy as np

from sparsekm.storage.checked_hdf5 import DamagedFileError, read_array


def write_rows(parent: h5py.Group, name: str, rows: np.ndarray) -> None:
    """Write (m, p) rows as the group `name` with ``indptr``, ``indices`` and ``weights``.

    Parameters
    ----------
    parent : Group or File
    name : str
    rows : array of shape (m, p)
    """
    rows = np.atleast_2d(np.asarray(rows, dtype=np.float64))
    row_of, column_of = np.nonzero(rows)
    group = parent.create_group(name)
    group["indptr"] = np.searchsorted(row_of, np.arange(len(rows) + 1)).astype(np.int64)
    group["indices"] = column_of.astype(np.int64)
    group["weights"] = rows[row_of, column_of]


def read_rows(parent: h5py.Group, name: str, n_rows: int, n_columns: int, rule: str) -> np.ndarray:
    """Read back the dense (m, p) rows after checking that the indices can be true."""
    file = parent.file.filename
    group = parent.get(name)
    if not isinstance(group, h5py.Group):
        raise DamagedFileError(file, f"group {name!r} is missing", rule)
    indices = read_array(group, "indices", kind="i", shape=(None,), rule=rule)
    weights = read_array(group, "weights", kind="f", shape=indices.shape, rule=rule)
    indptr = read_array(group, "indptr", kind="i", shape=(n_rows + 1,), rule=rule)
    if indptr[0] != 0 or indptr[-1] != indices.size or (np.diff(indptr) < 0).any():
        raise DamagedFileError(file, f"{name}/indptr does not divide the indices into rows", rule)
    if indices.size and not (0 <= indices.min() and indices.max() < n_columns):
        raise DamagedFileError(file, f"{name}/indices should lie in [0, {n_columns})", rule)
    rows = np.zeros((n_rows, n_columns))
    rows[np.repeat(np.arange(n_rows), np.diff(indptr)), indices] = weights
    return rows
