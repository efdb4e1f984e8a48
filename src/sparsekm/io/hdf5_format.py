"""How the workflow's own HDF5 files are written and read: a format is a list of arrays.

The lengths of arrays have names. Within a file a name always means the same length, at least 1;
``n_clusters`` is the attribute of the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from sparsekm.io.atomic_hdf5 import atomic_hdf5
from sparsekm.io.attributes import read_attributes, write_attributes
from sparsekm.io.checked_hdf5 import DamagedFileError, open_checked, read_array


@dataclass(frozen=True)
class Array:
    """A numeric array."""

    name: str  # in the file
    dtype: type
    shape: tuple[str | int, ...] = ()  # lengths or their names; empty for a single number
    most: int | None = None  # largest value allowed; the smallest is then 0
    labels: bool = False  # whether the values are cluster labels, counted from 0
    finite: bool = True  # whether NaN and infinity are refused
    optional: bool = False  # whether the array may be missing; it is then None

    def write(self, opened: h5py.File, values: Any) -> None:
        """Write the array, unless it is optional and None."""
        if values is not None or not self.optional:
            opened[self.name] = np.asarray(values, dtype=self.dtype)

    def read(self, opened: h5py.File, lengths: dict[str, int], rule: str) -> Any:
        """Read and check the array; lengths that had no value yet are added to `lengths`."""
        if self.optional and self.name not in opened:
            return None
        values = read_array(
            opened,
            self.name,
            kind="f" if self.dtype is np.float64 else "i",
            shape=[n if isinstance(n, int) else lengths.get(n) for n in self.shape],
            rule=rule,
            dtype=self.dtype,
            finite=self.finite,
        )
        lengths.update(zip(self.shape, values.shape, strict=True))
        if values.size == 0:
            raise DamagedFileError(opened.filename, f"{self.name}: size=0 should be >= 1", rule)
        most = lengths["n_clusters"] - 1 if self.labels else self.most
        if most is not None and ((values < 0) | (values > most)).any():
            within = f"[0, {most + 1})" if self.labels else f"[0, {most}]"
            raise DamagedFileError(opened.filename, f"{self.name} should lie in {within}", rule)
        return values if self.shape else values.item()


@dataclass(frozen=True)
class SparseRows:
    """One or several rows of mostly zero weights, in compressed form (CSR) in a group.

    The lengths must be those of preceding arrays.
    """

    name: str
    shape: tuple[str, ...]

    def write(self, opened: h5py.File, values: np.ndarray) -> None:
        """Write the nonzero weights."""
        rows = np.atleast_2d(np.asarray(values, dtype=np.float64))
        row_of, column_of = np.nonzero(rows)
        group = opened.create_group(self.name)
        group["indptr"] = np.searchsorted(row_of, np.arange(len(rows) + 1)).astype(np.int64)
        group["indices"] = column_of.astype(np.int64)
        group["weights"] = rows[row_of, column_of]

    def read(self, opened: h5py.File, lengths: dict[str, int], rule: str) -> np.ndarray:
        """Read the rows as a dense array, after checking the indices."""
        file, name = opened.filename, self.name
        shape = tuple(lengths[length] for length in self.shape)
        n_rows, n_columns = (1, *shape)[-2:]
        group = opened.get(name)
        if not isinstance(group, h5py.Group):
            raise DamagedFileError(file, f"group {name!r} is missing", rule)
        indices = read_array(group, "indices", kind="i", shape=(None,), rule=rule)
        weights = read_array(group, "weights", kind="f", shape=indices.shape, rule=rule)
        indptr = read_array(group, "indptr", kind="i", shape=(n_rows + 1,), rule=rule)
        if indptr[0] != 0 or indptr[-1] != indices.size or (np.diff(indptr) < 0).any():
            raise DamagedFileError(
                file, f"{name}/indptr does not divide the indices into rows", rule
            )
        if indices.size and not (0 <= indices.min() and indices.max() < n_columns):
            raise DamagedFileError(file, f"{name}/indices should lie in [0, {n_columns})", rule)
        rows = np.zeros((n_rows, n_columns))
        rows[np.repeat(np.arange(n_rows), np.diff(indptr)), indices] = weights
        return rows.reshape(shape)


@dataclass(frozen=True)
class Hdf5Format:
    """A kind of file: its arrays by their names in memory, in the order of writing."""

    kind: str
    rule: str
    arrays: Mapping[str, Array | SparseRows]

    def write(
        self, file: str | Path, values: Mapping[str, Any], attributes: Mapping[str, Any]
    ) -> None:
        """Write a file atomically."""
        with atomic_hdf5(file) as opened:
            for name, array in self.arrays.items():
                array.write(opened, values[name])
            write_attributes(opened, self.kind, attributes)

    def read(self, file: str | Path) -> tuple[dict[str, Any], dict[str, Any]]:
        """Read and check the arrays and attributes of a file."""
        with open_checked(file, self.rule) as opened:
            attributes = read_attributes(opened, self.kind, self.rule)
            lengths = {"n_clusters": attributes["n_clusters"]}
            arrays = {
                name: array.read(opened, lengths, self.rule) for name, array in self.arrays.items()
            }
        return arrays, attributes
