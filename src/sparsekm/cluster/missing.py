"""Missing values: filled by what features have in common, before anything is clustered.

The singular vectors that rise above noise predict a missing value from all others of its sample and
its feature. Singular values are shrunk as in Gavish & Donoho (2017, doi:10.1109/TIT.2017.2653801),
again and again until the filled values settle.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from sparsekm.cluster.kmeans.many_samples import label_samples
from sparsekm.cluster.validation import check_choice
from sparsekm.runtime.threads import one_blas_thread

# What estimators may do about NaN in X.
MISSING = ("error", "impute")
# Components looked at, and some more that make these exact.
MOST_COMPONENTS = 20
EXTRA_COMPONENTS = 5
# Steps that find the components of the first fill; later ones go on from those before.
FIRST_STEPS = 8
MOST_ROUNDS = 200
# Filled values have settled when they change by no more than this share of a standard deviation.
NEARLY_SETTLED = 1e-2
SETTLED = 1e-3


def imputes(estimator: Any) -> bool:
    """Tell whether an estimator, or the one that it tunes, fills missing values."""
    missing = getattr(getattr(estimator, "estimator", estimator), "missing", MISSING[0])
    return check_choice("missing", missing, MISSING) == "impute"


def name_the_cure(estimator: Any, error: ValueError) -> ValueError:
    """Return scikit-learn's refusal of NaN with the setting that cures it; others as they are."""
    if "contains NaN" not in str(error) or not hasattr(estimator, "get_params"):
        return error
    if imputes(estimator):
        return ValueError("Sparse X contains NaN: give X.toarray(), which missing='impute' fills.")
    known = [name for name in estimator.get_params() if name.rpartition("__")[2] == "missing"]
    pipeline = f"make_pipeline(StandardScaler(), KNNImputer(), {type(estimator).__name__}(...))"
    cure = f"set {known[0]}='impute'" if known else f"impute it before, as in {pipeline}"
    return ValueError(f"Input X contains NaN: {cure}.")


def check_observed(X: np.ndarray, names: Any = None) -> np.ndarray:
    """Return X if every feature and every sample has a value; `names` are those of the features."""
    lacking = np.isnan(X)
    for axis, what in ((0, "feature"), (1, "sample")):
        empty = np.flatnonzero(lacking.all(axis=axis))
        if len(empty):
            first = empty[0] if axis or names is None else repr(names[empty[0]])
            raise ValueError(
                f"X has no value in {len(empty)} {what}(s), the first of them {what} {first}: "
                "missing='impute' requires >= 1. Leave them out."
            )
    return X


def fill_missing(X: np.ndarray) -> np.ndarray:
    """Return data in which NaN is filled, or X itself if there is none; it is z-scored inside."""
    lacking = np.isnan(X)
    if not lacking.any():
        return X
    mean = np.nanmean(X, axis=0, dtype=np.float64)
    deviation = np.nanstd(X, axis=0, dtype=np.float64)
    scale = np.where(deviation > 0, deviation, 1.0)
    filled = _fill_low_rank(np.where(lacking, 0.0, (X - mean) / scale), lacking)
    return np.where(lacking, filled * scale + mean, X).astype(X.dtype)


def label_observed(X, weights, means, centers, n_threads=1) -> np.ndarray:
    """Label samples as `label_samples` does, by what is observed of the features that count."""
    support = np.flatnonzero(weights)
    if issparse(X) or not np.isnan(X[:, support]).any():
        return label_samples(X, weights, means, centers, n_threads)
    labels = label_samples(np.nan_to_num(X), weights, means, centers, n_threads)
    kept = X[:, support]
    rows = np.flatnonzero(np.isnan(kept).any(axis=1))
    differences = kept[rows, :, None] - means[:, None] - centers
    if (empty := np.isnan(differences).all(axis=(1, 2))).any():
        raise ValueError(
            f"X has no value of the features that have weight in sample {rows[empty][0]}; "
            "there should be >= 1."
        )
    squares = np.nansum(weights[support, None] * np.square(differences), axis=1)
    labels[rows] = squares.argmin(axis=1)
    return labels


@one_blas_thread
def _fill_low_rank(Z: np.ndarray, lacking: np.ndarray) -> np.ndarray:
    """Fill z-scores, 0 where they are missing, in place.

    Components are added one by one, each once those before have nearly settled: at first the holes
    of a strong one look like others.
    """
    n_components = min(MOST_COMPONENTS + EXTRA_COMPONENTS, min(Z.shape))
    axes = np.random.default_rng(0).standard_normal((Z.shape[1], n_components))
    most = 1
    for round_ in range(MOST_ROUNDS):
        means = Z.mean(axis=0)
        centred = Z - means
        for _ in range(1 if round_ else FIRST_STEPS):
            left = np.linalg.qr(centred @ axes)[0]
            axes, values, right = np.linalg.svd(centred.T @ left, full_matrices=False)
        total = float(np.square(centred).sum())
        shrunk = shrink(values[:most], total, Z.shape)
        scores = (left @ right.T)[:, : len(shrunk)] * shrunk
        filled = (scores @ axes[:, : len(shrunk)].T + means)[lacking]
        change = np.sqrt(np.mean(np.square(filled - Z[lacking])))
        Z[lacking] = filled
        if change <= NEARLY_SETTLED and len(shrunk) == most < MOST_COMPONENTS:
            most += 1
        elif change <= SETTLED:
            break
    return Z


def shrink(values: np.ndarray, total: float, shape: tuple[int, int]) -> np.ndarray:
    """Return the leading singular values that rise above noise, shrunk for the least error.

    Noise is what they leave of `total`, the sum of squares of the matrix of this `shape`.
    """
    n, p = shape
    kept = 0
    while True:
        noise = max(total - np.square(values[:kept]).sum(), 0.0) / ((n - kept) * (p - kept))
        above = int(np.count_nonzero(values > np.sqrt(noise) * (np.sqrt(n) + np.sqrt(p))))
        if above <= kept or above >= min(n, p):
            break
        kept = above
    squares = np.square(values[:kept])
    edges = np.square(squares - noise * (n + p)) - 4 * noise**2 * n * p
    return np.sqrt(np.maximum(edges, 0.0)) / values[:kept]
