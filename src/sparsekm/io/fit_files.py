"""The files of fits, ``path.h5``, ``chosen.h5`` and ``tuned.h5``, and of their clusters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sparsekm.cluster.sparsity_path import SparsityPath
from sparsekm.io.hdf5_format import Array, Hdf5Format, SparseRows
from sparsekm.io.tables import NUMBER_OR_NOTHING, WHOLE, WORD, TableFormat

# The files ``chosen.h5``, the fit that the tuning chose, and ``tuned.h5``, the one that is
# shown. The latter is the best of those from several seeds at the chosen sparsity, if the
# method asks for the best. Attributes: those of `sparsekm.io.hdf5_format`, and ``rule``,
# ``reference`` and ``n_references``, which describe how the fit was chosen, with the rule
# ``auto`` also ``conclusion`` and ``limited`` (the limit decided how many features are kept);
# or ``conclusion``, ``has_clusters``, ``screening`` and ``signature_agreement``, and ``n_joined``,
# the clusters that were joined into fewer, if any were. If the tuning drew some of the samples,
# ``n_tuned`` is their number.
_FIT_FORMAT = Hdf5Format(
    "fit",
    "tune_sparsity",
    {
        "sparsity": Array("sparsity", np.float64),
        "objective": Array("objective", np.float64),
        "labels": Array("labels", np.int32, ("n_samples",), labels=True),
        "scores": Array("scores", np.float64, ("n_features",)),
        "centers": Array("centers", np.float64, ("n_clusters", "n_features")),
        "weights": SparseRows("selected", ("n_features",)),
        "reproducibility": Array(
            "reproducibility", np.float64, ("n_samples",), most=1, finite=False, optional=True
        ),
        "signature": Array("signature", np.int64, ("n_signature",), optional=True),
        "partitions": Array("partitions", np.int16, ("n_fits", "n_samples"), optional=True),
        "selection_frequency": Array(
            "selection_frequency", np.float64, ("n_features",), most=1, optional=True
        ),
    },
)


@dataclass(frozen=True)
class TunedFit:
    """One partition of n samples into K clusters with the weights of p features."""

    sparsity: float
    objective: float  # the sum over features of weight times score
    labels: np.ndarray  # (n,), int32
    # (p,), float64: between-cluster sums of squares a_j, and the features' weights.
    scores: np.ndarray
    weights: np.ndarray
    centers: np.ndarray  # (K, p), float64: in the space of the normalised matrix
    attributes: Mapping[str, Any] = field(default_factory=dict)
    # (n,), float64: share of the fits of folds that put a sample into its cluster; NaN for a
    # sample that the tuning did not draw.
    reproducibility: np.ndarray | None = None
    # (p,), float64: share of the fits of folds that keep a feature.
    selection_frequency: np.ndarray | None = None
    # Ascending: the smallest set of features that tells the clusters apart, if there is one.
    signature: np.ndarray | None = None
    # (n_fits, n), int16: the clusters in each of the fits of folds, if the tuning used all samples
    # and they are at most `MOST_TOGETHER`.
    partitions: np.ndarray | None = None


MOST_TOGETHER = 2000


def write_fit(file: str | Path, fit: TunedFit) -> None:
    """Write a fit atomically."""
    _FIT_FORMAT.write(file, vars(fit), fit.attributes)


def read_fit(file: str | Path) -> TunedFit:
    """Read a fit; see `sparsekm.io.hdf5_format.Hdf5Format.read`."""
    arrays, attributes = _FIT_FORMAT.read(file)
    return TunedFit(**arrays, attributes=attributes)


def read_fits(methods: Iterable[str], files: Iterable[str | Path]) -> dict[str, TunedFit]:
    """Read the fit of each method."""
    return {method: read_fit(file) for method, file in zip(methods, files, strict=True)}


# The file ``path.h5``: a method's fits at all sparsities, see `SparsityPath`.
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
) -> TunedFit:
    """Select one fit of a path; `centers` (K, p) are the means of its clusters.

    The attributes are those of the file of the path and those that describe the choice.
    """
    return TunedFit(
        sparsity=float(path.sparsities[position]),
        objective=float(path.objectives[position]),
        labels=path.labels[position],
        scores=path.scores[position],
        weights=path.weights[position],
        centers=centers,
        attributes=attributes,
    )


# The file ``clusters.csv``: every sample's known class and its cluster by each method. Columns:
# ``sample``, ``label`` (empty if unknown), and ``cluster_m`` for each method m, counted from 0
# as in ``tuned.h5``; if m resamples, it is followed by ``reproducibility_m``, the share of the fits
# of folds that agree (empty if the tuning did not draw the sample). Rows are in the order of the
# matrix.
CLUSTERS = TableFormat(
    "export_clusters",
    {"sample": WORD, "label": WORD},
    others={"cluster_": WHOLE, "reproducibility_": NUMBER_OR_NOTHING},
)


def tabulate_clusters(
    samples: Sequence[str], labels: Sequence[str] | None, fits: Mapping[str, TunedFit]
) -> pd.DataFrame:
    """Tabulate the clusters of every sample by each method; labels are known classes."""
    table = pd.DataFrame({"sample": list(samples), "label": "" if labels is None else list(labels)})
    for method, fit in fits.items():
        table[f"cluster_{method}"] = np.asarray(fit.labels, dtype=np.int64)
        if fit.reproducibility is not None:
            table[f"reproducibility_{method}"] = fit.reproducibility
    return table
