"""The file ``path.h5``: a method's fits at all sparsities, see `SparsityPath`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sparsekm.cluster.sparsity_path import SparsityPath
from sparsekm.io.fit_file import Fit
from sparsekm.io.hdf5_format import Array, Hdf5Format, SparseRows

_SHAPE = ("n_sparsities", "n_features")
_FORMAT = Hdf5Format(
    "path",
    "cluster_path",
    {
        "sparsities": Array("sparsity", np.float64, ("n_sparsities",)),
        "objectives": Array("objective", np.float64, ("n_sparsities",)),
        "first_objectives": Array("first_objective", np.float64, ("n_sparsities",)),
        "labels": Array("labels", np.int32, ("n_sparsities", "n_samples"), labels=True),
        "n_iter": Array("n_iter", np.int64, ("n_sparsities",)),
        "scores": Array("scores", np.float64, _SHAPE),
        "weights": SparseRows("selected", _SHAPE),
    },
)


def write_path(file: str | Path, path: SparsityPath, attributes: Mapping[str, Any]) -> None:
    """Write a path atomically; the attribute ``search`` is that of the path."""
    _FORMAT.write(file, vars(path), {**attributes, "search": path.search})


def read_path(file: str | Path) -> tuple[SparsityPath, dict[str, Any]]:
    """Read a path and its attributes; see `sparsekm.io.hdf5_format.Hdf5Format.read`."""
    arrays, attributes = _FORMAT.read(file)
    return SparsityPath(**arrays, search=attributes["search"]), attributes


def pick_fit(
    path: SparsityPath, position: int, centers: np.ndarray, attributes: Mapping[str, Any]
) -> Fit:
    """Select one fit of a path; `centers` (K, p) are the means of its clusters.

    The attributes are those of the file of the path and those that describe the choice.
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
