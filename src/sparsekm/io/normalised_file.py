"""The file ``normalised.h5ad``, the input of the clustering for every atlas age and matrix.

It is an AnnData file. X is float32: an array, or a sparse matrix (CSR) if the data were sparse. A
sparse X is divided by the standard deviations but not centred, because centring would make it
dense: z-scores are X minus ``var["center"]``. It is stored without chunks, so that it can be mapped
into memory. If features were standardised, var has their original ``mean`` and ``deviation`` (ddof
= 1). It has ``relevant`` (bool) if a truth was planted, and ``group`` if features are kept or
dropped in groups. obs has ``label``, ``group`` and ``batch`` (categories of strings, missing if
unknown) and ``weight`` if they are known. Columns that start with "annotation " were named by the
user, such as age or sex. obsm has ``spatial`` if positions are known; ``uns["provenance"]`` records
the source of the data and their processing. If only some features were chosen for the clustering,
``raw`` has X and var of all features, as in scanpy's files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anndata
import h5py
import numpy as np
import pandas as pd
from scipy.sparse import csr_array, csr_matrix

from sparsekm.cluster.description import Description
from sparsekm.cluster.matrices.dense_parts import as_dense
from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.io.atomic import atomic_path
from sparsekm.io.hdf5_format import find_array, open_checked, read_part, read_parts, require
from sparsekm.io.known_classes import class_column, class_names, is_known
from sparsekm.io.readers.raw_matrix import RawMatrix, SparseRows

RULE = "normalise_expression (of an age) or normalise_matrix"
ANNOTATION = "annotation "
"""The prefix of the columns of ``obs`` that the user named as annotations."""
NUMBERS_AT_ONCE = 2**22
"""The number of values of a matrix that are processed together: 32 MB in double precision."""
# The columns of ``obs``, and their names in a description.
_OF_SAMPLES = {"label": "labels", "group": "groups", "batch": "batch", "weight": "weights"}
_REGION_COLUMNS = ("acronym", "name", "id", "color")


@dataclass(frozen=True, kw_only=True)
class NormalisedData(ScaledData):
    """The content of the file: a data set, and further information about it."""

    var: pd.DataFrame  # the table of features, p rows
    provenance: Mapping[str, Any]
    regions: pd.DataFrame | None = None  # of an age: the table of its classes


def tabulate(about: Description, **scale: np.ndarray | None) -> tuple[pd.DataFrame, ...]:
    """Return a description, and a scale, as the tables of samples and of features."""
    obs: dict[str, Any] = {name: getattr(about, known) for name, known in _OF_SAMPLES.items()}
    # A slash would make a group in the file.
    obs |= {ANNOTATION + name.replace("/", "_"): of for name, of in about.annotations.items()}
    var = {"relevant": about.relevant, **scale, "group": about.feature_groups}
    obs, var = ({name: of for name, of in each.items() if of is not None} for each in (obs, var))
    return pd.DataFrame(obs, index=about.samples), pd.DataFrame(var, index=about.features)


def write_normalised(
    file: str | Path,
    X: np.ndarray | csr_array | RawMatrix,
    obs: pd.DataFrame,
    var: pd.DataFrame,
    provenance: Mapping[str, Any],
    *,
    obsm: Mapping[str, np.ndarray] | None = None,
    uns: Mapping[str, Any] | None = None,
    whole: tuple[RawMatrix, pd.DataFrame] | None = None,
) -> None:
    """Write a data set of n samples and p features, named by `obs` and `var`, atomically.

    `whole` has the matrix and the table of all features, if X has only some of them.
    """
    obs, var = obs.copy(), var.copy()
    obs.index, var.index = obs.index.astype(str), var.index.astype(str)
    for name in obs:
        if name in _OF_SAMPLES and name != "weight":
            obs[name] = class_column(obs[name])
        elif str(name).startswith(ANNOTATION) and obs[name].dtype == object:
            obs[name] = pd.Categorical(obs[name])
    uns = {**(uns or {}), "provenance": dict(provenance)}
    data = anndata.AnnData(obs=obs, var=var, obsm=dict(obsm or {}), uns=uns)
    matrices = {"X": X if isinstance(X, RawMatrix) else RawMatrix.of(X)}
    if whole is not None:
        matrices["raw/X"] = whole[0]
        nothing = csr_matrix(whole[0].shape, dtype=np.float32)
        data.raw = anndata.AnnData(nothing, obs=obs[[]], var=whole[1])
    n_bytes = sum(
        8 * int(of.n_stored.sum()) if of.is_sparse else 4 * of.shape[0] * of.shape[1]
        for of in matrices.values()
    )
    with atomic_path(file, n_bytes) as temporary:
        data.write_h5ad(temporary)
        # AnnData would cut a sparse matrix into chunks, which cannot be mapped into memory.
        with h5py.File(temporary, "a") as opened:
            for name, matrix in matrices.items():
                opened.pop(name, None)
                _write_matrix(opened, name, matrix)


def _write_matrix(opened: h5py.File, name: str, X: RawMatrix) -> None:
    """Write X block by block; if sparse, with ascending, distinct columns in each row."""
    if not X.is_sparse:
        array = opened.create_dataset(name, X.shape, np.float32)
        array.attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
        for rows, block in X.blocks():
            array[rows] = block
        return
    group = opened.create_group(name)
    group.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0"})
    group.attrs["shape"] = X.shape
    n_stored = int(X.n_stored.sum())
    width = np.int32 if max(n_stored, *X.shape) < 2**31 else np.int64
    data = group.create_dataset("data", (n_stored,), np.float32)
    indices = group.create_dataset("indices", (n_stored,), width)
    starts = np.zeros(X.shape[0] + 1, dtype=width)
    for rows, block in X.blocks():
        first = starts[rows.start]
        starts[rows.start + 1 : rows.stop + 1] = first + block.indptr[1:].astype(width)
        stored = slice(int(first), int(starts[rows.stop]))
        data[stored], indices[stored] = block.data, block.indices
    group["indptr"] = starts


def read_normalised(
    file: str | Path, most_bytes: int | None = None, *, values: bool = True
) -> NormalisedData:
    """Read and check a data set, without X if `values` is false.

    A dense X is read into memory if it takes no more than `most_bytes` (by default always). A
    sparse X is mapped from the file.
    """
    with open_checked(file, RULE) as opened:
        parts = read_parts(opened)
        X = _read_matrix(opened, parts, most_bytes) if values else None
        return _check_parts(X, **parts)


def _check_parts(
    X: Any, obs: pd.DataFrame, var: pd.DataFrame, obsm: dict, uns: dict
) -> NormalisedData:
    def numbers(name: str, table: Mapping[str, Any], place: str = "var") -> np.ndarray | None:
        if name not in table:
            return None
        found = np.asarray(table[name])
        is_right = found.dtype.kind == "f" and np.isfinite(found).all()
        require(is_right, f"{place}: {name} should be finite numbers")
        return found.astype(np.float64)

    known = {
        of: class_names(obs[name])
        for name, of in _OF_SAMPLES.items()
        if name in obs and name != "weight"
    }
    require(isinstance(uns.get("provenance"), dict), "uns/provenance is missing or not a dict")
    labels, regions, relevant = known.get("labels"), uns.get("regions"), var.get("relevant")
    positions = numbers("spatial", obsm, "obsm")
    is_table = positions is None or (positions.ndim == 2 and len(positions) == len(obs))
    require(is_table, f"obsm: spatial should have {len(obs)} rows")
    require(labels is None or is_known(labels).any(), "obs: no sample has a label")
    if regions is not None:
        absent = [name for name in _REGION_COLUMNS if name not in regions]
        require(not absent, f"uns/regions lacks the columns {absent}")
    if relevant is not None:
        require(relevant.dtype == bool, f"var: relevant has dtype={relevant.dtype}")
        known["relevant"] = relevant.to_numpy()
    about = Description(
        samples=[str(name) for name in obs.index],
        weights=numbers("weight", obs, "obs"),
        positions=positions,
        features=[str(name) for name in var.index],
        feature_groups=var["group"].to_numpy(object) if "group" in var else None,
        **known,
    )
    return NormalisedData(
        X,
        numbers("mean", var),
        numbers("deviation", var),
        numbers("center", var),
        about,
        var=var,
        provenance=uns["provenance"],
        regions=regions,
    )


def read_anndata(file: str | Path) -> anndata.AnnData:
    """Read a data set without its matrix."""
    with open_checked(file, RULE) as opened:
        parts = read_parts(opened)
        # The matrix can be copied if it is not a link to another file and has the right shape.
        _open_matrix(opened, parts)
        return anndata.AnnData(**parts)


def write_with_matrix(file: str | Path, data: anndata.AnnData, source: str | Path) -> None:
    """Write a data set from `read_anndata`, atomically, with the matrix of its source.

    The matrix is copied as it is stored, not through memory.
    """
    with atomic_path(file, Path(source).stat().st_size) as temporary:
        data.write_h5ad(temporary)
        with h5py.File(temporary, "a") as written, h5py.File(source) as given:
            written.pop("X", None)
            given.copy("X", written)


def _read_matrix(
    opened: h5py.File, parts: Mapping[str, Any], most_bytes: int | None
) -> np.ndarray | csr_array:
    """Return the whole matrix as float32.

    An array is read into memory or mapped. A sparse matrix is always mapped, because a job often
    needs only a sample of its rows, and the system keeps used parts in memory. Values are checked;
    values of a mapped array are checked at their first use.
    """
    stored = _open_matrix(opened, parts)
    shape = stored.shape
    if isinstance(stored, SparseRows):
        for rows in _cut(shape):
            part = stored[rows]
            require(part.has_canonical_format, "X has columns out of order")
            _check_values(part.data)
        data, indices = _map(stored.data).astype(np.float32, copy=False), _map(stored.indices)
        # Another type of the row starts would lead to a copy of the indices.
        return csr_array((data, indices, stored.indptr.astype(indices.dtype)), shape=shape)
    if most_bytes is not None and stored.nbytes > most_bytes:
        return _map(stored)
    X = stored[()].astype(np.float32, copy=False)
    _check_values(X)
    return X


def _open_matrix(opened: h5py.File, parts: Mapping[str, Any]) -> Any:
    """Return X, not yet read, after a check that its shape fits its names."""
    stored, shape = _open_rows(opened), (len(parts["obs"]), len(parts["var"]))
    is_right = stored.shape == shape and min(shape) > 0
    require(is_right, f"X: shape={stored.shape} should be {shape}, at least 1 x 1")
    return stored


def _open_rows(opened: h5py.Group) -> Any:
    """Return X, not yet read: an array, or `SparseRows`."""
    group = opened.get("X")
    if not isinstance(group, h5py.Group):
        return find_array(opened, "X", kind="f", shape=(None, None))
    shape = np.ravel(group.attrs.get("shape", ()))
    is_csr = group.attrs.get("encoding-type") == "csr_matrix" and shape.size == 2
    require(is_csr, "X is not a csr_matrix")
    for name, kind in (("data", "f"), ("indices", "i"), ("indptr", "i")):
        find_array(group, name, kind=kind, shape=(None,))
    return SparseRows(group, (int(shape[0]), int(shape[1])))


def _check_values(values: np.ndarray) -> None:
    # NaN and infinity propagate to sums of the extremes, so a second array is not needed.
    is_finite = not values.size or np.isfinite([values.min(), values.max()]).all()
    require(is_finite, "X contains NaN or infinity")


def _map(stored: h5py.Dataset) -> np.ndarray:
    """Map an array of a file into memory, copy on write; read an empty one."""
    offset = stored.id.get_offset()
    if offset is None:
        return stored[()]
    return np.memmap(stored.file.filename, stored.dtype, "c", offset, stored.shape)


def _cut(shape: tuple[int, int]) -> Iterator[slice]:
    """Yield slices of rows with a limited number of values."""
    height = max(1, NUMBERS_AT_ONCE // max(shape[1], 1))
    for start in range(0, shape[0], height):
        yield slice(start, min(start + height, shape[0]))


Source = np.ndarray | str | Path
"""A matrix in memory, or the file of which X is read in blocks."""


def row_blocks(
    source: Source, features: Any = slice(None), *, whole: bool = False
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield blocks of a matrix: the rows, and a copy of some features as float64, centred.

    With `whole`, blocks have all features of the file, not only the clustered ones. They depend
    only on the number of all features, so that sums over them are bit-identical whether or not the
    matrix is in memory.
    """
    if isinstance(source, np.ndarray):
        for rows in _cut(source.shape):
            yield rows, np.array(source[rows, features], dtype=np.float64, order="C")
        return
    with open_checked(source, RULE) as file:
        opened = file["raw"] if whole and "raw" in file else file
        stored = _open_rows(opened)
        center = opened["var/center"][()][features] if "center" in opened["var"] else 0
        for rows in _cut(stored.shape):
            block = as_dense(stored[rows][:, features])
            # As for a matrix in memory, centred values have single precision, and sums run in this
            # order.
            yield rows, (block - center).astype(np.float32, order="C").astype(np.float64)


def read_var(file: str | Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read the tables of the clustered features and of all features."""
    with open_checked(file, RULE) as opened:
        var = read_part(opened, "var", pd.DataFrame)
        return var, read_part(opened, "raw/var", pd.DataFrame) if "raw" in opened else var


def read_features(
    file: str | Path, features: Any, samples: np.ndarray | None = None, *, whole: bool = False
) -> np.ndarray:
    """Read some features as float32, centred, of all or some samples, both ascending.

    With `whole`, they are positions among all features of the file.
    """
    parts = []
    for rows, block in row_blocks(file, features, whole=whole):
        if samples is not None:
            block = block[samples[(samples >= rows.start) & (samples < rows.stop)] - rows.start]
        parts.append(block.astype(np.float32))
    return np.concatenate(parts)
