"""Reading a matrix from a NumPy archive (``.npz``).

Arrays: ``X`` (n, p); optional ``y`` or ``labels`` (n,), ``genes`` or ``features`` (p,),
``samples`` (n,), ``relevant`` (p,) bool. Arrays of Python objects are refused, since loading
them would run code from the file.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from sparsekm.expression.raw_matrix import (
    FEATURE_ARRAYS,
    LABEL_ARRAYS,
    BlockCollector,
    MatrixError,
    RawMatrix,
    check_features,
    check_labels,
    check_samples,
    check_size,
    hint_at_transposition,
)

_BLOCK_BYTES = 2**24
_MAX_VECTOR_BYTES = 2**30


def read_npz(file: str | Path, labels: str | None = None) -> RawMatrix:
    """Read and check a matrix.

    Parameters
    ----------
    file : path
    labels : str, optional
        Name of the array of known classes; else ``y`` or ``labels`` where one is there.

    Returns
    -------
    matrix : RawMatrix

    Raises
    ------
    MatrixError
        Naming the file, the value and the rule that it breaks.
    """
    file = Path(file)
    try:
        with zipfile.ZipFile(file) as archive:
            return _read_archive(file, archive, labels)
    except FileNotFoundError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError) as error:
        # NotImplementedError, for compression that zipfile lacks, and encryption are RuntimeErrors.
        raise MatrixError(
            f"{file}: not a whole .npz archive ({error}); it should be as numpy.savez writes it."
        ) from error


def _read_archive(file: Path, archive: zipfile.ZipFile, labels: str | None) -> RawMatrix:
    names = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
    if "X" not in names:
        raise MatrixError(
            f"{file}: arrays={sorted(names)} should include 'X' (samples x features)."
        )
    with archive.open("X.npy") as member:
        shape, fortran, dtype = _header(file, "X", member)
        if len(shape) != 2:
            raise MatrixError(f"{file}: X has shape={shape}; it should be (samples, features).")
        if dtype.kind not in "fiub":
            raise MatrixError(f"{file}: X has dtype={dtype}; it should be numeric.")
        n, p = shape
        check_size(file, n, p)
        features = next((name for name in FEATURE_ARRAYS if name in names), None)
        feature_names = (
            [f"feature{j + 1}" for j in range(p)]
            if features is None
            else check_features(file, _vector(file, archive, features, p, n))
        )
        X, offset = _read_matrix(file, member, shape, fortran, dtype, feature_names)
    if labels is None:
        labels = next((name for name in LABEL_ARRAYS if name in names), None)
    elif labels not in names:
        raise MatrixError(f"{file}: labels={labels!r} should be one of its arrays {sorted(names)}.")
    return RawMatrix(
        X=X,
        offset=offset,
        features=feature_names,
        samples=None
        if "samples" not in names
        else check_samples(file, _vector(file, archive, "samples", n, p)),
        labels=None
        if labels is None
        else check_labels(file, labels, _vector(file, archive, labels, None), n, p),
        relevant=None
        if "relevant" not in names
        else _vector(file, archive, "relevant", p, n).astype(bool),
    )


def _header(file: Path, name: str, member) -> tuple[tuple[int, ...], bool, np.dtype]:
    try:
        version = npy.read_magic(member)
        # Version 3 differs from 2 only in allowing Unicode in field names, which no matrix has.
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = read(member)
    except ValueError as error:
        raise MatrixError(f"{file}: array {name!r} is damaged ({error}).") from error
    if dtype.hasobject:
        raise MatrixError(
            f"{file}: array {name!r} holds Python objects (dtype={dtype}), which could run code "
            "when loaded; it should hold plain numbers or strings."
        )
    return shape, fortran, dtype


def _vector(
    file: Path,
    archive: zipfile.ZipFile,
    name: str,
    length: int | None,
    other: int | None = None,
) -> np.ndarray:
    with archive.open(f"{name}.npy") as member:
        shape, _, dtype = _header(file, name, member)
        if len(shape) != 1 or length not in (None, shape[0]):
            raise MatrixError(
                f"{file}: {name} has shape={shape}; it should be "
                f"({'any' if length is None else length},)."
                + hint_at_transposition(name, shape, length, other)
            )
        n_bytes = shape[0] * dtype.itemsize
        if n_bytes > _MAX_VECTOR_BYTES:
            raise MatrixError(f"{file}: {name} takes {n_bytes} bytes, at most {_MAX_VECTOR_BYTES}.")
        content = member.read(n_bytes)
    if len(content) != n_bytes:
        raise MatrixError(f"{file}: array {name!r} is cut short.")
    values = np.frombuffer(content, dtype=dtype)
    if dtype.kind == "S":
        values = np.char.decode(values, "utf-8")
    return values


def _read_matrix(
    file: Path,
    member,
    shape: tuple[int, int],
    fortran: bool,
    dtype: np.dtype,
    features: list[str],
) -> tuple[np.ndarray, np.ndarray]:
    n, p = shape
    collector = BlockCollector(file, features)
    X = np.empty(shape, dtype=np.float32, order="C")
    if not fortran:
        for start, rows in _lines(file, member, n, p, dtype):
            X[start : start + len(rows)] = collector.convert(rows)
        return X, collector.finish()
    # Columns come one after the other: each is a block of its own kind of features.
    offset = np.zeros(p)
    for start, columns in _lines(file, member, p, n, dtype):
        names = features[start : start + len(columns)]
        part = BlockCollector(file, names)
        X[:, start : start + len(columns)] = part.convert(np.ascontiguousarray(columns.T))
        offset[start : start + len(columns)] = part.finish()
    return X, offset


def _lines(
    file: Path, member, n_lines: int, length: int, dtype: np.dtype
) -> Iterator[tuple[int, np.ndarray]]:
    """Read consecutive lines of a stored array, some megabytes at a time."""
    n_at_once = max(1, _BLOCK_BYTES // (length * dtype.itemsize))
    for start in range(0, n_lines, n_at_once):
        count = min(n_at_once, n_lines - start)
        content = member.read(count * length * dtype.itemsize)
        if len(content) != count * length * dtype.itemsize:
            raise MatrixError(f"{file}: array 'X' is cut short.")
        yield start, np.frombuffer(content, dtype=dtype).reshape(count, length)
