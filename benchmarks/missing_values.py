"""Missing values: what the shrunk singular values fill in, beside scikit-learn's neighbours."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.impute import KNNImputer
from sklearn.metrics import adjusted_rand_score

from benchmarks.measure import one_thread
from sparsekm import SparseKMeans
from sparsekm.cluster.imputation import fill_missing

REPLICATES = 6
N_SAMPLES = 90
# Features, those that differ, clusters, and by how many deviations each marks one of them.
DESIGNS = {
    "few features": {"p": 20, "q": 8, "effect": 2.5},
    "many features": {"p": 500, "q": 50, "effect": 1.5},
    "few, a factor": {"p": 20, "q": 8, "effect": 3.0, "noise": "factor"},
    "many, a factor": {"p": 500, "q": 50, "effect": 2.2, "noise": "factor"},
    "noise in blocks": {"p": 200, "q": 30, "effect": 2.0, "noise": "blocks"},
}
MISSING = ("5 %", "20 %", "40 %", "blocks", "below a limit")


def draw(replicate: int, number: int, p: int, q: int, effect: float, noise: str = "normal"):
    """Draw three clusters: values (n, p) and labels (n,)."""
    rng, labels = np.random.default_rng([replicate, number]), np.sort(np.arange(N_SAMPLES) % 3)
    X = rng.standard_normal((N_SAMPLES, p))
    if noise == "blocks":
        # Tens of features correlate with .8.
        shared = rng.standard_normal((N_SAMPLES, (p - q) // 10 + 1))
        block = np.arange(p - q) // 10
        X[:, q:] = 0.8**0.5 * shared[:, block] + 0.2**0.5 * X[:, q:]
    if noise == "factor":
        X += rng.standard_normal((N_SAMPLES, 1)) * rng.choice([-1, 1], p)
    X[:, :q] += effect * (labels[:, np.newaxis] == np.arange(q) % 3)
    order = rng.permutation(N_SAMPLES)
    return X[order], labels[order]


def lose(X: np.ndarray, kind: str, rng: np.random.Generator) -> np.ndarray:
    """Return values of which some are NaN, but five of each feature."""
    n, p = X.shape
    if kind.endswith("%"):
        lost = rng.random((n, p)) < int(kind.split()[0]) / 100
    elif kind == "blocks":
        # Two fifths of the features in three tenths of the samples.
        samples = rng.choice(n, int(0.3 * n), replace=False)
        features = rng.choice(p, int(0.4 * p), replace=False)
        lost = np.zeros((n, p), bool)
        lost[np.ix_(samples, features)] = True
    else:
        limits = [np.quantile(column, rng.uniform(0, 0.4)) for column in X.T]
        lost = limits > X
    lost[:5, (~lost).sum(axis=0) < 5] = False
    return np.where(lost, np.nan, X)


def fill_by_neighbours(X: np.ndarray) -> np.ndarray:
    """Fill in the means of the five samples nearest in z-scores."""
    mean, deviation = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    scale = np.where(deviation > 0, deviation, 1.0)
    return KNNImputer().fit_transform((X - mean) / scale) * scale + mean


@one_thread()
def benchmark() -> pd.DataFrame:
    """Compare the two on the same holes; differences have standard errors.

    `ari` is the adjusted Rand index of `SparseKMeans` with the true number of clusters, `error` the
    root mean square error of the values filled in, in standard deviations of the features.
    """
    fills = {"neighbours": fill_by_neighbours, "low_rank": fill_missing}
    rows = []
    for replicate in range(REPLICATES):
        for number, (design, about) in enumerate(DESIGNS.items()):
            X, labels = draw(replicate, number, **about)
            for at, kind in enumerate(MISSING):
                holes = lose(X, kind, np.random.default_rng([replicate, number, at]))
                lost, row = np.isnan(holes), {"design": design, "missing": kind}
                for name, fill in fills.items():
                    filled = fill(holes)
                    found = SparseKMeans(3, random_state=replicate).fit(filled).labels_
                    row[f"ari_{name}"] = adjusted_rand_score(labels, found)
                    errors = ((filled - X) / X.std(axis=0))[lost]
                    row[f"error_{name}"] = np.sqrt(np.mean(errors**2))
                rows.append(row)
    table = pd.DataFrame(rows)
    for what in ("ari", "error"):
        table[f"{what}_gain"] = table[f"{what}_low_rank"] - table[f"{what}_neighbours"]
    groups = table.groupby(["design", "missing"], sort=False)
    gains = groups[["ari_gain", "error_gain"]].sem().add_suffix("_se")
    return groups.mean().join(gains).reset_index()
