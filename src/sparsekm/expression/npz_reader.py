"""Reading a matrix from a NumPy archive (``.npz``).

Arrays: ``X`` (n, p); optional ``y`` or ``labels`` (n,), ``genes`` or ``features`` (p,),
``samples`` (n,), ``relevant`` (p,) bool. Arrays of Python objects are refused, since loading
them would run code from the file.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np

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
from sparsekm.storage.checked_zip import DamagedZipError, open_zip
from sparsekm.storage.npy_arrays import (
    ArrayHeader,
    DamagedArrayError,
    list_arrays,
    read_array,
    read_header,
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
        with open_zip(file) as archive:
            return _read_archive(file, archive, labels)
    except DamagedArrayError as error:
        raise MatrixError(f"{file}: {error}.") from error
    except DamagedZipError as error:
        raise MatrixError(
            f"{file}: not a whole .npz archive ({error}); it should be as numpy.savez writes it."
        ) from error


def _read_archive(file: Path, archive: zipfile.ZipFile, labels: str | None) -> RawMatrix:
    names = list_arrays(archive)
    if "X" not in names:
        raise MatrixError(
            f"{file}: arrays={sorted(names)} should include 'X' (samples x features)."
        )
    with archive.open("X.npy") as member:
        header = read_header(archive, "X", member)
        if len(header.shape) != 2:
            raise MatrixError(
                f"{file}: X has shape={header.shape}; it should be (samples, features)."
            )
        if header.dtype.kind not in "fiub":
            raise MatrixError(f"{file}: X has dtype={header.dtype}; it should be numeric.")
        n, p = header.shape
        check_size(file, n, p)
        features = next((name for name in FEATURE_ARRAYS if name in names), None)
        feature_names = (
            [f"feature{j + 1}" for j in range(p)]
            if features is None
            else check_features(file, _vector(file, archive, features, p, n))
        )
        X, offset = _read_matrix(file, member, header, feature_names)
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
        else check_relevant(file, _vector(file, archive, "relevant", p, n)),
    )


def _vector(
    file: Path,
    archive: zipfile.ZipFile,
    name: str,
    length: int | None,
    other: int | None = None,
) -> np.ndarray:
    """Read an array of numbers or strings, after a check of its length and size."""
    with archive.open(f"{name}.npy") as member:
        header = read_header(archive, name, member)
    shape = header.shape
    if len(shape) != 1 or length not in (None, shape[0]):
        raise MatrixError(
            f"{file}: {name} has shape={shape}; it should be "
            f"({'any' if length is None else length},)."
            + hint_at_transposition(name, shape, length, other)
        )
    if header.nbytes > _MAX_VECTOR_BYTES:
        raise MatrixError(
            f"{file}: {name} takes {header.nbytes} bytes, at most {_MAX_VECTOR_BYTES}."
        )
    values = read_array(archive, name)
    if values.dtype.kind != "S":
        return values
    try:
        return np.char.decode(values, "utf-8")
    except UnicodeDecodeError as error:
        raise MatrixError(f"{file}: {name} should hold text ({error}).") from error


def _read_matrix(
    file: Path, member: IO[bytes], header: ArrayHeader, features: list[str]
) -> tuple[np.ndarray, np.ndarray]:
    (n, p), dtype = header.shape, header.dtype
    collector = BlockCollector(file, features)
    X = np.empty((n, p), dtype=np.float32)
    if not header.is_fortran:
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
    file: Path, member: IO[bytes], n_lines: int, length: int, dtype: np.dtype
) -> Iterator[tuple[int, np.ndarray]]:
    """Read consecutive lines of a stored array, some megabytes at a time."""
    n_at_once = max(1, _BLOCK_BYTES // (length * dtype.itemsize))
    for start in range(0, n_lines, n_at_once):
        count = min(n_at_once, n_lines - start)
        content = member.read(count * length * dtype.itemsize)
        if len(content) != count * length * dtype.itemsize:
            raise MatrixError(f"{file}: array 'X' is cut short.")
        yield start, np.frombuffer(content, dtype=dtype).reshape(count, length)
