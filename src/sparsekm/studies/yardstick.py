"""All methods on labelled real data sets, compared with plain ones."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.cluster import AgglomerativeClustering, SpectralClustering
from sklearn.metrics import adjusted_rand_score

from sparsekm.cluster.estimators import KMeans
from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.io.input_error import InputError, reason_of
from sparsekm.metrics import classification_error_rate, matching_error_rate
from sparsekm.pipeline.registry import get_method
from sparsekm.simulation import replicate_seed
from sparsekm.studies import RIVALS
from sparsekm.tuning.feature_ranking import rank_features
from sparsekm.tuning.gap import default_sparsities
from sparsekm.tuning.gap_search import GapSearch
from sparsekm.tuning.partitions import match_clusters

# A sample is reproducible from this share of the refits on.
REPRODUCIBLE = 0.9
_SHAPE = ["n_samples", "n_features", "n_clusters"]


def read_labelled_set(
    file: str | Path, *, max_samples: int, random_state
) -> tuple[np.ndarray, np.ndarray]:
    """Read an .npz with X and y, or a random subsample: features that vary, and classes from 0."""
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
        found = f"dtype {X.dtype} and shape {X.shape}"
        raise InputError(f"{file}: X should be a matrix of numbers; it has {found}.")
    if y.shape != (len(X),) or pd.isna(y).any() or not np.isfinite(X).all():
        raise InputError(f"{file}: y should have one class for each row of X; X should be finite.")
    rows = np.arange(len(X))
    if len(X) > max_samples:
        rows = np.sort(np.random.default_rng(random_state).permutation(len(X))[:max_samples])
    classes, labels = np.unique(y[rows], return_inverse=True)
    if len(classes) < 2:
        raise InputError(
            f"{file}: classes={len(classes)} among {len(rows)} samples should be >= 2."
        )
    used = np.asarray(X[rows], dtype=np.float64)
    return used[:, np.ptp(used, axis=0) > 0], labels


def run_seeds(
    file: str | Path,
    method: str,
    seeds: Sequence[int],
    *,
    max_samples: int,
    effort: Mapping[str, int],
) -> pd.DataFrame:
    """Run a method, see `fit_method`, with every seed as `random_state`.

    If there are more than `max_samples` samples, each seed draws its own. `effort` is
    ``n_sparsities`` and ``n_references``. A row per seed has the sizes and the measures of
    `score_method`.
    """
    name, rows = Path(file).stem, []
    for seed in seeds:
        # The seed does not depend on the method, so that all methods use the same samples.
        draw = replicate_seed(seed, "yardstick", name, 0)
        X, labels = read_labelled_set(file, max_samples=max_samples, random_state=draw)
        about = {"data_set": name, "method": method, "seed": seed}
        about |= dict(zip(_SHAPE, (*X.shape, labels.max() + 1), strict=True))
        rows.append(about | score_method(X, labels, method, effort, seed))
    return pd.DataFrame(rows)


def score_method(
    X: np.ndarray, classes: np.ndarray, method: str, effort: Mapping[str, int], seed: int
) -> dict[str, Any]:
    """Cluster a labelled data set, and compare the clusters with the classes.

    The error is the error of the best matching of clusters to classes. For a method that is
    refitted, reproducible is the share of samples that are in their cluster in nine tenths of the
    refits, and right is the share of these samples that are in their class.
    """
    start = time.perf_counter()
    model, n_kept = fit_method(X, int(classes.max()) + 1, method, effort, seed)
    seconds, labels = time.perf_counter() - start, model.labels_
    again = getattr(model, "sample_reproducibility_", np.full(len(labels), np.nan))
    sure = again >= REPRODUCIBLE
    right = match_clusters(classes, labels) == classes
    return {
        "error": matching_error_rate(classes, labels),
        "cer": classification_error_rate(classes, labels),
        "ari": adjusted_rand_score(classes, labels),
        "n_kept": n_kept,
        "seconds": seconds,
        "reproducible": np.nan if np.isnan(again).all() else sure.mean(),
        "right": right[sure].mean() if sure.any() else np.nan,
    }


def fit_method(
    data: np.ndarray, n_clusters: int, method: str, effort: Mapping[str, int], seed: int
) -> tuple[Any, int]:
    """Fit a method; return it and the number of features that it uses.

    `SparseKMeans` sees the unscaled X, and all other methods except "centred" see z-scores. Highly
    variable features have the largest variances for their mean. Spectral clustering uses ten
    nearest neighbours.
    """
    scaled = ScaledData.standardise(data)
    X, model = scaled.X, KMeans(n_clusters, random_state=seed)
    match method:
        case "centred":
            X = data - data.mean(axis=0)
        case "variance500":
            X = X[:, rank_features(scaled, "variance")[:500]]
        case "variable200":
            X = X[:, rank_features(scaled, "trend")[:200]]
        case "ward":
            model = AgglomerativeClustering(n_clusters)
        case "spectral":
            model = SpectralClustering(n_clusters, affinity="nearest_neighbors", random_state=seed)
        case _:
            known = get_method(method)
            X = data if known.tuning == "resampling" else X
            model = known.estimator(n_clusters, random_state=seed)
            if known.tuning == "gap":
                grid = default_sparsities(str(known.penalty), X.shape[1], effort["n_sparsities"])
                shared: Any = {"n_references": effort["n_references"], "random_state": seed}
                model = GapSearch(model, sparsities=grid, rule="auto", **shared)
    with warnings.catch_warnings():
        # Distant classes have no edge between them.
        warnings.filterwarnings("ignore", "Graph is not fully connected", UserWarning)
        model.fit(X)
    return model, int(np.count_nonzero(getattr(model, "feature_weights_", np.ones(X.shape[1]))))


_MEASURES = ["error", "cer", "ari", "n_kept", "reproducible", "right"]
# A method solves a data set if its error is at most this.
SOLVED = 0.25


def summarise(table: pd.DataFrame) -> pd.DataFrame:
    """Average the results of `run_seeds` over seeds, for every data set and method.

    Measures also have the standard deviation, with the ending _sd. Sizes have the maximum, and
    seconds the median, because the first fit of a job also loads or compiles code.
    """
    groups = table.groupby(["data_set", "method"], sort=False)
    summary = groups[_SHAPE].max()
    summary.insert(0, "seeds", groups.size())
    for name in _MEASURES:
        summary[name] = groups[name].mean()
        summary[f"{name}_sd"] = groups[name].std()
    summary["seconds"] = groups["seconds"].median()
    return summary.reset_index()


def count_wins(summary: pd.DataFrame) -> pd.DataFrame:
    """Average every method over the data sets, and count its wins and losses against k-means.

    better, same and worse count the data sets whose mean error is lower than with k-means by at
    least half a sample, within half a sample, or higher; they are empty without k-means. right and
    regret are explained in `docs/performance.md`; share is the share of kept features.
    """
    baseline = summary[summary["method"] == "kmeans"].set_index("data_set")["error"]
    plain = summary[summary["method"].isin(["kmeans", *RIVALS])]
    best = plain.groupby("data_set")["error"].min()
    half = 0.5 / summary["n_samples"]
    # The tolerance below allows for rounding.
    margin = summary["error"] - summary["data_set"].map(baseline)
    judged = summary.assign(
        share=summary["n_kept"] / summary["n_features"],
        right=summary["right"].where(summary["error"] <= SOLVED),
        regret=summary["error"] - summary["data_set"].map(best[best <= SOLVED]),
        better=margin <= -half + 1e-12,
        same=margin.abs() < half - 1e-12,
        worse=margin >= half - 1e-12,
    )
    groups = judged.groupby("method", sort=False)
    overview = groups[["error", "cer", "ari", "share", "regret", "right"]].mean()
    overview.insert(0, "sets", groups.size())
    counts = groups[["better", "same", "worse"]].sum()
    if baseline.empty:
        counts = counts.astype(object).assign(better=None, same=None, worse=None)
    return overview.join(counts).reset_index()
