"""The files ``chosen.h5``, the fit that the tuning chose, and ``tuned.h5``, the one that is shown.

The latter is the best of those from several seeds at the chosen sparsity, if the method asks for
the best.

Attributes: those of `sparsekm.io.attributes`, and ``rule``, ``reference`` and ``n_references``,
which describe how the fit was chosen, with the rule ``auto`` also ``conclusion`` and ``limited``
(the limit decided how many features are kept); or ``conclusion``, ``has_clusters``, ``family`` and
``n_resamplings``. If the tuning drew some of the samples, ``n_tuned`` is their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sparsekm.io.hdf5_format import Array, Hdf5Format, SparseRows

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
        "confidence": Array(
            "confidence", np.float64, ("n_samples",), most=1, finite=False, optional=True
        ),
        "selection_frequency": Array(
            "selection_frequency", np.float64, ("n_features",), most=1, optional=True
        ),
    },
)


@dataclass(frozen=True)
class Fit:
    """One partition of n samples into K clusters with the weights of p features."""

    sparsity: float
    objective: float  # the sum over features of weight times score
    labels: np.ndarray  # (n,), int32
    # (p,), float64: between-cluster sums of squares a_j, and the features' weights.
    scores: np.ndarray
    weights: np.ndarray
    centers: np.ndarray  # (K, p), float64: in the space of the normalised matrix
    attributes: Mapping[str, Any] = field(default_factory=dict)
    # (n,), float64: share of the resampled fits that put a sample into its cluster; NaN for a
    # sample that the tuning did not draw.
    confidence: np.ndarray | None = None
    # (p,), float64: share of the resamplings that keep a feature.
    selection_frequency: np.ndarray | None = None


def write_fit(file: str | Path, fit: Fit) -> None:
    """Write a fit atomically."""
    _FIT_FORMAT.write(file, vars(fit), fit.attributes)


def read_fit(file: str | Path) -> Fit:
    """Read a fit; see `sparsekm.io.hdf5_format.Hdf5Format.read`."""
    arrays, attributes = _FIT_FORMAT.read(file)
    return Fit(**arrays, attributes=attributes)


def read_fits(methods: Iterable[str], files: Iterable[str | Path]) -> dict[str, Fit]:
    """Read the fit of each method."""
    return {method: read_fit(file) for method, file in zip(methods, files, strict=True)}
