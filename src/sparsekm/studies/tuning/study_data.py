"""The data sets of the tuning study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sparsekm.io.input_error import InputError, reason_of
from sparsekm.simulation.designs import EXPERIMENTS, THREE_LEVELS, Experiment
from sparsekm.simulation.gaussian_clusters import SimulatedData
from sparsekm.simulation.nuisance_designs import nuisance
from sparsekm.simulation.replicate_seed import replicate_seed


@dataclass(frozen=True)
class StudyData:
    """A data set with a known truth, at least in part."""

    X: np.ndarray  # (n_samples, n_features): z-scored with ddof = 1
    n_clusters: int  # the number of clusters to fit
    labels: np.ndarray | None  # (n_samples,): None if there are no clusters
    relevant: np.ndarray | None  # (n_features,), bool: None if it is not known
    # Samples in the file, of which X may be a subsample; None if the data are simulated.
    n_available: int | None = None


autoregressive = Experiment(
    "autoregressive",
    THREE_LEVELS,
    {"rho": 0.0, "mu": 0.9, "n_features": 500, "n_relevant": 50, "cluster_size": 20},
)
"""Three clusters whose features a and b correlate as rho^|a - b| within clusters."""


def blocks(
    *,
    rho: float,
    random_state,
    mu: float = 0.9,
    block: int = 25,
    n_features: int = 500,
    n_relevant: int = 50,
    cluster_size: int = 20,
) -> SimulatedData:
    """Simulate three clusters and blocks of noise features with correlation rho, in [0, 1).

    Means are mu, -mu and 0 on the relevant features, which are independent within clusters. The
    blocks have `block` features and are unrelated to the clusters.
    """
    rng = np.random.default_rng(random_state)
    labels = np.repeat(np.arange(3), cluster_size)
    X = rng.standard_normal((len(labels), n_features))
    for start in range(n_relevant, n_features, block):
        members = X[:, start : start + block]
        members *= np.sqrt(1 - rho)
        members += np.sqrt(rho) * rng.standard_normal((len(labels), 1))
    X[:, :n_relevant] += mu * np.array(THREE_LEVELS)[labels][:, None]
    relevant = (np.arange(n_features) < n_relevant) & (mu != 0)
    return SimulatedData(_z_score(X), labels, relevant, "blocks")


def read_matrix(file: str | Path, *, max_samples: int, random_state) -> StudyData:
    """Read a matrix X with classes y from an .npz, or a random subsample of `max_samples`."""
    try:
        with Path(file).open("rb") as opened, np.load(opened, allow_pickle=False) as archive:
            X, y = np.asarray(archive["X"]), np.asarray(archive["y"])
    except FileNotFoundError:
        raise
    # A damaged file can cause almost any error anywhere inside zipfile or NumPy.
    except Exception as error:
        raise InputError(
            f"{file}: {reason_of(error)}; it should be written by numpy.savez."
        ) from error
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise InputError(f"{file}: X should be a matrix of numbers, is {X.dtype} of {X.shape}.")
    if y.shape != (len(X),) or pd.isna(y).any() or not np.isfinite(X).all():
        raise InputError(f"{file}: y should have one class for each row of X, and X be finite.")
    rows = np.arange(len(X))
    if len(X) > max_samples:
        rows = np.random.default_rng(random_state).permutation(len(X))[:max_samples]
    rows = np.sort(rows)
    classes, labels = np.unique(y[rows], return_inverse=True)
    if len(classes) < 2:
        raise InputError(
            f"{file}: classes={len(classes)} among {len(rows)} samples should be >= 2."
        )
    return StudyData(_z_score(X[rows]), len(classes), labels, None, n_available=len(X))


DESIGNS = {**EXPERIMENTS, "nuisance": nuisance, "autoregressive": autoregressive, "blocks": blocks}


def draw_study_data(
    name: str, design: Mapping[str, Any], *, root: int, replicate: int
) -> StudyData:
    """Simulate a replicate of a design, or read a matrix.

    A design is ``{"path": file, "max_samples": n}``, or ``{"design": name, ...}`` with arguments of
    that function of `DESIGNS`.
    """
    settings = dict(design)
    if "path" in settings:
        seed = replicate_seed(root, "tuning study", name, replicate)
        return read_matrix(settings.pop("path"), **settings, random_state=seed)
    kind = settings.pop("design")
    seed = replicate_seed(root, kind, settings, replicate)
    if kind not in DESIGNS:
        raise ValueError(f"design={kind!r} should be one of {list(DESIGNS)}.")
    drawn = DESIGNS[kind](**settings, random_state=seed)
    # With mu = 0 there are no clusters.
    known = (drawn.labels, drawn.relevant) if drawn.relevant.any() else (None, None)
    return StudyData(drawn.X, drawn.n_clusters, *known)


def _z_score(X: np.ndarray) -> np.ndarray:
    """Scale features to mean 0 and standard deviation 1, and drop constant ones."""
    X = np.asarray(X, dtype=np.float64)
    X = X[:, np.ptp(X, axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
