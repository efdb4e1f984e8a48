r"""The paper's theorems in numbers: what they promise, and what simulated data show.

Samples of cluster k, a share :math:`\pi_k` of all, have mean :math:`\mu_k` in each of the
:math:`p^*` relevant features and 0 in the noise features; all variances are one.

A simulation goes through its settings by `track`, which can tell how far it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linprog
from scipy.stats import sem

from sparsekm.cluster.estimators import KMeans, L0KMeans
from sparsekm.cluster.matrices.matrix import CentredMatrix
from sparsekm.cluster.matrices.scatter import feature_scores
from sparsekm.metrics import error_clustering_rate
from sparsekm.simulation import SimulatedData, gaussian_clusters, replicate_seed

N_STARTS = 20


@dataclass(frozen=True)
class LevelModel:
    r"""Levels :math:`\mu_k` and shares :math:`\pi_k` of K clusters."""

    levels: Sequence[float]
    shares: Sequence[float]  # they add up to one

    @property
    def second_moment(self) -> float:
        r"""Compute :math:`\sum_k \pi_k \mu_k^2`."""
        return float(np.dot(self.shares, np.square(self.levels)))

    @property
    def stated_kappa(self) -> float:
        r"""Compute the least :math:`p^*` of Theorem 3 as it is stated.

        .. math:: 128 (K + \sum_k \pi_k \mu_k^2)
                  / (\sum_k \pi_k \mu_k^2 - (\sum_k \pi_k \mu_k)^2)^2
        """
        between = self.second_moment - float(np.dot(self.shares, self.levels)) ** 2
        return 128 * (len(self.levels) + self.second_moment) / between**2

    @property
    def kappa(self) -> float:
        r"""Compute :math:`\ln K` times `stated_kappa`, as the last display of the proof has it."""
        return self.stated_kappa * float(np.log(len(self.levels)))

    @property
    def rho(self) -> float:
        r"""Compute the rate of Theorems 4 and 5, :math:`\sum_k \pi_k \mu_k^2 / 258`."""
        return self.second_moment / 258


def three_levels(mu: float) -> LevelModel:
    """Make the model of Experiments 2 and 3: levels mu, -mu and 0, equal shares."""
    return LevelModel((mu, -mu, 0.0), (1 / 3,) * 3)


def expected_score(levels: np.ndarray, labels: np.ndarray, n_clusters: int) -> float:
    r"""Compute the expectation of a_j under a partition without empty clusters (Theorem 1).

    `levels` are the feature's expectations in every sample. With the clusters' shares
    :math:`\tilde\pi_k` and mean levels :math:`\tilde\mu_k`, if the variance around them is one,

    .. math:: E[a_j] = n \sum_k \tilde\pi_k \tilde\mu_k^2 - n (\sum_k \tilde\pi_k \tilde\mu_k)^2
              + K - 1 .
    """
    sizes = np.bincount(labels, minlength=n_clusters)
    sums = np.bincount(labels, weights=levels, minlength=n_clusters)
    return float(np.sum(sums**2 / sizes) - levels.sum() ** 2 / len(levels) + n_clusters - 1)


def best_impure_value(model: LevelModel, error: float) -> float:
    r"""Compute the :math:`f(\epsilon)` of Theorem 3: what the best of the bad partitions attains.

    .. math:: f(\epsilon) = \max \sum_{k'} \tilde\pi_{k'} \tilde\mu_{k'}^2

    over all joint shares :math:`\pi_{kk'}` of true clusters k and found clusters k' whose purity
    :math:`\sum_{k'} \max_k \pi_{kk'}` is at most :math:`1 - \epsilon`. The objective is convex and
    the constraints are linear, so a maximum lies at a vertex; linear programs that follow the
    gradient climb from vertex to vertex, from `N_STARTS` random ones.
    """
    rng, count = np.random.default_rng(0), len(model.levels)
    levels = np.asarray(model.levels)
    # The unknowns are pi_kk', row after row, and t_k' >= max_k pi_kk', which add up to the purity.
    peaks = np.hstack([np.eye(count**2), -np.tile(np.eye(count), (count, 1))])
    purity = np.concatenate([np.zeros(count**2), np.ones(count)])
    program = {
        "A_eq": np.hstack([np.kron(np.eye(count), np.ones(count)), np.zeros((count, count))]),
        "b_eq": np.asarray(model.shares),
        "A_ub": np.vstack([peaks, purity]),
        "b_ub": np.concatenate([np.zeros(count**2), [1 - error]]),
        "method": "highs-ds",
    }

    def climb(slopes: np.ndarray, before: float = -np.inf) -> float:
        result = linprog(np.concatenate([-slopes.ravel(), np.zeros(count)]), **program)
        if result.status != 0:
            raise RuntimeError(f"The linear program of Theorem 3 failed: {result.message}")
        joint = np.maximum(result.x[: count**2], 0).reshape(count, count)
        sizes = joint.sum(axis=0)
        means = np.divide(levels @ joint, sizes, out=np.zeros(count), where=sizes > 0)
        value = float(np.sum(sizes * means**2))
        if value <= before + 1e-12:
            return before
        return climb(2 * np.outer(levels, means) - means**2, value)

    return max(climb(rng.standard_normal((count, count))) for _ in range(N_STARTS))


def impurity_curve(model: LevelModel, n_points: int = 41) -> tuple[np.ndarray, np.ndarray]:
    """Compute f on an even grid of errors, ascending; it is quadratic in the levels."""
    errors = np.linspace(0.0, 1 - max(model.shares), n_points)
    values = np.array([best_impure_value(model, error) for error in errors])
    # What a larger error allows, a smaller one allows too.
    return errors, np.maximum.accumulate(values[::-1])[::-1]


def ecr_bound(model: LevelModel, n_relevant: float, curve: tuple[np.ndarray, np.ndarray]) -> float:
    r"""Compute the bound :math:`F(p^*)` of Theorem 3 on the error clustering rate.

    With :math:`p \le p^* n` and :math:`p^* \ge \kappa`, the partition of largest between-cluster
    sum of squares reaches it with probability at most :math:`2 K^{-n}`. F is the inverse of
    :math:`128 \ln K (f(0) + K) / (f(0) - f(\epsilon))^2`, the proof's function; NaN below kappa.
    """
    if n_relevant < model.kappa:
        return float("nan")
    errors, values = curve
    n_clusters = len(model.levels)
    constant = 128 * np.log(n_clusters) * (values[0] + n_clusters)
    # The largest error whose best partition still comes up to this level.
    level = values[0] - np.sqrt(constant / n_relevant)
    return float(np.interp(-level, -values, errors))


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
    """Draw data sets as the theorems have them, not standardised, each with a seed to search."""
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

    A data set has `n_features` relevant features, and as many noise features. `expected` is the
    theorem's value, averaged over the mislabellings.
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

    There are three noise features for each relevant one. Below the rows of the simulation are those
    of the bound, from kappa to 100,000 relevant features.
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

    All fits see the same data, of a multiple of 3 samples.
    """
    rows, grid = (
        [],
        [
            {"plane": name, **dict(zip(plane, values, strict=True))}
            for name, plane in planes.items()
            for values in product(*plane.values())
        ],
    )
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
