"""The file ``tuned.h5``: the one fit of a path that the tuning chose.

Scalars ``sparsity``, ``objective``; arrays ``labels (n,)`` int32, ``scores (p,)``,
``centers (K, p)`` in the space of the normalised matrix, ``selected/indices`` and
``selected/weights`` (with ``selected/indptr``, as in ``path.h5``). Where paths were resampled, also
``confidence (n,)`` and ``selection_frequency (p,)``, both in [0, 1]. Attributes: see
`sparsekm.storage.attributes`, and ``rule``, ``reference`` and ``n_references``, by which the fit
was chosen; or ``conclusion``, ``has_clusters``, ``family`` and ``n_resamplings``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from sparsekm.storage.atomic_hdf5 import atomic_hdf5
from sparsekm.storage.attributes import read_attributes, write_attributes
from sparsekm.storage.checked_hdf5 import DamagedFileError, open_checked, read_array
from sparsekm.storage.sparse_rows import read_rows, write_rows

_RULE = "tune_sparsity"
_SHARES = ("confidence", "selection_frequency")


@dataclass(frozen=True)
class Fit:
    """One partition with its weights.

    Attributes
    ----------
    sparsity : float
    objective : float
        The sum over features of weight times score.
    labels : int32 array of shape (n,)
    scores : float64 array of shape (p,)
        Between-cluster sums of squares a_j.
    weights : float64 array of shape (p,)
    centers : float64 array of shape (K, p)
    attributes : mapping
    confidence : float64 array of shape (n,), or None
        Share of the resampled fits that put a sample into its cluster.
    selection_frequency : float64 array of shape (p,), or None
        Share of the resamplings that keep a feature.
    """

    sparsity: float
    objective: float
    labels: np.ndarray
    scores: np.ndarray
    weights: np.ndarray
    centers: np.ndarray
    attributes: Mapping[str, Any] = field(default_factory=dict)
    confidence: np.ndarray | None = None
    selection_frequency: np.ndarray | None = None


def write_fit(file: str | Path, fit: Fit) -> None:
    """Write a fit whole or not at all."""
    with atomic_hdf5(file) as opened:
        opened["sparsity"] = np.float64(fit.sparsity)
        opened["objective"] = np.float64(fit.objective)
        opened["labels"] = np.asarray(fit.labels, dtype=np.int32)
        opened["scores"] = np.asarray(fit.scores, dtype=np.float64)
        opened["centers"] = np.asarray(fit.centers, dtype=np.float64)
        write_rows(opened, "selected", fit.weights)
        for name in _SHARES:
            if getattr(fit, name) is not None:
                opened[name] = np.asarray(getattr(fit, name), dtype=np.float64)
        write_attributes(opened, "fit", fit.attributes)


def read_fit(file: str | Path) -> Fit:
    """Read a fit, checking everything.

    Raises
    ------
    DamagedFileError
        When the file is truncated, or its arrays are missing or disagree.
    """
    with open_checked(file, _RULE) as opened:
        attributes = read_attributes(opened, "fit", _RULE)
        n_clusters = int(attributes["n_clusters"])
        scores = read_array(opened, "scores", kind="f", shape=(None,), rule=_RULE)
        p = scores.size
        labels = read_array(opened, "labels", kind="i", shape=(None,), rule=_RULE, dtype=np.int32)
        if labels.size == 0 or not (0 <= labels.min() and labels.max() < n_clusters):
            raise DamagedFileError(file, f"labels should lie in [0, {n_clusters})", _RULE)
        return Fit(
            sparsity=float(read_array(opened, "sparsity", kind="f", shape=(), rule=_RULE)),
            objective=float(read_array(opened, "objective", kind="f", shape=(), rule=_RULE)),
            labels=labels,
            scores=scores,
            weights=read_rows(opened, "selected", 1, p, _RULE)[0],
            centers=read_array(opened, "centers", kind="f", shape=(n_clusters, p), rule=_RULE),
            attributes=attributes,
            confidence=_read_shares(opened, "confidence", labels.size),
            selection_frequency=_read_shares(opened, "selection_frequency", p),
        )


def _read_shares(opened: h5py.File, name: str, length: int) -> np.ndarray | None:
    if name not in opened:
        return None
    shares = read_array(opened, name, kind="f", shape=(length,), rule=_RULE)
    if shares.size and not (0 <= shares.min() and shares.max() <= 1):
        raise DamagedFileError(opened.filename, f"{name} should lie in [0, 1]", _RULE)
    return shares
