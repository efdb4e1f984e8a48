"""Reading a matrix written by AnnData: HDF5 (``.h5ad``) or a Zarr store (``.zarr``)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from anndata.io import read_elem
from scipy.sparse import csr_array

from sparsekm.io.readers.contained_hdf5 import open_contained
from sparsekm.io.readers.raw_matrix import (
    MatrixError,
    RawMatrix,
    check_features,
    check_groups,
    check_labels,
    check_relevant,
    check_samples,
    check_size,
    explain_damage,
)
from sparsekm.io.readers.value_blocks import check_rows

_RENAMING = "adata.{}_names_make_unique() renames them"
_METADATA = (".zarray", ".zgroup", ".zattrs", ".zmetadata", "zarr.json")
# Codecs that only move and compress bytes. Others, such as pickle, can run code from the file.
_CODECS = frozenset(
    [
        *("blosc", "bytes", "bz2", "crc32c", "delta", "fixedscaleoffset", "gzip", "lz4"),
        *("sharding_indexed", "shuffle", "transpose", "vlen-array", "vlen-bytes", "vlen-utf8"),
        *("zlib", "zstd"),
    ]
)


@contextmanager
def _open_store(file: Path) -> Iterator[Any]:
    """Open a Zarr store for reading; any error inside the block becomes a `MatrixError`."""
    try:
        import zarr
    except ModuleNotFoundError as error:
        raise MatrixError(
            f'{file}: reading Zarr stores requires zarr. Install it: pip install "sparsekm[zarr]".'
        ) from error
    with explain_damage(file, ".zarr store", "anndata."):
        _check_store(file)
        yield zarr.open_group(file, mode="r", use_consolidated=False)


def read_anndata(
    file: Path, labels: str | None = None, layer: str | None = None, groups: str | None = None
) -> RawMatrix:
    """Read and check a matrix; see `reader.read_matrix` for parameters and errors.

    A sparse matrix stays so if it takes less memory that way.
    """
    is_zarr = file.suffix.lower() == ".zarr"
    store = partial(_open_store, file) if is_zarr else partial(open_contained, file, "anndata")
    name = "X" if layer is None else f"layers/{layer}"
    with store() as opened:
        if name not in opened:
            layers = sorted(opened["layers"].keys()) if "layers" in opened else []
            what = "X" if layer is None else f"layer={layer!r}"
            raise MatrixError(f"{file}: there is no {what}. Set layer to one of {layers}.")
        obs, var = (_read_frame(file, opened, part) for part in ("obs", "var"))
        node = opened[name]
        shape = tuple(int(length) for length in node.attrs.get("shape", getattr(node, "shape", ())))
        if shape != (len(obs), len(var)):
            raise MatrixError(
                f"{file}: {name} has shape={shape}; it should be ({len(obs)}, {len(var)}), the "
                "lengths of obs and var."
                + (" X looks transposed." if shape == (len(var), len(obs)) else "")
            )
        check_size(file, *shape, n_stored=count_stored(node), in_blocks=is_read_in_blocks(node))
        # Columns cannot be read row by row.
        held = None if is_read_in_blocks(node) else _read_columns(file, node)
        positions, remarks = _read_positions(opened, len(obs))
    for key, column in (("labels", labels), ("groups", groups)):
        if column is not None and column not in obs:
            raise MatrixError(
                f"{file}: {key}={column!r} should be one of the columns of obs: "
                f"{list(obs.columns)}."
                + (" It is a column of var: X looks transposed." if column in var else "")
            )

    @contextmanager
    def matrix() -> Iterator[Any]:
        if held is not None:
            yield held
            return
        with store() as opened:
            node = opened[name]
            yield _check_type(file, node) if hasattr(node, "dtype") else _SparseRows(file, node)

    features = check_features(file, var.index, advice=_RENAMING.format("var"))
    samples = check_samples(file, obs.index, advice=_RENAMING.format("obs"))
    X, offset = check_rows(file, matrix, features)
    return RawMatrix(
        X=X,
        offset=offset,
        features=features,
        samples=samples,
        labels=None if labels is None else check_labels(file, labels, _values(obs[labels])),
        relevant=check_relevant(file, var["relevant"].to_numpy()) if "relevant" in var else None,
        groups=None if groups is None else check_groups(file, groups, _values(obs[groups])),
        positions=positions,
        remarks=remarks,
    )


def _read_positions(opened: Any, n_samples: int) -> tuple[np.ndarray | None, list[str]]:
    """Read where the samples are, or say in a remark why this is left out."""
    if "obsm" not in opened or "spatial" not in opened["obsm"]:
        return None, []
    node = opened["obsm"]["spatial"]
    # A data frame is a group.
    shape, dtype = getattr(node, "shape", ()), getattr(node, "dtype", np.dtype(object))
    if len(shape) == 2 and shape[0] == n_samples and 1 <= shape[1] <= 3 and dtype.kind in "fiu":
        positions = np.asarray(node[()], dtype=np.float64)
        if np.isfinite(positions).all():
            return positions, []
    rule = f"finite numbers of shape ({n_samples}, 1 to 3)"
    return None, [f"obsm['spatial'] is not used as positions: they should be {rule}."]


def count_stored(node: Any) -> int | None:
    """Return how many values a sparse matrix stores; None for an array."""
    return None if hasattr(node, "dtype") else int(node["data"].shape[0])


def is_read_in_blocks(node: Any) -> bool:
    """Tell whether a matrix can be read row by row: an array or a sparse one by rows."""
    return hasattr(node, "dtype") or node.attrs.get("encoding-type") == "csr_matrix"


class _SparseRows:
    """A ``csr_matrix`` in an open file, of which consecutive rows are read."""

    def __init__(self, file: Path, node: Any) -> None:
        self._file, self._node = file, node
        self.shape = tuple(int(length) for length in node.attrs["shape"])
        self.nnz = int(_check_type(file, node["data"]).shape[0])
        self.indptr = node["indptr"][:]
        if self.indptr.dtype.kind not in "iu" or node["indices"].dtype.kind not in "iu":
            raise self._damaged("indices and indptr should be integers")
        self.indptr = self.indptr.astype(np.int64)
        n_indices = int(node["indices"].shape[0])
        if len(self.indptr) != self.shape[0] + 1 or self.indptr[0] != 0:
            raise self._damaged(f"indptr should begin with 0 and have {self.shape[0] + 1} values")
        if (np.diff(self.indptr) < 0).any() or not self.indptr[-1] == self.nnz == n_indices:
            raise self._damaged("indptr should ascend to the number of values and indices")

    def __getitem__(self, rows: slice) -> csr_array:
        starts = self.indptr[rows.start : rows.stop + 1]
        stored = slice(int(starts[0]), int(starts[-1]))
        indices = self._node["indices"][stored]
        # Conversions trust the indices; if out of bounds, they would write anywhere in memory.
        wrong = (indices < 0) | (indices >= self.shape[1])
        if wrong.any():
            at = int(np.argmax(wrong))
            row = rows.start + int(np.searchsorted(starts, starts[0] + at, side="right"))
            raise self._damaged(
                f"sample {row} has the column index {indices[at]}; it should be in "
                f"[0, {self.shape[1]})"
            )
        shape = (rows.stop - rows.start, self.shape[1])
        return csr_array((self._node["data"][stored], indices, starts - starts[0]), shape=shape)

    def _damaged(self, problem: str) -> MatrixError:
        return MatrixError(f"{self._file}: {self._node.name} is no sparse matrix: {problem}.")


def _read_frame(file: Path, opened: Any, name: str) -> pd.DataFrame:
    frame = read_elem(opened[name])
    if not isinstance(frame, pd.DataFrame):
        raise MatrixError(f"{file}: {name} is a {type(frame).__name__}; it should be a data frame.")
    return frame


def _values(column: pd.Series) -> np.ndarray:
    values = column.to_numpy(dtype=object)
    values[column.isna().to_numpy()] = None
    return values


def _read_columns(file: Path, node: Any) -> csr_array:
    """Read a whole sparse matrix by columns, and turn it into one by rows."""
    stored = read_elem(node)
    # As in `_SparseRows`.
    stored.check_format(full_check=True)
    _check_type(file, node["data"])
    return csr_array(stored)


def _check_type(file: Path, values: Any) -> Any:
    if values.dtype.kind not in "fiub":
        raise MatrixError(f"{file}: {values.name} has dtype={values.dtype}; it should be numeric.")
    return values


def _check_store(file: Path) -> None:
    """Refuse links, and codecs that do more than move and compress bytes."""
    for part in file.rglob("*"):
        if part.is_symlink():
            raise MatrixError(f"{file}: {part.relative_to(file)} is a link; links are not allowed.")
        if part.name in _METADATA:
            strange = set(_codecs(json.loads(part.read_text(encoding="utf-8")))) - _CODECS
            if strange:
                raise MatrixError(
                    f"{file}: {part.relative_to(file)} uses the codecs {sorted(strange)}; only "
                    f"{sorted(_CODECS)} are allowed."
                )


def _codecs(metadata: Any, inside: bool = False) -> Iterator[str]:
    """Yield the names of codecs anywhere in the metadata of an array."""
    if isinstance(metadata, list):
        for part in metadata:
            yield from _codecs(part, inside)
    elif isinstance(metadata, dict):
        if inside:
            yield from (str(metadata[key]) for key in ("id", "name") if key in metadata)
        for key, part in metadata.items():
            is_codec = key in ("codecs", "index_codecs", "filters", "compressor")
            yield from _codecs(part, is_codec or (inside and key == "configuration"))
