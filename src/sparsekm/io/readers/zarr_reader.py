"""Reading a matrix from an AnnData store of Zarr (``.zarr``), a folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from sparsekm.io.input_error import reason_of
from sparsekm.io.readers.raw_matrix import (
    MatrixError,
    RawMatrix,
    check_features,
    check_labels,
    check_samples,
    check_size,
)
from sparsekm.io.readers.value_blocks import collect_rows

_METADATA = (".zarray", ".zgroup", ".zattrs", ".zmetadata", "zarr.json")
# Those that only move and shrink bytes. Others, pickle foremost, can run what is in them.
_CODECS = frozenset(
    [
        *("blosc", "bytes", "bz2", "crc32c", "delta", "fixedscaleoffset", "gzip", "lz4"),
        *("sharding_indexed", "shuffle", "transpose", "vlen-array", "vlen-bytes", "vlen-utf8"),
        *("zlib", "zstd"),
    ]
)


def read_zarr(file: str | Path, labels: str | None = None, layer: str | None = None) -> RawMatrix:
    """Read and check a matrix; parameters and errors as of `read_h5ad`."""
    file = Path(file)
    if not file.is_dir():
        raise FileNotFoundError(f"{file}: no such folder.")
    name = "X" if layer is None else f"layers/{layer}"
    try:
        import zarr

        _check_store(file)
        return _read(file, zarr.open_group(file, mode="r", use_consolidated=False), labels, name)
    except (MatrixError, MemoryError):
        raise
    except ModuleNotFoundError as error:
        raise MatrixError(
            f'{file}: Zarr stores are read by zarr. Install it: pip install "sparsekm[zarr]".'
        ) from error
    # A damaged store can fail anywhere inside zarr or anndata, with almost any error.
    except Exception as error:
        raise MatrixError(
            f"{file}: not a whole .zarr store ({reason_of(error)}); it should be as anndata writes "
            "it."
        ) from error


def _check_store(file: Path) -> None:
    """Refuse links, and codecs that do more than to move and shrink bytes."""
    for part in file.rglob("*"):
        if part.is_symlink():
            raise MatrixError(f"{file}: {part.relative_to(file)} is a link; nothing should be.")
        if part.name in _METADATA:
            strange = set(_codecs(json.loads(part.read_text(encoding="utf-8")))) - _CODECS
            if strange:
                raise MatrixError(
                    f"{file}: {part.relative_to(file)} names the codecs {sorted(strange)}; it "
                    f"should name none but {sorted(_CODECS)}."
                )


def _codecs(metadata: Any, inside: bool = False) -> Iterator[str]:
    """Yield the names of codecs, wherever in the metadata of an array they stand."""
    if isinstance(metadata, list):
        for part in metadata:
            yield from _codecs(part, inside)
    elif isinstance(metadata, dict):
        if inside:
            yield from (str(metadata[key]) for key in ("id", "name") if key in metadata)
        for key, part in metadata.items():
            is_codec = key in ("codecs", "index_codecs", "filters", "compressor")
            yield from _codecs(part, is_codec or (inside and key == "configuration"))


def _read(file: Path, opened: Any, labels: str | None, name: str) -> RawMatrix:
    from anndata.io import read_elem

    missing = [part for part in ("obs", "var", name) if part not in opened]
    if missing:
        layers = sorted(opened["layers"].keys()) if "layers" in opened else []
        raise MatrixError(f"{file}: {missing[0]} is not there. Set layer to one of {layers}.")
    obs, var = read_elem(opened["obs"]), read_elem(opened["var"])
    node = opened[name]
    shape = tuple(int(length) for length in node.attrs.get("shape", getattr(node, "shape", ())))
    if shape != (len(obs), len(var)):
        raise MatrixError(
            f"{file}: {name} has shape={shape}; it should be ({len(obs)}, {len(var)}), as obs and "
            "var have it."
        )
    check_size(file, *shape)
    if labels is not None and labels not in obs:
        raise MatrixError(
            f"{file}: labels={labels!r} should be one of the columns of obs: {list(obs.columns)}."
        )
    features, samples = check_features(file, var.index), check_samples(file, obs.index)
    X, offset = _dense(file, read_elem(node), features)
    return RawMatrix(
        X=X,
        offset=offset,
        features=features,
        samples=samples,
        labels=None if labels is None else check_labels(file, labels, _values(obs[labels])),
    )


def _values(column: pd.Series) -> np.ndarray:
    values = column.to_numpy(dtype=object)
    values[column.isna().to_numpy()] = None
    return values


def _dense(file: Path, source: Any, features: list[str]) -> tuple[np.ndarray, np.ndarray]:
    if sparse.issparse(source):
        # Conversions trust the indices: out of bounds, they would write anywhere in memory.
        source.check_format(full_check=True)
        source = source.tocsr()
    if source.dtype.kind not in "fiub":
        raise MatrixError(f"{file}: the matrix has dtype={source.dtype}; it should be numeric.")
    return collect_rows(file, source, features)
