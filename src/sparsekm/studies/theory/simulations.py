"""What is seen of the theorems on simulated data: a table for each picture.

A simulation goes through its settings by `track`, which can tell how far it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import sem

from sparsekm.cluster.estimators import KMeans, L0KMeans
from sparsekm.cluster.matrices.matrix import CentredMatrix
from sparsekm.cluster.matrices.scatter import feature_scores
from sparsekm.metrics.partition_metrics import error_clustering_rate
from sparsekm.simulation.gaussian_clusters import SimulatedData, gaussian_clusters
from sparsekm.simulation.replicate_seed import replicate_seed
from sparsekm.studies.theory.theorems import (
    ecr_bound,
    expected_score,
    impurity_curve,
    three_levels,
)

# Both of mean 0 and variance 1; Theorem 1 asks for no more.
DISTRIBUTIONS: dict[str, Callable] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "exponential": lambda rng, shape: rng.standard_exponential(shape) - 1,
}
PLANES: dict[str, dict[str, Sequence[float]]] = {
    "samples_features": {
        "n_samples": (24, 36, 54, 81, 120, 180),
        "n_features": (50, 100, 200, 400, 800, 1600),
        "n_relevant": (20,),
        "mu": (0.7,),
    },
    "relevant_mu": {
        "n_relevant": (5, 10, 20, 40, 80, 160),
        "mu": (0.5, 0.6, 0.7, 0.85, 1, 1.4, 2, 3),
        "n_samples": (90,),
        "n_features": (1000,),
    },
}
"""Settings over which recovery is watched; the two of several values are the axes, x first."""
Seeds = Iterable[np.random.SeedSequence]
Track = Callable[[Sequence], Iterable]
FITS = ("oracle", "kmeans", "alternate", "global")
"""With K = 3 and s = p*: none, as the labels are known; k-means on all features (Theorem 4); the
paper's Algorithm 1 made monotone and restarted (Theorem 5); and the search for the optimum."""


def draw_sets(
    setting: Mapping[str, Any], seeds: Seeds
) -> Iterator[tuple[SimulatedData, np.random.SeedSequence]]:
    """Draw data sets as the theorems have them, not standardised, each with a seed for the search.

    A setting has mu (the levels are mu, -mu and 0), n_relevant, cluster_size and n_features.
    """
    means = np.outer(three_levels(setting["mu"]).levels, np.ones(setting["n_relevant"]))
    sizes = setting["cluster_size"], setting["n_features"]
    for seed in seeds:
        data, start = seed.spawn(2)
        yield gaussian_clusters(means, *sizes, standardise=False, random_state=data), start


def partition_errors(setting: Mapping[str, Any], seeds: Seeds) -> np.ndarray:
    """Return the ECR of k-means on all features, the best of ten starts, in every data set."""
    found = []
    for data, start in draw_sets(setting, seeds):
        fitted = KMeans(3, random_state=np.random.default_rng(start)).fit(data.X)
        found.append(error_clustering_rate(data.labels, fitted.labels_))
    return np.array(found)


def mislabel(labels: np.ndarray, n_moved: int, rng: np.random.Generator) -> np.ndarray:
    """Move samples drawn at random each to one of the two other clusters; none is left empty."""
    while True:
        moved = labels.copy()
        chosen = rng.choice(len(labels), n_moved, replace=False)
        moved[chosen] += rng.integers(1, 3, size=n_moved)
        moved %= 3
        if len(np.unique(moved)) == 3:
            return moved


def simulate_scores(
    root: int,
    shares: Sequence[float] = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7),
    *,
    mu: float = 0.6,
    cluster_size: int = 20,
    n_features: int = 50,
    repetitions: int = 200,
    track: Track = iter,
) -> pd.DataFrame:
    """Average scores as a share of the samples is mislabelled at random (Theorem 1).

    A data set has `n_features` relevant features, and as many noise features. The columns are
    distribution, feature ("relevant" or "noise"), mislabelled (the share), score (the mean),
    standard_error, expected (the theorem's value, averaged over the mislabellings), repetitions.
    """
    truth = np.repeat(np.arange(3), cluster_size)
    levels = np.array(three_levels(mu).levels)
    rows = []
    for (distribution, draw), share in track([*product(DISTRIBUTIONS.items(), shares)]):
        key = {"distribution": distribution, "share": share, "levels": levels}
        found = []
        for replicate in range(repetitions):
            rng = np.random.default_rng(replicate_seed(root, "theory_scores", key, replicate))
            labels = mislabel(truth, round(share * len(truth)), rng).astype(np.int32)
            X = draw(rng, (len(truth), 2 * n_features))
            X[:, :n_features] += levels[truth][:, None]
            scores = feature_scores(CentredMatrix(X), labels, 3).reshape(2, n_features)
            found.append([*scores.mean(axis=1), expected_score(levels[truth], labels, 3), 2.0])
        means, errors = np.mean(found, axis=0), sem(found, axis=0)
        for place, feature in enumerate(("relevant", "noise")):
            numbers = means[place], errors[place], means[2 + place], repetitions
            rows.append([distribution, feature, share, *numbers])
    columns = ["distribution", "feature", "mislabelled", "score", "standard_error", "expected"]
    return pd.DataFrame(rows, columns=[*columns, "repetitions"])


def simulate_partitions(
    root: int,
    mus: Sequence[float] = (0.6, 1, 3),
    n_relevant: Sequence[int] = (5, 10, 20, 50, 100, 200, 500),
    *,
    cluster_size: int = 20,
    repetitions: int = 20,
    track: Track = iter,
) -> pd.DataFrame:
    """Measure the error of k-means as relevant features are added, beside Theorem 3's bound.

    There are three noise features for each relevant one. The columns are mu, n_relevant, ecr (the
    mean), standard_error and repetitions; below them are rows of mu, n_relevant and bound, from
    kappa to 100,000 relevant features.
    """
    rows = []
    for mu, count in track([*product(mus, n_relevant)]):
        setting = {"mu": mu, "n_relevant": count, "n_features": 4 * count}
        setting["cluster_size"] = cluster_size
        seeds = [replicate_seed(root, "theory_partitions", setting, r) for r in range(repetitions)]
        rates = partition_errors(setting, seeds)
        rows.append([mu, count, rates.mean(), sem(rates), repetitions, np.nan])
    errors, values = impurity_curve(three_levels(1.0))
    for mu in mus:
        model = three_levels(mu)
        for count in (model.kappa, *np.geomspace(1, 100_000, 200)):
            if count >= model.kappa:
                bound = ecr_bound(model, count, (errors, values * mu**2))
                rows.append([mu, count, np.nan, np.nan, np.nan, bound])
    columns = ["mu", "n_relevant", "ecr", "standard_error", "repetitions", "bound"]
    return pd.DataFrame(rows, columns=columns)


def simulate_recovery(
    root: int,
    planes: Mapping[str, Mapping[str, Sequence[float]]] = PLANES,
    *,
    n_init: int = 10,
    repetitions: int = 15,
    track: Track = iter,
) -> pd.DataFrame:
    """Count how often each fit scores all relevant above all noise features (Theorems 4 and 5).

    The columns are plane, the setting (n_samples, a multiple of 3, n_features, n_relevant, mu),
    fit, recovered (the share) and repetitions. All fits see the same data.
    """
    rows, grid = [], []
    for name, plane in planes.items():
        cells = product(*plane.values())
        grid += [{"plane": name, **dict(zip(plane, values, strict=True))} for values in cells]
    for cell in track(grid):
        setting = {name: value for name, value in cell.items() if name != "plane"}
        seeds = [replicate_seed(root, "theory_support", setting, r) for r in range(repetitions)]
        n_samples = setting.pop("n_samples")
        sets = draw_sets({**setting, "cluster_size": n_samples // 3}, seeds)
        found = [[_recovers(fit, data, n_init, start) for fit in FITS] for data, start in sets]
        for fit, share in zip(FITS, np.mean(found, axis=0), strict=True):
            rows.append({**cell, "fit": fit, "recovered": share, "repetitions": repetitions})
    return pd.DataFrame(rows)


def _recovers(fit: str, data: SimulatedData, n_init: int, start: np.random.SeedSequence):
    search = {"n_init": n_init, "random_state": np.random.default_rng(start)}
    if fit == "oracle":
        scores = feature_scores(CentredMatrix(data.X), data.labels.astype(np.int32), 3)
    elif fit == "kmeans":
        scores = KMeans(3, **search).fit(data.X).feature_scores_
    else:
        kept = int(data.relevant.sum())
        scores = L0KMeans(3, sparsity=kept, search=fit, **search).fit(data.X).feature_scores_
    return bool(scores[data.relevant].min() > scores[~data.relevant].max())
