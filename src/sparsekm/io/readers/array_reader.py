"""Reading a matrix from a file of named arrays: a NumPy archive (``.npz``) or plain HDF5 (``.h5``).

Arrays: ``X`` (n, p); optional ``y`` or ``labels`` (n,), ``genes`` or ``features`` (p,),
``samples`` (n,), ``relevant`` (p,) bool, and groups of samples (n,) under any name. HDF5 may be
chunked and compressed, and its arrays may be in groups. Arrays of Python objects are refused, since
loading them would run code.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from sparsekm.io.input_error import reason_of
from sparsekm.io.readers.contained_hdf5 import open_contained
from sparsekm.io.readers.raw_matrix import (
    FEATURE_ARRAYS,
    LABEL_ARRAYS,
    MatrixError,
    RawMatrix,
    check_features,
    check_groups,
    check_labels,
    check_relevant,
    check_samples,
    check_size,
    hint_at_transposition,
)
from sparsekm.io.readers.value_blocks import collect_rows


def read_npz(file: str | Path, labels: str | None = None, groups: str | None = None) -> RawMatrix:
    """Read and check a matrix; see `reader.read_matrix` for parameters and errors."""
    file = Path(file)
    try:
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as archive:
            return _read(file, archive, sorted(archive), labels, "X", groups)
    except (MatrixError, MemoryError, FileNotFoundError):
        raise
    # A damaged file can cause almost any error anywhere inside zipfile or NumPy.
    except Exception as error:
        raise MatrixError(
            f"{file}: not a complete .npz archive ({reason_of(error)}); it should be written by "
            "numpy.savez."
        ) from error


def read_h5(
    file: str | Path,
    labels: str | None = None,
    layer: str | None = None,
    groups: str | None = None,
) -> RawMatrix:
    """Read and check a matrix; see `reader.read_matrix` for parameters and errors."""
    file = Path(file)
    with open_contained(file, "h5py") as opened:
        found = set(opened)
        opened.visititems(
            lambda name, node: found.add(name) if isinstance(node, h5py.Dataset) else None
        )
        names = sorted(name for name in found if isinstance(opened.get(name), h5py.Dataset))
        return _read(file, opened, names, labels, layer or "X", groups)


def _read(
    file: Path,
    arrays: Mapping[str, Any],
    names: list[str],
    labels: str | None,
    name: str,
    groups: str | None,
) -> RawMatrix:
    """Read a matrix from a mapping of names to arrays or data sets."""
    shown = [*names[:10], *(["..."] if len(names) > 10 else [])]
    if name not in names:
        raise MatrixError(
            f"{file}: arrays={shown} should include {name!r} (samples x features)."
            + _advise(arrays)
        )
    if labels is None:
        labels = next((array for array in LABEL_ARRAYS if array in names), None)
    elif labels not in names:
        raise MatrixError(f"{file}: labels={labels!r} should be one of its arrays {shown}.")
    if groups is not None and groups not in names:
        raise MatrixError(f"{file}: groups={groups!r} should be one of its arrays {shown}.")
    matrix = _check_matrix(file, name, _take(file, arrays, name))
    p = matrix.shape[1]
    features = next((array for array in FEATURE_ARRAYS if array in names), None)
    # Everything small is read and checked before the matrix.
    given, classes, together, samples, relevant = (
        _vector(file, arrays, array, matrix.shape, axis) if array in names else None
        for array, axis in (
            (features, 1),
            (labels, 0),
            (groups, 0),
            ("samples", 0),
            ("relevant", 1),
        )
    )
    about = {
        "features": check_features(
            file, [f"feature{j + 1}" for j in range(p)] if given is None else given
        ),
        "samples": None if samples is None else check_samples(file, samples),
        "labels": None if classes is None else check_labels(file, labels, classes),
        "groups": None if together is None else check_groups(file, groups, together),
        "relevant": None if relevant is None else check_relevant(file, relevant),
    }
    X, offset = collect_rows(file, matrix, about["features"])
    return RawMatrix(X=X, offset=offset, **about)


def _advise(arrays: Mapping[str, Any]) -> str:
    if "obs" in arrays and "var" in arrays:
        return " It looks like an AnnData file: rename it to end in .h5ad."
    if "matrix/indptr" in arrays:
        return " It looks like 10x Genomics counts: normalise them first, and save them as .h5ad."
    return ""


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


def _check_matrix(
    file: Path, name: str, matrix: np.ndarray | h5py.Dataset
) -> np.ndarray | h5py.Dataset:
    if len(matrix.shape or ()) != 2:
        raise MatrixError(
            f"{file}: {name} has shape={matrix.shape}; it should be (samples, features)."
        )
    if matrix.dtype.kind not in "fiub":
        raise MatrixError(f"{file}: {name} has dtype={matrix.dtype}; it should be numeric.")
    check_size(file, *matrix.shape)
    if isinstance(matrix, h5py.Dataset) and matrix.id.get_storage_size() == 0:
        raise MatrixError(
            f"{file}: {name} with shape={matrix.shape} contains no values; they were not written."
        )
    return matrix


def _vector(
    file: Path, arrays: Mapping[str, Any], name: str, shape: tuple[int, int], axis: int
) -> np.ndarray:
    """Read an array of numbers or strings along an axis of X, after a check of its length."""
    node = _take(file, arrays, name)
    length, what = shape[axis], ("sample", "feature")[axis]
    if node.shape != (length,):
        raise MatrixError(
            f"{file}: {name} has shape={node.shape}; it should be ({length},), one value for each "
            f"{what}." + hint_at_transposition(name, node.shape, length, shape[1 - axis])
        )
    if isinstance(node, h5py.Dataset) and h5py.check_string_dtype(node.dtype) is not None:
        return node.asstr()[()]
    if node.dtype.kind not in "fiubUS":
        raise MatrixError(
            f"{file}: {name} has dtype={node.dtype}; it should contain plain numbers or strings."
        )
    return np.char.decode(node, "utf-8") if node.dtype.kind == "S" else node[()]
