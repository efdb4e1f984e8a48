"""Reading a matrix from a file that declares both axes: AnnData, 10x Genomics, or named arrays.

AnnData is HDF5 (``.h5ad``) or Zarr. Arrays, in a NumPy archive (``.npz``) or plain HDF5 (``.h5``),
are ``X`` (n, p) and optionally ``y`` or ``labels`` (n,), ``genes`` or ``features`` (p,),
``samples`` (n,), ``relevant`` (p,) bool, and groups of samples (n,) under any name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from sparsekm.io.input_error import reason_of
from sparsekm.io.readers.assembling import Parts, assemble
from sparsekm.io.readers.cells import listed_numbers
from sparsekm.io.readers.matrix_size import Layout, find_layout
from sparsekm.io.readers.names import is_a, is_row_numbers, weigh_names
from sparsekm.io.readers.orientation import Axes, find_orientation
from sparsekm.io.readers.raw_matrix import (
    MatrixError,
    RawMatrix,
    Settings,
    check_size,
    shown,
    suggest,
)
from sparsekm.io.readers.stored_files import NpzArray, open_stored
from sparsekm.io.readers.tenx_folder import describe_genes
from sparsekm.io.readers.value_blocks import SparseRows, check_rows, check_type, transposed

_FEATURES = ("genes", "features", "feature_names", "gene_names", "var_names")
_SAMPLES = ("samples", "sample_names", "obs_names", "cell_names")
_LABELS = ("y", "labels", "Y", "target")


class _Described(NamedTuple):
    parts: Parts
    turn: bool = False  # whether rows are features
    chosen: np.ndarray | None = None  # the features to read


def read_stored(file: Path, settings: Settings) -> RawMatrix:
    """Read and check a matrix; a sparse one stays so if it takes less memory that way."""
    with open_stored(file) as opened:
        layout = find_layout(file, opened, settings.layer)
        if layout.kind == "arrays":
            _check_array(file, layout)
        describe = {"anndata": _of_anndata, "10x": _of_tenx, "arrays": _of_arrays}[layout.kind]
        # Everything small is read and checked before the matrix.
        parts, turn, chosen = describe(file, opened, layout, settings)
        n, p = layout.shape[::-1] if turn else layout.shape
        in_blocks = layout.in_blocks and not turn
        check_size(file, n, p, n_stored=layout.n_stored, in_blocks=in_blocks)
        held = None if layout.in_blocks else _hold(file, layout)

    @contextmanager
    def matrix() -> Iterator[Any]:
        if held is not None:
            yield held
            return
        with open_stored(file) as opened:
            node = opened[layout.name]
            is_array = hasattr(node, "dtype")
            yield check_type(file, node) if is_array else SparseRows(file, node, layout.shape)

    parts.remarks[:0] = layout.remarks
    parts.missing = settings.missing_values
    X, offset = check_rows(file, matrix, parts.remarks, listed_numbers(settings.missing_values))
    if turn:
        X, offset = transposed(file, X, offset)
    if chosen is not None:
        X, offset = X.select(chosen), offset[chosen]
    return assemble(parts, X, offset)


def _hold(file: Path, layout: Layout) -> Any:
    """Read a whole matrix that cannot be read by rows."""
    if isinstance(layout.node, NpzArray):
        return check_type(file, _values(file, layout.name, layout.node), layout.name)
    stored = _read_elem(layout.node)
    # As in `SparseRows`.
    stored.check_format(full_check=True)
    check_type(file, layout.node["data"])
    return csr_array(stored)


def _read_elem(node: Any) -> Any:
    # It takes long to load, and tables of text do without.
    from anndata.io import read_elem

    return read_elem(node)


def _is_turned(rows: Sequence[object] | None, columns: Sequence[object] | None) -> bool:
    """Tell whether the rows of a stored matrix are features, by the names of both axes."""
    if rows is None or columns is None:
        return False
    rows, columns = [*map(str, rows)], [*map(str, columns)]
    if is_row_numbers("", rows):
        return False
    if weigh_names(rows).score <= 0 <= weigh_names(columns).score:
        return False
    return find_orientation(Axes("", rows, columns, len(rows))) is True


def _of_anndata(file: Path, opened: Any, layout: Layout, settings: Settings) -> _Described:
    obs, var = (_read_frame(file, opened, part) for part in ("obs", "var"))
    shape, expected = layout.shape, (len(obs), len(var))
    if shape != expected:
        raise MatrixError(
            f"{file}: {layout.name} has shape={shape}; it should be {expected}, the lengths of obs "
            "and var." + (" X looks transposed." if shape == expected[::-1] else "")
        )
    turn, remarks = settings.transpose is True, []
    rows, columns = [*map(str, obs.index)], [*map(str, var.index)]
    named = next(
        (one for one in var if is_a(str(one), "feature_heading") and var[one].is_unique), None
    )
    if named is not None and is_row_numbers("", columns):
        columns = [*map(str, var[named])]
        remarks.append(f"features are named by the column {named!r} of var, which is numbered.")
    if settings.transpose == "auto" and not {*settings.named.values()} & {*obs.columns}:
        turn = _is_turned(rows, columns)
        if turn:
            remarks.append(
                f"obs holds features, such as {rows[0]!r}, and var samples, such as "
                f"{columns[0]!r}: X is read transposed. Set transpose: false if obs holds samples."
            )
    samples, features = (var, obs) if turn else (obs, var)
    parts = Parts(file, *((rows, columns) if turn else (columns, rows)), remarks=remarks)
    if not turn:
        parts.positions = _read_positions(opened, len(obs), remarks)
    for key, column in settings.named.items():
        if column not in samples:
            hint = ""
            if column in features and not turn:
                hint = " It is a column of var: X looks transposed. Set transpose: true."
            raise MatrixError(
                f"{file}: {key}={column!r} should be one of the columns of "
                f"{'var' if turn else 'obs'}: {list(samples.columns)}."
                f"{suggest(key, column, map(str, samples.columns))}{hint}"
            )
        values = samples[column].to_numpy(dtype=object)
        values[samples[column].isna().to_numpy()] = None
        if key in ("labels", "groups"):
            setattr(parts, key, (column, values))
        else:
            parts.annotations[column] = values
    if "relevant" in features:
        parts.relevant = _check_relevant(file, features["relevant"].to_numpy())
    return _Described(parts, turn)


def _read_frame(file: Path, opened: Any, name: str) -> pd.DataFrame:
    frame = _read_elem(opened[name])
    if isinstance(frame, np.ndarray) and frame.dtype.names:
        # AnnData before 0.7 wrote a table of records.
        fields = {one: frame[one] for one in frame.dtype.names}
        frame = pd.DataFrame(
            {
                one: np.char.decode(v, "utf-8") if v.dtype.kind == "S" else v
                for one, v in fields.items()
            }
        )
        frame = frame.set_index("index" if "index" in frame else frame.columns[0])
    if not isinstance(frame, pd.DataFrame):
        raise MatrixError(f"{file}: {name} is a {type(frame).__name__}; it should be a data frame.")
    return frame


def _read_positions(opened: Any, n_samples: int, remarks: list[str]) -> np.ndarray | None:
    """Read where the samples are, or say in a remark why this is left out."""
    # Before AnnData 0.7 it was an array of records.
    if not hasattr(opened.get("obsm"), "keys") or "spatial" not in opened["obsm"]:
        return None
    node = opened["obsm"]["spatial"]
    # A data frame is a group.
    shape, dtype = getattr(node, "shape", ()), getattr(node, "dtype", np.dtype(object))
    if len(shape) == 2 and shape[0] == n_samples and 1 <= shape[1] <= 3 and dtype.kind in "fiu":
        positions = np.asarray(node[()], dtype=np.float64)
        if np.isfinite(positions).all():
            return positions
    remarks.append(
        "obsm['spatial'] is not used as positions: they should be finite numbers of shape "
        f"({n_samples}, 1 to 3)."
    )
    return None


def _of_tenx(file: Path, opened: Any, layout: Layout, settings: Settings) -> _Described:
    if settings.labels or settings.groups:
        raise MatrixError(f"{file}: labels and groups should be left out: 10x files have none.")
    about = layout.node.get("features", layout.node)

    def strings(*names: str) -> list[str]:
        node = next((about[name] for name in names if name in about), None)
        values = [] if node is None else node[()].tolist()
        return [one.decode() if isinstance(one, bytes) else str(one) for one in values]

    ids, symbols = strings("id", "genes"), strings("name", "gene_names")
    cells = [*map(bytes.decode, np.asarray(layout.node["barcodes"][()], dtype="S").tolist())]
    if layout.shape != (len(cells), len(ids)) or len(symbols) != len(ids):
        raise MatrixError(
            f"{file}: shape={layout.shape} should be ({len(cells)}, {len(ids)}), barcodes x "
            "features."
        )
    parts, genes = describe_genes(file, ids, symbols, strings("feature_type") or [""] * len(ids))
    parts.samples = cells
    return _Described(parts, chosen=genes)


def _of_arrays(file: Path, opened: Any, layout: Layout, settings: Settings) -> _Described:
    names, shape, transpose = layout.arrays, layout.shape, settings.transpose

    def first(known: Sequence[str]) -> str | None:
        # The less usual names only if the length fits.
        fits = [one for one in known if one in names]
        fits = [one for one in fits if one in known[:2] or opened[one].shape in sizes]
        return next(iter(fits), None)

    sizes = [(length,) for length in shape]
    found, of_features, of_samples = first(_LABELS), first(_FEATURES), first(_SAMPLES)
    wanted = {"labels": settings.labels or found, "groups": settings.groups}
    for key, name in wanted.items():
        if name is not None and name not in names:
            raise MatrixError(
                f"{file}: {key}={name!r} should be one of its arrays {shown(names)}."
                + suggest(key, name, names)
            )
    about = [name for name in (*wanted.values(), of_features, of_samples) if name in names]
    # Names and classes may fit only if rows are features.
    fits = [tuple(opened[name].shape) == (shape[name != of_features],) for name in about]
    turn = transpose is True or (
        transpose == "auto" and bool(about) and all(fits) and shape[0] != shape[1]
    )

    def vector(name: str | None, what: str) -> np.ndarray | None:
        length = shape[(what == "feature") != turn]
        return None if name not in names else _vector(file, opened, name, length, what)

    features, samples = vector(of_features, "feature"), vector(of_samples, "sample")
    if transpose == "auto" and not turn and not wanted["labels"] and _is_turned(samples, features):
        turn, samples, features = True, features, samples
    remarks = []
    if turn:
        remarks.append(
            "the rows of X are read as features and its columns as samples, because of the names. "
            "Set transpose: false if rows are samples."
        )
    parts = Parts(file, features, samples, remarks=remarks)
    for key, name in wanted.items():
        if name is not None:
            setattr(parts, key, (name, vector(name, "sample").tolist()))
    relevant = vector("relevant", "feature")
    parts.relevant = None if relevant is None else _check_relevant(file, relevant)
    return _Described(parts, turn)


def _check_array(file: Path, layout: Layout) -> None:
    node = layout.node
    if len(layout.shape) != 2:
        raise MatrixError(
            f"{file}: {layout.name} has shape={layout.shape}; it should be (samples, features)."
        )
    if isinstance(node, h5py.Dataset):
        check_type(file, node, layout.name)
        if node.size and node.id.get_storage_size() == 0:
            raise MatrixError(
                f"{file}: {layout.name} with shape={layout.shape} contains no values; they were "
                "not written."
            )


def _values(file: Path, name: str, node: Any) -> np.ndarray:
    try:
        is_text = isinstance(node, h5py.Dataset) and h5py.check_string_dtype(node.dtype)
        return node.asstr()[()] if is_text else node[()]
    except MemoryError:
        raise
    except Exception as error:
        raise MatrixError(
            f"{file}: array {name!r} cannot be read ({reason_of(error)}); it should be a complete "
            "array of plain numbers or strings."
        ) from error


def _vector(file: Path, opened: Any, name: str, length: int, what: str) -> np.ndarray:
    """Read an array of numbers or strings along an axis of X, after a check of its length."""
    node = opened[name]
    if node.shape != (length,):
        raise MatrixError(
            f"{file}: {name} has shape={node.shape}; it should be ({length},), one value for each "
            f"{what}."
        )
    is_text = isinstance(node, h5py.Dataset) and h5py.check_string_dtype(node.dtype) is not None
    if isinstance(node, h5py.Dataset) and not is_text and node.dtype.kind not in "fiubUS":
        raise MatrixError(
            f"{file}: {name} has dtype={node.dtype}; it should contain plain numbers or strings."
        )
    values = _values(file, name, node)
    return np.char.decode(values, "utf-8") if values.dtype.kind == "S" else values


def _check_relevant(file: Path, values: np.ndarray) -> np.ndarray:
    """Check a planted truth, bool or 0 and 1, and return it as bool."""
    if values.dtype.kind not in "biuf" or not np.isin(values, (0, 1)).all():
        raise MatrixError(f"{file}: relevant should be True or False, or 1 or 0, for each feature.")
    return values.astype(bool)
