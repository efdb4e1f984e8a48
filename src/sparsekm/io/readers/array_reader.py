"""Reading a matrix from a file of named arrays: a NumPy archive (``.npz``) or plain HDF5 (``.h5``).

Arrays: ``X`` (n, p); optional ``y`` or ``labels`` (n,), ``genes`` or ``features`` (p,),
``samples`` (n,), ``relevant`` (p,) bool, and groups of samples (n,) under any name. HDF5 may be
chunked and compressed, and its arrays may be in groups. Arrays of Python objects are refused, since
loading them would run code.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from sparsekm.io.input_error import reason_of
from sparsekm.io.readers.anndata_reader import check_relevant, read_anndata
from sparsekm.io.readers.contained_hdf5 import open_contained
from sparsekm.io.readers.named import Stored, assemble, is_turned
from sparsekm.io.readers.raw_matrix import (
    MatrixError,
    RawMatrix,
    check_size,
    explain_damage,
    quoted,
    shown,
    suggest,
)
from sparsekm.io.readers.tenx_reader import read_tenx_h5, tenx_group
from sparsekm.io.readers.value_blocks import Opened

_FEATURES = ("genes", "features")
_LABELS = ("y", "labels")


def read_npz(
    file: Path, labels: str | None = None, groups: str | None = None, **settings: Any
) -> RawMatrix:
    """Read and check a matrix; see `reader.read_matrix` for parameters and errors."""
    with (
        file.open("rb") as opened,
        explain_damage(file, ".npz archive", "numpy.savez."),
        np.load(opened, allow_pickle=False) as archive,
    ):
        names = sorted(archive)
        if {"data", "indices", "indptr", "shape"} <= {*names}:
            raise MatrixError(
                f"{file}: a sparse matrix of SciPy is not read. Convert it: python -c 'import "
                "numpy, "
                f'scipy.sparse; numpy.savez("{file.with_suffix("")}_dense.npz", '
                f'X=scipy.sparse.load_npz("{file}").toarray())\', and give what that writes.'
            )
        name, remarks = _find_matrix(archive, names, "X")
        matrix = _take_matrix(file, archive, names, name)
        opened_matrix = partial(nullcontext, matrix)
        wanted = {"labels": labels, "groups": groups}
        raw = _read(file, archive, names, wanted, matrix.shape, opened_matrix, **settings)
        raw.remarks[:0] = remarks
        return raw


def read_h5(
    file: Path,
    labels: str | None = None,
    layer: str | None = None,
    groups: str | None = None,
    **settings: Any,
) -> RawMatrix:
    """Read and check a matrix; see `reader.read_matrix` for parameters and errors.

    A file of AnnData or of 10x Genomics, whatever its ending, is read as such.
    """
    name = layer or "X"

    @contextmanager
    def matrix() -> Iterator[h5py.Dataset]:
        with open_contained(file, "h5py") as again:
            yield again[name]

    with open_contained(file, "h5py") as opened:
        if all(isinstance(opened.get(name), h5py.Group) for name in ("obs", "var")):
            return read_anndata(file, labels, layer, groups, **settings)
        group = tenx_group(opened, layer)
        if group is not None:
            return read_tenx_h5(file, opened, group, labels, groups, **settings)
        found = set(opened)
        opened.visititems(
            lambda name, node: found.add(name) if isinstance(node, h5py.Dataset) else None
        )
        names = sorted(name for name in found if isinstance(opened.get(name), h5py.Dataset))
        if any(one.endswith("block0_values") for one in names):
            raise MatrixError(
                f"{file}: a table that pandas wrote as HDF5 is not read. Convert it: python -c "
                "'import "
                f'pandas; pandas.read_hdf("{file}").to_csv("{file.with_suffix(".csv")}")\', and '
                "give "
                "what that writes."
            )
        name, remarks = _find_matrix(opened, names, name)
        shape = _take_matrix(file, opened, names, name).shape
        wanted = {"labels": labels, "groups": groups}
        raw = _read(file, opened, names, wanted, shape, matrix, **settings)
        raw.remarks[:0] = remarks
        return raw


def _find_matrix(arrays: Mapping[str, Any], names: list[str], name: str) -> tuple[str, list[str]]:
    """Return the name of the matrix, and a remark if it is the only one and has another name."""
    if name in names or name != "X":
        return name, []
    with contextlib.suppress(ValueError):
        found = [one for one in names if len(arrays[one].shape) == 2]
        if len(found) == 1:
            return found[0], [f"the matrix is {found[0]!r}, the only array with two axes."]
    return name, []


def _take_matrix(
    file: Path, arrays: Mapping[str, Any], names: list[str], name: str
) -> np.ndarray | h5py.Dataset:
    if name not in names:
        is_h5 = isinstance(arrays, h5py.File)
        found = [one for one in names if is_h5 and len(arrays[one].shape) == 2]
        raise MatrixError(
            f"{file}: arrays={shown(names)} should include {name!r} (samples x features)."
            + (f" Set layer: {quoted(found[0])} if that is the matrix." if found else "")
        )
    matrix = _take(file, arrays, name)
    if len(matrix.shape or ()) != 2:
        raise MatrixError(
            f"{file}: {name} has shape={matrix.shape}; it should be (samples, features)."
        )
    if matrix.dtype.kind not in "fiub":
        raise MatrixError(f"{file}: {name} has dtype={matrix.dtype}; it should be numeric.")
    check_size(file, *matrix.shape, in_blocks=isinstance(matrix, h5py.Dataset))
    if isinstance(matrix, h5py.Dataset) and matrix.id.get_storage_size() == 0:
        raise MatrixError(
            f"{file}: {name} with shape={matrix.shape} contains no values; they were not written."
        )
    return matrix


def _read(
    file: Path,
    arrays: Mapping[str, Any],
    names: list[str],
    wanted: dict[str, str | None],
    shape: tuple[int, int],
    matrix: Opened,
    transpose: bool | str = "auto",
    missing_values: tuple[object, ...] = (),
) -> RawMatrix:
    """Read what a mapping of names to arrays or data sets tells of a matrix, and the matrix."""
    if wanted["labels"] is None:
        wanted["labels"] = next((array for array in _LABELS if array in names), None)
    for key, name in wanted.items():
        if name is not None and name not in names:
            raise MatrixError(
                f"{file}: {key}={name!r} should be one of its arrays {shown(names)}."
                + suggest(key, name, names)
            )
    of_features = next((array for array in _FEATURES if array in names), None)
    stored = Stored(file, matrix, None, None)
    turn = transpose is True
    lengths = {
        name: tuple(_take(file, arrays, name).shape)
        for name in (*wanted.values(), of_features, "samples")
        if name in names
    }
    if transpose == "auto":
        turn = _fits_turned(lengths, of_features, shape)
    n, p = shape[::-1] if turn else shape

    def vector(name: str | None, length: int, what: str) -> np.ndarray | None:
        return _vector(file, arrays, name, length, what) if name in names else None

    # Everything small is read and checked before the matrix.
    features = vector(of_features, p, "feature")
    samples = vector("samples", n, "sample")
    if transpose == "auto" and not turn and not wanted["labels"] and is_turned(samples, features):
        turn, n, p = True, p, n
        samples, features = features, samples
    if turn:
        stored.remarks.append(
            "the rows of X are read as features and its columns as samples, because of the names. "
            "Set transpose: false if rows are samples."
        )
    stored.rows, stored.columns = (features, samples) if turn else (samples, features)
    for key, name in wanted.items():
        if name is not None:
            setattr(stored, key, (name, vector(name, n, "sample").tolist()))
    relevant = vector("relevant", p, "feature")
    stored.relevant = None if relevant is None else check_relevant(file, relevant)
    return assemble(stored, turn, missing_values)


def _fits_turned(
    lengths: dict[str, tuple[int, ...]], of_features: str | None, shape: tuple[int, int]
) -> bool:
    """Tell whether names and classes fit a matrix only if its rows are features."""
    n, p = shape
    if n == p or not lengths:
        return False
    return all(length == ((n if name == of_features else p),) for name, length in lengths.items())


def _take(file: Path, arrays: Mapping[str, Any], name: str) -> np.ndarray | h5py.Dataset:
    try:
        array = arrays[name]
        # NumPy returns bytes for a member that is not an array.
        return np.asarray(array) if isinstance(array, bytes) else array
    except MemoryError:
        raise
    except Exception as error:
        raise MatrixError(
            f"{file}: array {name!r} cannot be read ({reason_of(error)}); it should be a complete "
            "array of plain numbers or strings."
        ) from error


def _vector(file: Path, arrays: Mapping[str, Any], name: str, length: int, what: str) -> np.ndarray:
    """Read an array of numbers or strings along an axis of X, after a check of its length."""
    node = _take(file, arrays, name)
    if node.shape != (length,):
        raise MatrixError(
            f"{file}: {name} has shape={node.shape}; it should be ({length},), one value for each "
            f"{what}."
        )
    if isinstance(node, h5py.Dataset) and h5py.check_string_dtype(node.dtype) is not None:
        return node.asstr()[()]
    if node.dtype.kind not in "fiubUS":
        raise MatrixError(
            f"{file}: {name} has dtype={node.dtype}; it should contain plain numbers or strings."
        )
    return np.char.decode(node, "utf-8") if node.dtype.kind == "S" else node[()]
