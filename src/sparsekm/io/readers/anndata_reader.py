"""Reading a matrix written by AnnData: HDF5 (``.h5ad``) or a Zarr store (``.zarr``)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from anndata.io import read_elem
from scipy import sparse

from sparsekm.io.input_error import reason_of
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
)
from sparsekm.io.readers.value_blocks import collect_rows

_METADATA = (".zarray", ".zgroup", ".zattrs", ".zmetadata", "zarr.json")
# Codecs that only move and compress bytes. Others, such as pickle, can run code from the file.
_CODECS = frozenset(
    [
        *("blosc", "bytes", "bz2", "crc32c", "delta", "fixedscaleoffset", "gzip", "lz4"),
        *("sharding_indexed", "shuffle", "transpose", "vlen-array", "vlen-bytes", "vlen-utf8"),
        *("zlib", "zstd"),
    ]
)


def read_h5ad(
    file: str | Path,
    labels: str | None = None,
    layer: str | None = None,
    groups: str | None = None,
) -> RawMatrix:
    """Read and check a matrix; see `reader.read_matrix` for parameters and errors.

    A sparse matrix stays so if it takes less memory that way.
    """
    file = Path(file)
    with open_contained(file, "anndata") as opened:
        return _read(file, opened, labels, layer, groups)


def read_zarr(
    file: str | Path,
    labels: str | None = None,
    layer: str | None = None,
    groups: str | None = None,
) -> RawMatrix:
    """Read and check a matrix; see `read_h5ad`."""
    file = Path(file)
    if not file.is_dir():
        raise FileNotFoundError(f"{file}: no such folder.")
    try:
        import zarr

        _check_store(file)
        opened = zarr.open_group(file, mode="r", use_consolidated=False)
        return _read(file, opened, labels, layer, groups)
    except (MatrixError, MemoryError):
        raise
    except ModuleNotFoundError as error:
        raise MatrixError(
            f'{file}: reading Zarr stores requires zarr. Install it: pip install "sparsekm[zarr]".'
        ) from error
    # A damaged store can cause almost any error anywhere inside zarr or anndata.
    except Exception as error:
        raise MatrixError(
            f"{file}: not a complete .zarr store ({reason_of(error)}); it should be written by "
            "anndata."
        ) from error


def _read(
    file: Path, opened: Any, labels: str | None, layer: str | None, groups: str | None
) -> RawMatrix:
    name = "X" if layer is None else f"layers/{layer}"
    if name not in opened:
        layers = sorted(opened["layers"].keys()) if "layers" in opened else []
        what = "X" if layer is None else f"layer={layer!r}"
        raise MatrixError(f"{file}: there is no {what}. Set layer to one of {layers}.")
    obs, var = (_read_frame(file, opened, part) for part in ("obs", "var"))
    node = opened[name]
    shape = tuple(int(length) for length in node.attrs.get("shape", getattr(node, "shape", ())))
    if shape != (len(obs), len(var)):
        raise MatrixError(
            f"{file}: {name} has shape={shape}; it should be ({len(obs)}, {len(var)}), the lengths "
            "of obs and var." + (" X looks transposed." if shape == (len(var), len(obs)) else "")
        )
    check_size(file, *shape, n_stored=count_stored(node))
    for key, column in (("labels", labels), ("groups", groups)):
        if column is not None and column not in obs:
            raise MatrixError(
                f"{file}: {key}={column!r} should be one of the columns of obs: "
                f"{list(obs.columns)}."
                + (" It is a column of var: X looks transposed." if column in var else "")
            )
    features = check_features(file, var.index)
    samples = check_samples(file, obs.index)
    X, offset = collect_rows(file, _source(file, node), features)
    positions, remarks = _read_positions(opened, len(obs))
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


def _read_frame(file: Path, opened: Any, name: str) -> pd.DataFrame:
    frame = read_elem(opened[name])
    if not isinstance(frame, pd.DataFrame):
        raise MatrixError(f"{file}: {name} is a {type(frame).__name__}; it should be a data frame.")
    return frame


def _values(column: pd.Series) -> np.ndarray:
    values = column.to_numpy(dtype=object)
    values[column.isna().to_numpy()] = None
    return values


def _source(file: Path, node: Any) -> Any:
    """Return an object with rows: the array itself, or a sparse matrix read completely."""
    source = node
    if not hasattr(node, "dtype"):
        stored = read_elem(node)
        # Conversions trust the indices; if out of bounds, they would write anywhere in memory.
        stored.check_format(full_check=True)
        source = sparse.csr_array(stored)
    if source.dtype.kind not in "fiub":
        raise MatrixError(f"{file}: {node.name} has dtype={source.dtype}; it should be numeric.")
    return source


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
