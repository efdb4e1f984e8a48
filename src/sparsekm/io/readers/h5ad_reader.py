"""Reading a matrix from an AnnData file (``.h5ad``)."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pandas as pd
from anndata.io import read_elem
from scipy import sparse

from sparsekm.io.readers.contained_hdf5 import open_contained
from sparsekm.io.readers.raw_matrix import (
    MatrixError,
    RawMatrix,
    check_features,
    check_labels,
    check_relevant,
    check_samples,
    check_size,
)
from sparsekm.io.readers.value_blocks import collect_rows


def read_h5ad(file: str | Path, labels: str | None = None, layer: str | None = None) -> RawMatrix:
    """Read and check a matrix.

    Parameters
    ----------
    labels : str, optional
        Name of the column of ``obs`` that holds the known classes.
    layer : str, optional
        Name of the layer to read in place of ``X``.

    Returns
    -------
    matrix : RawMatrix
        Sparse values are made dense, after a check of the size that this takes.

    Raises
    ------
    MatrixError
        Naming the file, the value and the rule that it breaks.
    """
    file = Path(file)
    name = "X" if layer is None else f"layers/{layer}"
    with open_contained(file, "anndata") as opened:
        return _read(file, opened, labels, layer, name)


def _read(
    file: Path, opened: h5py.File, labels: str | None, layer: str | None, name: str
) -> RawMatrix:
    if name not in opened:
        there = sorted(opened["layers"]) if layer is not None and "layers" in opened else []
        raise MatrixError(
            f"{file}: {'X' if layer is None else f'layer={layer!r}'} is not there; "
            f"layers in the file: {there}."
        )
    obs, var = (_read_frame(file, opened, part) for part in ("obs", "var"))
    node = opened[name]
    shape = tuple(int(length) for length in node.attrs.get("shape", getattr(node, "shape", ())))
    if shape != (len(obs), len(var)):
        raise MatrixError(
            f"{file}: {name} has shape={shape}; it should be ({len(obs)}, {len(var)}), as obs and "
            "var have it." + (" X looks transposed." if shape == (len(var), len(obs)) else "")
        )
    check_size(file, *shape)
    if labels is not None and labels not in obs:
        raise MatrixError(
            f"{file}: labels={labels!r} should be one of the columns of obs: {list(obs.columns)}."
            + (" It is one of var: X looks transposed." if labels in var else "")
        )
    features = check_features(file, var.index)
    samples = check_samples(file, obs.index)
    X, offset = collect_rows(file, _source(file, node), features)
    return RawMatrix(
        X=X,
        offset=offset,
        features=features,
        samples=samples,
        labels=None if labels is None else check_labels(file, labels, _values(obs[labels])),
        relevant=check_relevant(file, var["relevant"].to_numpy()) if "relevant" in var else None,
    )


def _read_frame(file: Path, opened: h5py.File, name: str) -> pd.DataFrame:
    frame = read_elem(opened[name])
    if not isinstance(frame, pd.DataFrame):
        raise MatrixError(f"{file}: {name} is a {type(frame).__name__}; it should be a data frame.")
    return frame


def _values(column: pd.Series) -> np.ndarray:
    values = column.to_numpy(dtype=object)
    values[column.isna().to_numpy()] = None
    return values


def _source(file: Path, node: h5py.Dataset | h5py.Group) -> h5py.Dataset | sparse.csr_array:
    """Give what rows can be taken of: the data set itself, or a sparse matrix read whole."""
    source = node
    if isinstance(node, h5py.Group):
        stored = read_elem(node)
        # Conversions trust the indices: out of bounds, they would write anywhere in memory.
        stored.check_format(full_check=True)
        source = sparse.csr_array(stored)
    if source.dtype.kind not in "fiub":
        raise MatrixError(f"{file}: {node.name} has dtype={source.dtype}; it should be numeric.")
    return source
