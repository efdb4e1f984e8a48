"""One method on one labelled data set, over several seeds."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.metrics import adjusted_rand_score

from sparsekm.io.input_error import InputError, reason_of
from sparsekm.metrics import classification_error_rate, matching_error_rate
from sparsekm.pipeline.registry import Method
from sparsekm.simulation.designs import replicate_seed
from sparsekm.tuning.gap_search import GapSearch
from sparsekm.tuning.grid import default_sparsities


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


def run_seeds(
    file: str | Path,
    method: Method,
    seeds: Sequence[int],
    *,
    max_samples: int,
    effort: Mapping[str, int],
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Run a method on a labelled data set with every seed as `random_state`.

    The file is an ``.npz`` with arrays X (samples x features) and y (classes); its stem is the name
    of the data set. If there are more than `max_samples`, each seed draws its own subsample.
    `effort` is ``n_sparsities`` and ``n_references`` of a method that is tuned by the gap.

    There is a row per seed: data_set, method, seed, n_available (samples in the file), n_samples
    (used), n_features (that vary), n_clusters, and the measures of `score_method`.
    """
    name = Path(file).stem
    rows = []
    for done, seed in enumerate(seeds, start=1):
        # The seed does not depend on the method, so that all methods use the same samples.
        draw = replicate_seed(seed, "yardstick", name, 0)
        data = read_labelled_set(file, max_samples=max_samples, random_state=draw)
        rows.append(
            {
                "data_set": name,
                "method": method.name,
                "seed": seed,
                "n_available": data.n_available,
                "n_samples": data.X.shape[0],
                "n_features": data.X.shape[1],
                "n_clusters": data.n_clusters,
                **score_method(data, method, effort, seed),
            }
        )
        if progress is not None:
            progress(done, len(seeds))
    return pd.DataFrame(rows)


def score_method(
    data: LabelledSet, method: Method, effort: Mapping[str, int], seed: int
) -> dict[str, Any]:
    """Fit a method to a labelled data set, and compare its clusters with the classes.

    Returns error (share of samples outside their class under the best matching of clusters to
    classes), cer, ari, n_kept (features with nonzero weight) and seconds (wall time of the fit).
    """
    estimator = set_up(method, data.n_clusters, data.X.shape[1], effort, seed)
    start = time.perf_counter()
    estimator.fit(data.X)
    seconds = time.perf_counter() - start
    return {
        "error": matching_error_rate(data.labels, estimator.labels_),
        "cer": classification_error_rate(data.labels, estimator.labels_),
        "ari": adjusted_rand_score(data.labels, estimator.labels_),
        "n_kept": int(np.count_nonzero(estimator.feature_weights_)),
        "seconds": seconds,
    }


def set_up(
    method: Method, n_clusters: int, n_features: int, effort: Mapping[str, int], seed: int
) -> BaseEstimator:
    """Make the estimator, inside a `GapSearch` if its sparsity is tuned by the gap.

    All other methods choose the number of features themselves.
    """
    estimator = method.estimator(n_clusters, random_state=seed)
    if method.tuning != "gap":
        return estimator
    return GapSearch(
        estimator,
        sparsities=default_sparsities(method.penalty, n_features, effort["n_sparsities"]),
        n_references=effort["n_references"],
        rule="auto",
        random_state=seed,
    )
