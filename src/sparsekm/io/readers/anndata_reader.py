"""Reading a matrix written by AnnData: HDF5 (``.h5ad``) or a Zarr store (``.zarr``)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from anndata.io import read_elem
from scipy.sparse import csr_array

from sparsekm.io.readers.contained_hdf5 import open_contained
from sparsekm.io.readers.left_out import is_row_numbers
from sparsekm.io.readers.named import Stored, assemble, is_turned
from sparsekm.io.readers.names import names_features
from sparsekm.io.readers.raw_matrix import (
    MatrixError,
    RawMatrix,
    check_size,
    explain_damage,
    suggest,
)
from sparsekm.io.readers.sparse_rows import SparseRows, check_type

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
    file: Path,
    labels: str | None = None,
    layer: str | None = None,
    groups: str | None = None,
    transpose: bool | str = "auto",
    missing_values: tuple[object, ...] = (),
    annotate: Sequence[str] = (),
) -> RawMatrix:
    """Read and check a matrix; see `reader.read_matrix` for parameters and errors.

    A sparse matrix stays so if it takes less memory that way.
    """
    is_zarr = file.is_dir()
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
        turn = transpose is True
        rows, columns = [*map(str, obs.index)], [*map(str, var.index)]
        remarks: list[str] = []
        named = next((one for one in var if names_features(str(one)) and var[one].is_unique), None)
        if named is not None and is_row_numbers("", columns):
            columns = [*map(str, var[named])]
            remarks.append(f"features are named by the column {named!r} of var, which is numbered.")
        if transpose == "auto" and not {labels, groups, *annotate} & {*obs.columns}:
            turn = is_turned(rows, columns)
            if turn:
                remarks.append(
                    f"obs holds features, such as {rows[0]!r}, and var samples, such as "
                    f"{columns[0]!r}: X is read transposed. Set transpose: false if obs holds "
                    "samples."
                )
        in_blocks = is_read_in_blocks(node) and not turn
        n, p = shape[::-1] if turn else shape
        check_size(file, n, p, n_stored=count_stored(node), in_blocks=in_blocks)
        # Columns cannot be read row by row.
        held = None if is_read_in_blocks(node) else _read_columns(file, node)
        samples, others = (var, obs) if turn else (obs, var)
        positions = None
        if not turn:
            positions, said = _read_positions(opened, len(obs))
            remarks += said

    @contextmanager
    def matrix() -> Iterator[Any]:
        if held is not None:
            yield held
            return
        with store() as opened:
            node = opened[name]
            is_array = hasattr(node, "dtype")
            yield check_type(file, node) if is_array else SparseRows(file, node, shape)

    stored = Stored(file, matrix, rows, columns, positions=positions, remarks=remarks)
    wanted = [("labels", labels), ("groups", groups), *(("annotate", name) for name in annotate)]
    for key, column in wanted:
        if column is None:
            continue
        if column not in samples:
            part = "var" if turn else "obs"
            raise MatrixError(
                f"{file}: {key}={column!r} should be one of the columns of {part}: "
                f"{list(samples.columns)}.{suggest(key, column, map(str, samples.columns))}"
                + (
                    " It is a column of var: X looks transposed. Set transpose: true."
                    if column in others and not turn
                    else ""
                )
            )
        if key == "annotate":
            stored.annotations[column] = _values(samples[column])
        else:
            setattr(stored, key, (column, _values(samples[column])))
    if "relevant" in others:
        stored.relevant = check_relevant(file, others["relevant"].to_numpy())
    return assemble(stored, turn, missing_values)


def check_relevant(file: object, values: np.ndarray) -> np.ndarray:
    """Check a planted truth, bool or 0 and 1, and return it as bool."""
    if values.dtype.kind not in "biuf" or not np.isin(values, (0, 1)).all():
        raise MatrixError(f"{file}: relevant should be True or False, or 1 or 0, for each feature.")
    return values.astype(bool)


def _read_positions(opened: Any, n_samples: int) -> tuple[np.ndarray | None, list[str]]:
    """Read where the samples are, or say in a remark why this is left out."""
    # Before AnnData 0.7 it was an array of records.
    if not hasattr(opened.get("obsm"), "keys") or "spatial" not in opened["obsm"]:
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


def _read_frame(file: Path, opened: Any, name: str) -> pd.DataFrame:
    frame = read_elem(opened[name])
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


def _values(column: pd.Series) -> np.ndarray:
    values = column.to_numpy(dtype=object)
    values[column.isna().to_numpy()] = None
    return values


def _read_columns(file: Path, node: Any) -> csr_array:
    """Read a whole sparse matrix by columns, and turn it into one by rows."""
    stored = read_elem(node)
    # As in `SparseRows`.
    stored.check_format(full_check=True)
    check_type(file, node["data"])
    return csr_array(stored)


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
