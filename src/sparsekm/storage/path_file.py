"""The file ``path.h5``: a method's fits at all sparsities.

Arrays: ``sparsity (m,)``, ``objective (m,)``, ``first_objective (m,)`` (before any sweep: those of
references are compared with it), ``labels (m, n)`` int32, ``n_iter (m,)``, ``scores (m, p)`` (the
between-cluster sums of squares a_j), and the weights as compressed rows
``selected/indptr (m + 1,)``, ``selected/indices``, ``selected/weights``. Attributes: see
`sparsekm.storage.attributes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sparsekm.cluster.sparsity_path import SparsityPath
from sparsekm.storage.atomic_hdf5 import atomic_hdf5
from sparsekm.storage.attributes import read_attributes, write_attributes
from sparsekm.storage.checked_hdf5 import DamagedFileError, open_checked, read_array
from sparsekm.storage.fit_file import Fit
from sparsekm.storage.sparse_rows import read_rows, write_rows

_RULE = "cluster_path"


def write_path(file: str | Path, path: SparsityPath, attributes: Mapping[str, Any]) -> None:
    """Write a path whole or not at all.

    Parameters
    ----------
    file : path
    path : SparsityPath
    attributes : mapping
        Those of `sparsekm.storage.attributes`, but ``search``, which the path knows.
    """
    with atomic_hdf5(file) as opened:
        opened["sparsity"] = np.asarray(path.sparsities, dtype=np.float64)
        opened["objective"] = np.asarray(path.objectives, dtype=np.float64)
        opened["first_objective"] = np.asarray(path.first_objectives, dtype=np.float64)
        opened["labels"] = np.asarray(path.labels, dtype=np.int32)
        opened["n_iter"] = np.asarray(path.n_iter, dtype=np.int64)
        opened["scores"] = np.asarray(path.scores, dtype=np.float64)
        write_rows(opened, "selected", path.weights)
        write_attributes(opened, "path", {**attributes, "search": path.search})


def read_path(file: str | Path) -> tuple[SparsityPath, dict[str, Any]]:
    """Read a path and its attributes, checking everything.

    Parameters
    ----------
    file : path

    Returns
    -------
    path : SparsityPath
    attributes : dict

    Raises
    ------
    DamagedFileError
        When the file is truncated, or its arrays are missing or disagree.
    """
    with open_checked(file, _RULE) as opened:
        attributes = read_attributes(opened, "path", _RULE)
        sparsities = read_array(opened, "sparsity", kind="f", shape=(None,), rule=_RULE)
        m = sparsities.size
        if m == 0:
            raise DamagedFileError(file, "sparsity: size=0 should be at least 1", _RULE)
        labels = read_array(opened, "labels", kind="i", shape=(m, None), rule=_RULE, dtype=np.int32)
        n_clusters = int(attributes["n_clusters"])
        if labels.size and not (0 <= labels.min() and labels.max() < n_clusters):
            raise DamagedFileError(file, f"labels should lie in [0, {n_clusters})", _RULE)
        scores = read_array(opened, "scores", kind="f", shape=(m, None), rule=_RULE)
        path = SparsityPath(
            sparsities=sparsities,
            objectives=read_array(opened, "objective", kind="f", shape=(m,), rule=_RULE),
            first_objectives=read_array(
                opened, "first_objective", kind="f", shape=(m,), rule=_RULE
            ),
            labels=labels,
            weights=read_rows(opened, "selected", m, scores.shape[1], _RULE),
            scores=scores,
            n_iter=read_array(opened, "n_iter", kind="i", shape=(m,), rule=_RULE),
            search=str(attributes["search"]),
        )
    return path, attributes


def pick_fit(
    path: SparsityPath, position: int, centers: np.ndarray, attributes: Mapping[str, Any]
) -> Fit:
    """Take one fit out of a path.

    Parameters
    ----------
    path : SparsityPath
    position : int
        Which sparsity of the path.
    centers : array of shape (K, p)
        The cluster means of that fit's labels.
    attributes : mapping
        Those of the path's file, and whatever tells how the fit was chosen.
    """
    return Fit(
        sparsity=float(path.sparsities[position]),
        objective=float(path.objectives[position]),
        labels=path.labels[position],
        scores=path.scores[position],
        weights=path.weights[position],
        centers=centers,
        attributes=attributes,
    )
