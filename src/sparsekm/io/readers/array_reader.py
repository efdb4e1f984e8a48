"""Reading a matrix from a file of named arrays: a NumPy archive (``.npz``) or plain HDF5 (``.h5``).

Arrays: ``X`` (n, p); optional ``y`` or ``labels`` (n,), ``genes`` or ``features`` (p,),
``samples`` (n,), ``relevant`` (p,) bool, and groups of samples (n,) under any name. HDF5 may be
chunked and compressed, and its arrays may be in groups. Arrays of Python objects are refused, since
loading them would run code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
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
    explain_damage,
    hint_at_transposition,
)
from sparsekm.io.readers.value_blocks import check_rows


def read_npz(file: Path, labels: str | None = None, groups: str | None = None) -> RawMatrix:
    """Read and check a matrix; see `reader.read_matrix` for parameters and errors."""
    with (
        file.open("rb") as opened,
        explain_damage(file, ".npz archive", "numpy.savez."),
        np.load(opened, allow_pickle=False) as archive,
    ):
        names = sorted(archive)
        matrix = _take_matrix(file, archive, names, "X")
        opened_matrix = partial(nullcontext, matrix)
        return _read(file, archive, names, labels, groups, matrix.shape, opened_matrix)


def read_h5(
    file: Path, labels: str | None = None, layer: str | None = None, groups: str | None = None
) -> RawMatrix:
    """Read and check a matrix; see `reader.read_matrix` for parameters and errors."""
    name = layer or "X"

    @contextmanager
    def matrix() -> Iterator[h5py.Dataset]:
        with open_contained(file, "h5py") as opened:
            yield opened[name]

    with open_contained(file, "h5py") as opened:
        found = set(opened)
        opened.visititems(
            lambda name, node: found.add(name) if isinstance(node, h5py.Dataset) else None
        )
        names = sorted(name for name in found if isinstance(opened.get(name), h5py.Dataset))
        shape = _take_matrix(file, opened, names, name).shape
        return _read(file, opened, names, labels, groups, shape, matrix)


def _take_matrix(
    file: Path, arrays: Mapping[str, Any], names: list[str], name: str
) -> np.ndarray | h5py.Dataset:
    if name not in names:
        raise MatrixError(
            f"{file}: arrays={_shown(names)} should include {name!r} (samples x features)."
            + _advise(arrays)
        )
    return _check_matrix(file, name, _take(file, arrays, name))


def _shown(names: list[str]) -> list[str]:
    return [*names[:10], *(["..."] if len(names) > 10 else [])]


def _read(
    file: Path,
    arrays: Mapping[str, Any],
    names: list[str],
    labels: str | None,
    groups: str | None,
    shape: tuple[int, int],
    matrix: Callable[[], AbstractContextManager[np.ndarray | h5py.Dataset]],
) -> RawMatrix:
    """Read what a mapping of names to arrays or data sets tells of a matrix, and the matrix."""
    if labels is None:
        labels = next((array for array in LABEL_ARRAYS if array in names), None)
    elif labels not in names:
        raise MatrixError(f"{file}: labels={labels!r} should be one of its arrays {_shown(names)}.")
    if groups is not None and groups not in names:
        raise MatrixError(f"{file}: groups={groups!r} should be one of its arrays {_shown(names)}.")
    p = shape[1]
    features = next((array for array in FEATURE_ARRAYS if array in names), None)
    # Everything small is read and checked before the matrix.
    given, classes, together, samples, relevant = (
        _vector(file, arrays, array, shape, axis) if array in names else None
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
    X, offset = check_rows(file, matrix, about["features"])
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
    check_size(file, *matrix.shape, in_blocks=isinstance(matrix, h5py.Dataset))
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
