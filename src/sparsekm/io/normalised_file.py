"""The file ``normalised.h5ad``, the input of the clustering for every atlas age and matrix.

An AnnData file. X is float32, an array or a sparse matrix (CSR) if the data came as one, which is
divided by the standard deviations but not centred, since that would fill it: z-scores are X less
``var["center"]``. var has ``mean`` and ``deviation`` (ddof = 1) of the features before they were
z-scored, if they were, ``relevant`` (bool) if a truth was planted, and ``group`` if features are
kept or dropped in groups. obs has ``label``, ``group`` and ``batch`` (categories of strings,
missing where unknown) and ``weight`` if they are known; columns that start with
"annotation " are those that the user named, such as age or sex. obsm has ``spatial`` if positions
are known; ``uns["provenance"]`` records the source of the data and their processing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anndata
import h5py
import numpy as np
import pandas as pd
from scipy.sparse import csr_array, issparse

from sparsekm.io.atomic import atomic_path
from sparsekm.io.hdf5_format import (
    DamagedFileError,
    open_checked,
    read_numbers,
    read_part,
    read_parts,
)
from sparsekm.io.known_classes import class_column, class_names, is_known
from sparsekm.io.matrix_file import RULE, StoredRows, file_bytes, write_rows
from sparsekm.io.row_stream import RowStream

ANNOTATION = "annotation "
"""How the columns of ``obs`` begin that the user named as annotations."""
_REGION_COLUMNS = ("acronym", "name", "id", "color")


@dataclass(frozen=True)
class NormalisedData:
    """The parts of a data set that the clustering uses."""

    # (n, p), float32; a `numpy.memmap`, or of such, if it was not read into memory
    X: np.ndarray | csr_array
    features: list[str]
    labels: np.ndarray | None  # as `sparsekm.io.known_classes` describes them
    relevant: np.ndarray | None  # (p,), bool
    provenance: dict[str, Any]
    center: np.ndarray | None = None  # (p,), float64: to be subtracted from a sparse X
    positions: np.ndarray | None = None  # (n, d), float64; of an age in millimetres
    groups: np.ndarray | None = None  # (n,), object array of str
    batch: np.ndarray | None = None  # likewise
    weights: np.ndarray | None = None  # (n,), float64
    feature_groups: np.ndarray | None = None  # (p,), object array of str
    # (p,), float64: means and standard deviations before z-scoring; None if X is as it came.
    means: np.ndarray | None = None
    deviations: np.ndarray | None = None


def write_normalised(
    file: str | Path,
    X: np.ndarray | csr_array | RowStream,
    obs: pd.DataFrame,
    var: pd.DataFrame,
    provenance: Mapping[str, Any],
    *,
    obsm: Mapping[str, np.ndarray] | None = None,
    uns: Mapping[str, Any] | None = None,
) -> None:
    """Write a data set of n samples and p features, named by `obs` and `var`, atomically."""
    obs, var = obs.copy(), var.copy()
    obs.index, var.index = obs.index.astype(str), var.index.astype(str)
    for name in obs:
        if name in ("label", "group", "batch"):
            obs[name] = class_column(obs[name])
        elif str(name).startswith(ANNOTATION) and obs[name].dtype == object:
            obs[name] = pd.Categorical(obs[name])
    uns = {**(uns or {}), "provenance": dict(provenance)}
    data = anndata.AnnData(obs=obs, var=var, obsm=dict(obsm or {}), uns=uns)
    rows = X if isinstance(X, RowStream) else RowStream.of(X)
    with atomic_path(file, file_bytes(rows)) as temporary:
        data.write_h5ad(temporary)
        # AnnData would cut a sparse matrix into chunks, which cannot be mapped into memory.
        with h5py.File(temporary, "a") as opened:
            opened.pop("X", None)
            write_rows(opened, "X", rows)


def read_normalised(file: str | Path, most_bytes: int | None = None) -> NormalisedData:
    """Read and check the parts of a data set that the clustering uses.

    A dense X is read into memory if it takes no more than `most_bytes`, by default always; a
    sparse one is mapped from the file.
    """
    with open_checked(file, RULE) as opened:
        obs, var = (read_part(opened, name, RULE, pd.DataFrame) for name in ("obs", "var"))
        provenance = read_part(opened, "uns/provenance", RULE, dict)
        X = _read_matrix(opened, len(obs), len(var), most_bytes)
        return NormalisedData(
            X=X,
            features=[str(name) for name in var.index],
            labels=_read_labels(opened, obs),
            relevant=_read_relevant(opened, var),
            provenance=provenance,
            center=_read_numbers(opened, var, "center"),
            means=_read_numbers(opened, var, "mean"),
            deviations=_read_numbers(opened, var, "deviation"),
            positions=_read_positions(opened, len(obs)),
            groups=class_names(obs["group"]) if "group" in obs else None,
            batch=class_names(obs["batch"]) if "batch" in obs else None,
            weights=_read_numbers(opened, obs, "weight"),
            feature_groups=var["group"].to_numpy(object) if "group" in var else None,
        )


def read_rows(file: str | Path, rows: np.ndarray) -> np.ndarray | csr_array:
    """Read some rows of X, ascending; the others are not held."""
    with open_checked(file, RULE) as opened:
        return StoredRows(opened, "X", RULE).take(rows)


def read_anndata(file: str | Path, most_bytes: int | None = None) -> anndata.AnnData:
    """Read the whole data set; `most_bytes` is that of `read_normalised`."""
    with open_checked(file, RULE) as opened:
        parts = read_parts(opened, RULE)
        X = _read_matrix(opened, len(parts["obs"]), len(parts["var"]), most_bytes)
        # AnnData does not write the type memmap, only what it maps.
        return anndata.AnnData(X=X if issparse(X) else np.asarray(X), **parts)


def read_features(file: str | Path) -> pd.DataFrame:
    """Read only the table of features, ``var``, p rows."""
    with open_checked(file, RULE) as opened:
        return read_part(opened, "var", RULE, pd.DataFrame)


def read_positions(file: str | Path) -> np.ndarray | None:
    """Read where the samples are in space, float64 of shape (n, d), or None."""
    with open_checked(file, RULE) as opened:
        return _read_positions(opened, len(read_part(opened, "obs", RULE, pd.DataFrame)))


def read_relevant(file: str | Path) -> np.ndarray | None:
    """Read which features were planted as relevant, bool of shape (p,), or None."""
    with open_checked(file, RULE) as opened:
        return _read_relevant(opened, read_part(opened, "var", RULE, pd.DataFrame))


def read_classes(file: str | Path) -> tuple[np.ndarray | None, pd.DataFrame | None]:
    """Read the samples' known classes, (n,), and the table of regions, each None if absent."""
    with open_checked(file, RULE) as opened:
        labels = _read_labels(opened, read_part(opened, "obs", RULE, pd.DataFrame))
        if "uns/regions" not in opened:
            return labels, None
        regions = read_part(opened, "uns/regions", RULE, pd.DataFrame)
        absent = [name for name in _REGION_COLUMNS if name not in regions]
        if absent:
            raise DamagedFileError(file, f"uns/regions lacks the columns {absent}", RULE)
        return labels, regions


def _read_matrix(
    opened: h5py.File, n_samples: int, n_features: int, most_bytes: int | None = None
) -> np.ndarray | csr_array:
    stored, shape = StoredRows(opened, "X", RULE), (n_samples, n_features)
    if stored.shape != shape or min(shape) < 1:
        problem = f"X: shape={stored.shape} should be {shape}, at least 1 x 1"
        raise DamagedFileError(opened.filename, problem, RULE)
    return stored.read(in_memory=most_bytes is None or stored.nbytes <= most_bytes)


def _read_numbers(opened: h5py.File, table: pd.DataFrame, name: str) -> np.ndarray | None:
    if name not in table:
        return None
    values, place = table[name].to_numpy(), "obs" if name == "weight" else "var"
    if values.dtype.kind != "f" or not np.isfinite(values).all():
        raise DamagedFileError(opened.filename, f"{place}: {name} should be finite numbers", RULE)
    return values.astype(np.float64)


def _read_labels(opened: h5py.File, obs: pd.DataFrame) -> np.ndarray | None:
    if "label" not in obs:
        return None
    labels = class_names(obs["label"])
    if not is_known(labels).any():
        raise DamagedFileError(opened.filename, "obs: no sample has a label", RULE)
    return labels


def _read_positions(opened: h5py.File, n_samples: int) -> np.ndarray | None:
    if "obsm/spatial" not in opened:
        return None
    return read_numbers(opened["obsm"], "spatial", shape=(n_samples, None), rule=RULE)


def _read_relevant(opened: h5py.File, var: pd.DataFrame) -> np.ndarray | None:
    if "relevant" not in var:
        return None
    if var["relevant"].dtype != bool:
        problem = f"var: relevant has dtype={var['relevant'].dtype}"
        raise DamagedFileError(opened.filename, problem, RULE)
    return var["relevant"].to_numpy()
