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
_PATH_FORMAT = Hdf5Format(
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
        "samples": Array("samples", np.int64, ("n_samples",), optional=True),
    },
)


def write_path(
    file: str | Path,
    path: SparsityPath,
    attributes: Mapping[str, Any],
    samples: np.ndarray | None = None,
) -> None:
    """Write a path atomically; the attribute ``search`` is that of the path.

    `samples` are those that were clustered, ascending, if not all.
    """
    arrays = {**vars(path), "samples": samples}
    _PATH_FORMAT.write(file, arrays, {**attributes, "search": path.search})


def read_path(file: str | Path) -> tuple[SparsityPath, dict[str, Any]]:
    """Read a path and its attributes; see `sparsekm.io.hdf5_format.Hdf5Format.read`."""
    arrays, attributes = _PATH_FORMAT.read(file)
    del arrays["samples"]
    return SparsityPath(**arrays, search=attributes["search"]), attributes


def read_samples(file: str | Path) -> np.ndarray | None:
    """Read which samples a path is of, ascending; None for all."""
    return _PATH_FORMAT.read(file)[0]["samples"]


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
