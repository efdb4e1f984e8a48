"""The labelled data sets of the yardstick."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from sparsekm.io.input_error import InputError, reason_of


@dataclass(frozen=True)
class LabelledSet:
    """A data set with known classes, or a subsample of one."""

    X: np.ndarray  # (n_samples, n_features): z-scored with ddof = 1
    labels: np.ndarray  # (n_samples,): the classes, from 0
    n_clusters: int  # the number of classes
    n_available: int  # samples in the file


def read_labelled_set(file: str | Path, *, max_samples: int, random_state) -> LabelledSet:
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
    return LabelledSet(_z_score(X[rows]), labels, len(classes), len(X))


def _z_score(X: np.ndarray) -> np.ndarray:
    """Scale features to mean 0 and standard deviation 1, and drop constant ones."""
    X = np.asarray(X, dtype=np.float64)
    X = X[:, np.ptp(X, axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
