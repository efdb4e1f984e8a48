"""Reading a matrix from plain HDF5 (``.h5``).

Arrays, named as in an ``.npz``: ``X`` (n, p); optional ``y`` or ``labels`` (n,), ``genes`` or
``features`` (p,), ``samples`` (n,), ``relevant`` (p,) bool. Chunks and compression are welcome.
"""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from sparsekm.expression.contained_hdf5 import open_contained
from sparsekm.expression.raw_matrix import (
    FEATURE_ARRAYS,
    LABEL_ARRAYS,
    BlockCollector,
    MatrixError,
    RawMatrix,
    check_features,
    check_labels,
    check_relevant,
    check_samples,
    check_size,
    hint_at_transposition,
)

_BLOCK_BYTES = 2**24
_LARGEST_CHUNKS_BYTES = 2**28


def read_h5(file: str | Path, labels: str | None = None, layer: str | None = None) -> RawMatrix:
    """Read and check a matrix.

    Parameters
    ----------
    file : path
    labels : str, optional
        Name of the array of known classes; else ``y`` or ``labels`` where one is there.
    layer : str, optional
        Name of the array to read in place of ``X``.

    Returns
    -------
    matrix : RawMatrix

    Raises
    ------
    MatrixError
        Naming the file, the value and the rule that it breaks.
    """
    file = Path(file)
    with open_contained(file, "h5py") as opened:
        return _read(file, opened, labels, layer or "X")


def _read(file: Path, opened: h5py.File, labels: str | None, name: str) -> RawMatrix:
    matrix = _matrix(file, opened, name)
    n, p = matrix.shape
    if labels is None:
        labels = next((array for array in LABEL_ARRAYS if array in opened), None)
    elif labels not in opened:
        raise MatrixError(
            f"{file}: labels={labels!r} should be one of its arrays {_arrays(opened)}."
        )
    features = next((array for array in FEATURE_ARRAYS if array in opened), None)
    # Everything small is read and checked before the matrix.
    names, classes, samples, relevant = (
        _vector(file, opened, array, length, other) if array and array in opened else None
        for array, length, other in (
            (features, p, n),
            (labels, n, p),
            ("samples", n, p),
            ("relevant", p, n),
        )
    )
    names = check_features(file, [f"feature{j + 1}" for j in range(p)] if names is None else names)
    raw = RawMatrix(
        X=np.empty((n, p), dtype=np.float32),
        offset=np.zeros(p),
        features=names,
        samples=None if samples is None else check_samples(file, samples),
        labels=None if classes is None else check_labels(file, labels, classes, n),
        relevant=None if relevant is None else check_relevant(file, relevant),
    )
    raw.offset = _read_rows(file, matrix, raw.X, names)
    return raw


def _matrix(file: Path, opened: h5py.File, name: str) -> h5py.Dataset:
    node = opened.get(name)
    if not isinstance(node, h5py.Dataset):
        advice = ""
        if "obs" in opened and "var" in opened:
            advice = " It looks like an AnnData file: give it the ending .h5ad."
        elif "matrix/indptr" in opened:
            advice = (
                " It looks like counts in 10x Genomics' layout: normalise them first, and save "
                "them as .h5ad."
            )
        raise MatrixError(
            f"{file}: arrays={_arrays(opened)} should include {name!r} (samples x features)."
            + advice
        )
    if len(node.shape or ()) != 2:
        raise MatrixError(
            f"{file}: {name} has shape={node.shape}; it should be (samples, features)."
        )
    if node.dtype.kind not in "fiub":
        raise MatrixError(f"{file}: {name} has dtype={node.dtype}; it should be numeric.")
    check_size(file, *node.shape)
    if node.id.get_storage_size() == 0:
        raise MatrixError(
            f"{file}: {name} with shape={node.shape} holds no values; they should have been "
            "written."
        )
    return node


def _arrays(opened: h5py.File) -> list[str]:
    names: list[str] = []
    opened.visititems(lambda name, node: names.append(name) if _is_array(node) else None)
    return [*names[:10], *(["..."] if len(names) > 10 else [])]


def _is_array(node: object) -> bool:
    return isinstance(node, h5py.Dataset)


def _vector(file: Path, opened: h5py.File, name: str, length: int, other: int) -> np.ndarray:
    """Read an array of numbers or strings, after a check of its length."""
    node = opened[name]
    shape = getattr(node, "shape", None)
    if shape != (length,):
        raise MatrixError(
            f"{file}: {name} has shape={shape}; it should be ({length},)."
            + hint_at_transposition(name, shape, length, other)
        )
    if h5py.check_string_dtype(node.dtype) is not None:
        return node.asstr()[()]
    if node.dtype.kind not in "fiub":
        raise MatrixError(
            f"{file}: {name} has dtype={node.dtype}; it should hold plain numbers or strings."
        )
    return node[()]


def _read_rows(file: Path, matrix: h5py.Dataset, X: np.ndarray, features: list[str]) -> np.ndarray:
    """Read the matrix into X in blocks of rows, and return what was subtracted."""
    collector = BlockCollector(file, features)
    n_at_once = _rows_at_once(matrix)
    for start in range(0, len(X), n_at_once):
        X[start : start + n_at_once] = collector.convert(matrix[start : start + n_at_once])
    return collector.finish()


def _rows_at_once(matrix: h5py.Dataset) -> int:
    row_bytes = matrix.shape[1] * matrix.dtype.itemsize
    n_at_once = max(1, _BLOCK_BYTES // row_bytes)
    if matrix.chunks is None:
        return n_at_once
    # Whole chunks, since each one that is cut is read and inflated twice.
    in_chunk = min(matrix.chunks[0], matrix.shape[0])
    whole = -(-n_at_once // in_chunk) * in_chunk
    return whole if whole * row_bytes <= _LARGEST_CHUNKS_BYTES else n_at_once
