"""The file ``normalised.h5ad``: where every data set, atlas age or matrix, enters the clustering.

An AnnData file that any scverse tool opens. X is dense float32, samples x features; obs has
``label`` (category of strings) where classes are known; var has ``relevant`` (bool) where the
truth was planted; ``uns["provenance"]`` tells where it comes from and what was done to it.
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
from anndata.io import read_elem

from sparsekm.storage.atomic import atomic_path
from sparsekm.storage.checked_hdf5 import DamagedFileError, open_checked, read_array

_RULE = "normalise_expression (of an age) or normalise_matrix"


@dataclass(frozen=True)
class NormalisedData:
    """What the clustering needs of a data set.

    Attributes
    ----------
    X : float32 array of shape (n, p)
    features : list of str
    labels : object array of str, shape (n,), or None
    relevant : bool array of shape (p,), or None
    provenance : dict
    """

    X: np.ndarray
    features: list[str]
    labels: np.ndarray | None
    relevant: np.ndarray | None
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
    """Write a data set whole or not at all.

    Parameters
    ----------
    file : path
    X : float32 array of shape (n, p)
    obs : DataFrame of n rows
        Index: the samples' names. ``label`` is made a category of strings.
    var : DataFrame of p rows
        Index: the features' names.
    provenance : mapping
        Stands in ``uns["provenance"]``.
    obsm, uns : mappings, optional
        Further entries, as ``obsm["spatial"]`` or ``uns["regions"]`` of an atlas age.
    """
    obs, var = obs.copy(), var.copy()
    obs.index, var.index = obs.index.astype(str), var.index.astype(str)
    if "label" in obs:
        obs["label"] = obs["label"].astype(str).astype("category")
    data = anndata.AnnData(
        X=X,
        obs=obs,
        var=var,
        obsm=dict(obsm or {}),
        uns={**(uns or {}), "provenance": dict(provenance)},
    )
    with atomic_path(file) as temporary:
        data.write_h5ad(temporary)


def read_normalised(file: str | Path) -> NormalisedData:
    """Read what the clustering needs, checking everything.

    Raises
    ------
    DamagedFileError
        When the file is truncated, its parts disagree, or a value is not finite.
    """
    with open_checked(file, _RULE) as opened:
        obs, var = (_read_part(file, opened, name) for name in ("obs", "var"))
        provenance = _read_part(file, opened, "uns/provenance")
        X = read_array(
            opened, "X", kind="f", shape=(len(obs), len(var)), rule=_RULE, dtype=np.float32
        )
    return NormalisedData(
        X=X,
        features=[str(name) for name in var.index],
        labels=obs["label"].astype(str).to_numpy(dtype=object) if "label" in obs else None,
        relevant=var["relevant"].to_numpy(dtype=bool) if "relevant" in var else None,
        provenance=provenance,
    )


def read_anndata(file: str | Path) -> anndata.AnnData:
    """Read the whole data set, with everything that its writer kept about samples and features.

    Raises
    ------
    DamagedFileError
        When the file is truncated, its parts disagree, or a value is not finite.
    """
    with open_checked(file, _RULE) as opened:
        parts = {name: _read_part(file, opened, name) for name in ("obs", "var", "obsm", "uns")}
        shape = (len(parts["obs"]), len(parts["var"]))
        X = read_array(opened, "X", kind="f", shape=shape, rule=_RULE, dtype=np.float32)
    return anndata.AnnData(X=X, **parts)


def read_features(file: str | Path) -> pd.DataFrame:
    """Read the table of the features alone: what stands in ``var``, p rows."""
    with open_checked(file, _RULE) as opened:
        return _read_part(file, opened, "var")


def read_classes(file: str | Path) -> tuple[np.ndarray | None, pd.DataFrame | None]:
    """Read the known classes of the samples, and what an atlas says of its regions.

    Returns
    -------
    labels : object array of str, shape (n,), or None
    regions : DataFrame with columns acronym, name, id and color, or None
    """
    with open_checked(file, _RULE) as opened:
        obs = _read_part(file, opened, "obs")
        regions = _read_part(file, opened, "uns/regions") if "uns/regions" in opened else None
    labels = obs["label"].astype(str).to_numpy(dtype=object) if "label" in obs else None
    return labels, regions


def _read_part(file: str | Path, opened: h5py.File, name: str) -> Any:
    try:
        return read_elem(opened[name])
    # anndata reads what it is told to read; a damaged file can fail in many ways.
    except Exception as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise DamagedFileError(file, f"{name} is missing or damaged ({reason})", _RULE) from error
