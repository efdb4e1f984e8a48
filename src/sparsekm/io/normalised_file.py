"""The file ``normalised.h5ad``, the input of the clustering for every atlas age and matrix.

An AnnData file that any scverse tool can open. X is dense float32, samples x features; obs has
``label`` (category of strings, missing for a sample without one) if classes are known; var has
``relevant`` (bool) if a truth was planted; ``uns["provenance"]`` records the source of the data and
their processing.
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

from sparsekm.io.anndata_parts import read_part, read_parts
from sparsekm.io.atomic_hdf5 import write_anndata
from sparsekm.io.checked_hdf5 import DamagedFileError, open_checked, read_array
from sparsekm.io.known_classes import class_column, class_names, is_known
from sparsekm.io.matrix_file import RULE

_REGION_COLUMNS = ("acronym", "name", "id", "color")


@dataclass(frozen=True)
class NormalisedData:
    """The parts of a data set that the clustering uses."""

    X: np.ndarray  # (n, p), float32
    features: list[str]
    labels: np.ndarray | None  # as `sparsekm.io.known_classes` describes them
    relevant: np.ndarray | None  # (p,), bool
    provenance: dict[str, Any]


def write_normalised(
    file: str | Path,
    X: np.ndarray,
    obs: pd.DataFrame,
    var: pd.DataFrame,
    provenance: Mapping[str, Any],
    *,
    obsm: Mapping[str, np.ndarray] | None = None,
    uns: Mapping[str, Any] | None = None,
) -> None:
    """Write a data set of n samples and p features atomically.

    The indices of `obs` and `var` are the names; ``obs["label"]`` is converted to a category of
    strings. `obsm` and `uns` are further entries, such as ``obsm["spatial"]`` of an atlas age.
    """
    obs, var = obs.copy(), var.copy()
    obs.index, var.index = obs.index.astype(str), var.index.astype(str)
    if "label" in obs:
        obs["label"] = class_column(obs["label"])
    data = anndata.AnnData(
        X=X,
        obs=obs,
        var=var,
        obsm=dict(obsm or {}),
        uns={**(uns or {}), "provenance": dict(provenance)},
    )
    write_anndata(file, data)


def read_normalised(file: str | Path) -> NormalisedData:
    """Read and check the parts of a data set that the clustering uses."""
    with open_checked(file, RULE) as opened:
        obs, var = (read_part(opened, name, RULE, pd.DataFrame) for name in ("obs", "var"))
        provenance = read_part(opened, "uns/provenance", RULE, dict)
        X = _read_matrix(opened, len(obs), len(var))
        return NormalisedData(
            X=X,
            features=[str(name) for name in var.index],
            labels=_read_labels(opened, obs),
            relevant=_read_relevant(opened, var),
            provenance=provenance,
        )


def read_anndata(file: str | Path) -> anndata.AnnData:
    """Read the whole data set, with everything recorded about samples and features."""
    with open_checked(file, RULE) as opened:
        parts = read_parts(opened, RULE)
        X = _read_matrix(opened, len(parts["obs"]), len(parts["var"]))
        return anndata.AnnData(X=X, **parts)


def read_features(file: str | Path) -> pd.DataFrame:
    """Read only the table of features, ``var``, p rows."""
    with open_checked(file, RULE) as opened:
        return read_part(opened, "var", RULE, pd.DataFrame)


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


def _read_matrix(opened: h5py.File, n_samples: int, n_features: int) -> np.ndarray:
    shape = (n_samples, n_features)
    if min(shape) < 1:
        raise DamagedFileError(opened.filename, f"X has shape={shape}", RULE)
    return read_array(opened, "X", kind="f", shape=shape, rule=RULE, dtype=np.float32)


def _read_labels(opened: h5py.File, obs: pd.DataFrame) -> np.ndarray | None:
    if "label" not in obs:
        return None
    labels = class_names(obs["label"])
    if not is_known(labels).any():
        raise DamagedFileError(opened.filename, "obs: no sample has a label", RULE)
    return labels


def _read_relevant(opened: h5py.File, var: pd.DataFrame) -> np.ndarray | None:
    if "relevant" not in var:
        return None
    if var["relevant"].dtype != bool:
        raise DamagedFileError(
            opened.filename, f"var: relevant has dtype={var['relevant'].dtype}", RULE
        )
    return var["relevant"].to_numpy()
