r"""The paper's theorems in numbers: their bounds, and the behaviour of simulated data.

Samples of cluster k, a share :math:`\pi_k` of all, have mean :math:`\mu_k` in each of the
:math:`p^*` relevant features and 0 in the noise features; all variances are one. `run_checks`
checks the statements that need a computation. The others are settled by an argument, in the remark
of their claim in ``data/paper/claims.csv``, which also explains the numbers here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import gammaln
from scipy.stats import binomtest, ncx2, sem
from sklearn.cluster import AgglomerativeClustering

from sparsekm.cluster.estimators import KMeans, L0KMeans
from sparsekm.cluster.matrices.matrix import CentredMatrix, feature_scores
from sparsekm.cluster.sparse_clustering import SparseClustering
from sparsekm.cluster.weight_step import SoftThreshold
from sparsekm.metrics import error_clustering_rate
from sparsekm.simulation import SimulatedData, gaussian_clusters, replicate_seed

# Levels of Experiments 2 and 3 divided by mu, and their shares.
LEVELS, SHARES = np.array([1.0, -1.0, 0.0]), (1 / 3,) * 3


def second_moment(mu: float) -> float:
    r"""Compute :math:`\sum_k \pi_k \mu_k^2` of three equal clusters at mu, -mu and 0."""
    return float(np.dot(SHARES, np.square(mu * LEVELS)))


def stated_kappa(mu: float) -> float:
    r"""Compute the smallest :math:`p^*` of Theorem 3 as stated; here the mean level is 0.

    .. math:: 128 (K + \sum_k \pi_k \mu_k^2)
              / (\sum_k \pi_k \mu_k^2 - (\sum_k \pi_k \mu_k)^2)^2
    """
    return 128 * (3 + second_moment(mu)) / second_moment(mu) ** 2


def kappa(mu: float) -> float:
    r"""Compute :math:`\ln K` times `stated_kappa`, as in the last display of the proof."""
    return stated_kappa(mu) * float(np.log(3))


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


def best_impure_value(error: float) -> float:
    r"""Compute the :math:`f(\epsilon)` of Theorem 3: the value of the best of the bad partitions.

    .. math:: f(\epsilon) = \max \sum_{k'} \tilde\pi_{k'} \tilde\mu_{k'}^2

    over all joint shares :math:`\pi_{kk'}` of true clusters k and found clusters k' whose purity
    :math:`\sum_{k'} \max_k \pi_{kk'}` is at most :math:`1 - \epsilon`, at mu = 1. Up to 1/3, a part
    of the samples at level 0 joins a neighbour; from there on, a part of all samples is mixed.
    """
    return 1 / 3 + 1 / (3 + 9 * error) if error <= 1 / 3 else 1 - 1.5 * error


def ecr_bound(mu: float, n_relevant: float) -> float:
    r"""Compute the bound :math:`F(p^*)` of Theorem 3 on the error clustering rate.

    With :math:`p \le p^* n` and :math:`p^* \ge \kappa`, the partition of largest between-cluster
    sum of squares reaches it with probability at most :math:`2 K^{-n}`. F is the inverse of
    :math:`128 \ln K (f(0) + K) / (f(0) - f(\epsilon))^2`, the proof's function; NaN below kappa.
    """
    if n_relevant < kappa(mu):
        return float("nan")
    best = mu**2 * best_impure_value(0)
    # The value at mu = 1 that the partition has to reach.
    value = (best - np.sqrt(128 * np.log(3) * (best + 3) / n_relevant)) / mu**2
    error = (1 / (value - 1 / 3) - 3) / 9 if value >= 1 / 2 else (1 - value) / 1.5
    return float(min(error, 2 / 3))


# Both have mean 0 and variance 1; Theorem 1 requires nothing else.
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
"""Settings for which recovery is counted; the two with several values are the axes, x first."""
Seeds = Iterable[np.random.SeedSequence]
Track = Callable[[Sequence], Iterable]
FITS = {
    "oracle": "true labels, top $p^*$",
    "kmeans": "k-means, top $p^*$ (Thm 4)",
    "alternate": "Algorithm 1 (Thm 5)",
    "global": "global search (Thm 5)",
}
"""The fits, with K = 3 and s = p*, and their titles in pictures.

They are none, because the labels are known; k-means on all features (Theorem 4); the paper's
Algorithm 1, made monotone and restarted (Theorem 5); and the search for the optimum.
"""


def _seeds(root: int, study: str, n: int, key: Mapping[str, Any]) -> Seeds:
    return [replicate_seed(root, study, key, replicate) for replicate in range(n)]


def draw_sets(
    setting: Mapping[str, Any], seeds: Seeds
) -> Iterator[tuple[SimulatedData, np.random.SeedSequence]]:
    """Draw data sets as in the theorems, not standardised, each with a seed for the search."""
    means = np.outer(setting["mu"] * LEVELS, np.ones(setting["n_relevant"]))
    sizes = setting["cluster_size"], setting["n_features"]
    for seed in seeds:
        data, start = seed.spawn(2)
        yield gaussian_clusters(means, *sizes, standardise=False, random_state=data), start


def partition_errors(setting: Mapping[str, Any], seeds: Seeds) -> np.ndarray:
    """Return the ECR of k-means on all features, the best of ten starts, for every data set."""
    errors = []
    for data, start in draw_sets(setting, seeds):
        fitted = KMeans(3, random_state=np.random.default_rng(start)).fit(data.X)
        errors.append(error_clustering_rate(data.labels, fitted.labels_))
    return np.array(errors)


def mislabel(labels: np.ndarray, n_moved: int, rng: np.random.Generator) -> np.ndarray:
    """Move randomly drawn samples to one of the two other clusters; no cluster becomes empty."""
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
    repetitions: int = 200,
    track: Track = iter,
) -> pd.DataFrame:
    """Average scores as a share of the samples is mislabelled at random (Theorem 1).

    There are 50 relevant and as many noise features; `expected` is the theorem's value.
    """
    truth, levels, n_features = np.repeat(np.arange(3), 20), 0.6 * LEVELS, 50
    rows = []
    for (distribution, draw), share in track([*product(DISTRIBUTIONS.items(), shares)]):
        key = {"distribution": distribution, "share": share, "levels": levels}
        averages = []
        for rng in map(np.random.default_rng, _seeds(root, "theory_scores", repetitions, key)):
            labels = mislabel(truth, round(share * len(truth)), rng).astype(np.int32)
            X = draw(rng, (len(truth), 2 * n_features))
            X[:, :n_features] += levels[truth][:, None]
            scores = feature_scores(CentredMatrix(X), labels, 3).reshape(2, n_features)
            averages.append([*scores.mean(axis=1), expected_score(levels[truth], labels, 3), 2.0])
        means, errors = np.mean(averages, axis=0), sem(averages, axis=0)
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
    repetitions: int = 20,
    track: Track = iter,
) -> pd.DataFrame:
    """Measure the error of k-means as relevant features are added, and Theorem 3's bound.

    There are three noise features for each relevant one. The last rows have the bound.
    """
    rows = []
    for mu, count in track([*product(mus, n_relevant)]):
        setting = {"mu": mu, "n_relevant": count, "n_features": 4 * count, "cluster_size": 20}
        seeds = _seeds(root, "theory_partitions", repetitions, setting)
        rates = partition_errors(setting, seeds)
        rows.append([mu, count, rates.mean(), sem(rates), repetitions, np.nan])
    counts = np.geomspace(1, 100_000, 200)
    for mu in mus:
        for count in (kappa(mu), *counts[counts >= kappa(mu)]):
            rows.append([mu, count, np.nan, np.nan, np.nan, ecr_bound(mu, count)])
    columns = ["mu", "n_relevant", "ecr", "standard_error", "repetitions", "bound"]
    return pd.DataFrame(rows, columns=columns)


def simulate_recovery(
    root: int,
    planes: Mapping[str, Mapping[str, Sequence[float]]] = PLANES,
    *,
    repetitions: int = 15,
    track: Track = iter,
) -> pd.DataFrame:
    """Count how often each fit scores all relevant above all noise features (Theorems 4 and 5).

    All fits see the same data, with a multiple of 3 samples.
    """
    cells = [
        {"plane": name, **dict(zip(plane, values, strict=True))}
        for name, plane in planes.items()
        for values in product(*plane.values())
    ]
    rows = []
    for cell in track(cells):
        setting = {name: value for name, value in cell.items() if name != "plane"}
        seeds = _seeds(root, "theory_support", repetitions, setting)
        n_samples = setting.pop("n_samples")
        sets = draw_sets({**setting, "cluster_size": n_samples // 3}, seeds)
        recovered = [
            [_recovers(fit, data, np.random.default_rng(start)) for fit in FITS]
            for data, start in sets
        ]
        for fit, share in zip(FITS, np.mean(recovered, axis=0), strict=True):
            rows.append({**cell, "fit": fit, "recovered": share, "repetitions": repetitions})
    return pd.DataFrame(rows)


def _recovers(fit: str, data: SimulatedData, rng: np.random.Generator) -> bool:
    if fit == "oracle":
        scores = feature_scores(CentredMatrix(data.X), data.labels.astype(np.int32), 3)
    elif fit == "kmeans":
        scores = KMeans(3, random_state=rng).fit(data.X).feature_scores_
    else:
        kept = int(data.relevant.sum())
        search = L0KMeans(3, sparsity=kept, search=fit, random_state=rng)
        scores = search.fit(data.X).feature_scores_
    return bool(scores[data.relevant].min() > scores[~data.relevant].max())


COLUMNS = ("check", "holds", "ours", "se", "low", "high", "theirs")
STRONG = {"mu": 8.0, "n_relevant": 10, "cluster_size": 30, "n_features": 200}
"""A setting in which every numerical condition of Theorem 5 holds: levels of 8, 90 samples."""
Found = Iterator[tuple[str, dict[str, Any]]]


def _check_seeds(root: int, check: str, setting: Mapping[str, Any]) -> Seeds:
    return _seeds(root, "theory_checks", 20, {"check": check, **setting})


def _mean(values: Sequence[float] | np.ndarray) -> dict:
    return {"ours": float(np.mean(values)), "se": float(sem(values))}


def _share(holds: Sequence[bool] | np.ndarray, wanted: float = np.nan) -> dict:
    share = float(np.mean(holds))
    low, high = map(float, binomtest(int(np.sum(holds)), len(holds)).proportion_ci())
    return {"holds": share == wanted, "ours": share, "low": low, "high": high, "theirs": wanted}


def _check_bounds(root: int) -> Found:
    """Check Theorem 1, the centroids of the ball, Lemmas 3 and 4, and Theorem 3."""
    table = simulate_scores(root, [0.0, 0.3], repetitions=100)
    table = table[table["distribution"] == "exponential"].set_index(["feature", "mislabelled"])
    for name, share in (("noise", 0.3), ("relevant", 0.0)):
        ours, se = map(float, table.loc[(name, share), ["score", "standard_error"]])
        away = (ours - 2) / se
        holds = away > 3 if name == "relevant" else abs(away) < 3
        yield name, {"holds": holds, "ours": ours, "se": se, "theirs": 2.0}

    rng, p = np.random.default_rng(*_seeds(root, "theory_checks", 1, {"check": "ball"})), 5
    points = rng.standard_normal((100_000, p))
    points *= (rng.random(100_000) ** (1 / p) / np.linalg.norm(points, axis=1))[:, None]
    row = _mean(np.abs(points[:, 0]))
    ratio = np.exp(gammaln(p / 2 + 1) - gammaln((p + 1) / 2) - gammaln(0.5))
    theirs = 2 / (p + 1) * ratio
    holds = abs(row["ours"] - theirs) < 3 * row["se"]
    yield "ball", row | {"holds": bool(holds), "theirs": theirs}

    setting = {"mu": 3.0, "n_relevant": 40, "cluster_size": 20, "n_features": 160}
    rates = partition_errors(setting, _check_seeds(root, "partition_bound", setting))
    yield "partition_bound", _share(rates >= ecr_bound(3.0, 40), wanted=0.0)

    worst = 0.0
    for degrees, shift in product((1, 3, 10, 100), (0.1, 1.0, 10.0, 100.0)):
        mean = degrees + shift
        t = mean * np.linspace(0.01, 0.99, 99)
        tails = ncx2.sf(mean + t, degrees, shift) + ncx2.cdf(mean - t, degrees, shift)
        worst = max(worst, float(np.max(tails / (2 * np.exp(-(t**2) / (16 * mean))))))
    yield "tail_bound", {"holds": worst <= 1, "ours": worst, "theirs": 1.0}
    values = [best_impure_value(error) for error in np.linspace(0, 2 / 3, 11)]
    falls = bool(np.all(np.diff(values) < 0))
    yield "impure_value", {"holds": falls, "ours": values[1] / values[0]}


def _check_partitions(root: int) -> Found:
    """Check the remarks on Theorem 3: limits, evaluated where they should be nearly reached."""

    def rates(check: str, mu: float, n_relevant: int, size: int, p: int) -> np.ndarray:
        setting = {"mu": mu, "n_relevant": n_relevant, "cluster_size": size, "n_features": p}
        return partition_errors(setting, _check_seeds(root, check, setting))

    limit = [rates("partition_limit", 1.0, count, 10, 30 * count) for count in (2, 10, 50, 250)]
    means = [rate.mean() for rate in limit]
    holds = bool(np.all(np.diff(means) <= 0) and means[-1] < 0.01)
    yield "partition_limit", {"holds": holds, **_mean(limit[-1]), "theirs": 0.0}
    row = _mean(rates("more_relevant", 0.6, 2, 600, 2))
    yield "more_relevant", {"holds": row["ours"] > 0.1, **row}
    shares = [
        _share(rates("fewer_features", 0.6, 1, size, (3 * size) ** 3) > 0.1) for size in (2, 4, 8)
    ]
    holds = min(share["ours"] for share in shares) > 0.5
    yield "fewer_features", shares[-1] | {"holds": holds}


def _check_selection(root: int) -> Found:
    """Check Theorems 4 and 5, and the remarks on them."""

    def share(check: str, finds: Callable, **other: int) -> dict:
        setting = {**STRONG, **other}
        sets = draw_sets(setting, _check_seeds(root, check, setting))
        return _share([finds(data, np.random.default_rng(start)) for data, start in sets], 1.0)

    def selects(data, rng, X=None) -> bool:
        kept = int(data.relevant.sum())
        search = L0KMeans(3, sparsity=kept, search="alternate", random_state=rng)
        fitted = search.fit(data.X if X is None else X)
        return np.array_equal(fitted.feature_weights_ > 0, data.relevant)

    def selects_uniform(data, rng) -> bool:
        means = np.outer(STRONG["mu"] * LEVELS[data.labels], data.relevant)
        return selects(data, rng, rng.uniform(-np.sqrt(3), np.sqrt(3), data.X.shape) + means)

    def some_bound_selects(data, rng) -> bool:
        scores = KMeans(3, random_state=rng).fit(data.X).feature_scores_
        bounds = np.linspace(1, np.sqrt(len(scores)), 200)
        kept = (SoftThreshold(bound).weigh(scores) > 0 for bound in bounds)
        return any(np.array_equal(support, data.relevant) for support in kept)

    def agglomeration_selects(data, rng) -> bool:
        search = SparseClustering(AgglomerativeClustering(3), sparsity=STRONG["n_relevant"])
        return np.array_equal(search.fit(data.X).feature_weights_ > 0, data.relevant)

    yield "score_gap", share("score_gap", partial(_recovers, "kmeans"))
    yield "selection", share("selection", selects)
    yield "fixed_relevant", share("fixed_relevant", selects, n_features=900)
    growing = {"cluster_size": 20, "n_relevant": 100, "n_features": 1000}
    yield "growing_relevant", share("growing_relevant", selects, **growing)
    yield "subgaussian", share("subgaussian", selects_uniform)
    row = share("l1_selection", some_bound_selects)
    # The paper states that l1 does not.
    yield "l1_selection", row | {"holds": row["ours"] == 0, "theirs": np.nan}
    yield "any_clusterer", share("any_clusterer", agglomeration_selects)


def run_checks(root: int) -> pd.DataFrame:
    """Run every check, with the columns `COLUMNS`; intervals are Clopper and Pearson's, 95 %."""
    themes = _check_bounds, _check_partitions, _check_selection
    lines = [{"check": name} | found for theme in themes for name, found in theme(root)]
    return pd.DataFrame(lines, columns=list(COLUMNS))
