"""The paper's statements about theory that need a computation, each of a few seconds.

The others are settled by an argument: ``data/paper/claims.csv`` has it as the remark of the claim,
as it has the meaning of every number here and what is wrong with a statement that fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import gammaln
from scipy.stats import binomtest, ncx2, sem
from sklearn.cluster import AgglomerativeClustering

from sparsekm.cluster.estimators import KMeans, L0KMeans
from sparsekm.cluster.sparse_clustering import SparseClustering
from sparsekm.cluster.weight_step import SoftThreshold
from sparsekm.simulation import replicate_seed
from sparsekm.studies.theory.theorems import (
    draw_sets,
    ecr_bound,
    impurity_curve,
    partition_errors,
    simulate_scores,
    three_levels,
)

COLUMNS = ("check", "holds", "ours", "se", "low", "high", "theirs")
STRONG = {"mu": 8.0, "n_relevant": 10, "cluster_size": 30, "n_features": 200}
"""Where every condition of Theorem 5 holds that has a number: levels of 8, 90 samples."""
Found = Iterator[tuple[str, dict[str, Any]]]


def run_checks(root: int) -> pd.DataFrame:
    """Run every check: columns `COLUMNS`; an interval is Clopper and Pearson's of 95 %."""
    lines = [{"check": name} | found for theme in _THEMES for name, found in theme(root)]
    return pd.DataFrame(lines, columns=list(COLUMNS))


def _seeds(root: int, n: int, **key: Any) -> list[np.random.SeedSequence]:
    return [replicate_seed(root, "theory_checks", key, replicate) for replicate in range(n)]


def _mean(values: Sequence[float] | np.ndarray) -> dict:
    return {"ours": float(np.mean(values)), "se": float(sem(values))}


def _share(found: Sequence[bool] | np.ndarray, wanted: float = np.nan) -> dict:
    share = float(np.mean(found))
    low, high = map(float, binomtest(int(np.sum(found)), len(found)).proportion_ci())
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

    rng, p = np.random.default_rng(*_seeds(root, 1, check="ball")), 5
    points = rng.standard_normal((100_000, p))
    points *= (rng.random(100_000) ** (1 / p) / np.linalg.norm(points, axis=1))[:, None]
    found = _mean(np.abs(points[:, 0]))
    ratio = np.exp(gammaln(p / 2 + 1) - gammaln((p + 1) / 2) - gammaln(0.5))
    theirs = 2 / (p + 1) * ratio
    holds = abs(found["ours"] - theirs) < 3 * found["se"]
    yield "ball", found | {"holds": bool(holds), "theirs": theirs}

    model = three_levels(3.0)
    setting = {"mu": 3.0, "n_relevant": 40, "cluster_size": 20, "n_features": 160}
    rates = partition_errors(setting, _seeds(root, 20, check="partition_bound", **setting))
    bound = ecr_bound(model, 40, impurity_curve(model, 11))
    yield "partition_bound", _share(rates >= bound, wanted=0.0)

    worst = 0.0
    for degrees, shift in product((1, 3, 10, 100), (0.1, 1.0, 10.0, 100.0)):
        mean = degrees + shift
        t = mean * np.linspace(0.01, 0.99, 99)
        tails = ncx2.sf(mean + t, degrees, shift) + ncx2.cdf(mean - t, degrees, shift)
        worst = max(worst, float(np.max(tails / (2 * np.exp(-(t**2) / (16 * mean))))))
    yield "tail_bound", {"holds": worst <= 1, "ours": worst, "theirs": 1.0}
    _, values = impurity_curve(three_levels(1.0), 11)
    falls = bool(np.all(np.diff(values) < 0))
    yield "impure_value", {"holds": falls, "ours": float(values[1] / values[0])}


def _check_partitions(root: int) -> Found:
    """Check the remarks on Theorem 3: limits, looked at where they should be near."""

    def rates(check: str, mu: float, n_relevant: int, size: int, p: int) -> np.ndarray:
        setting = {"mu": mu, "n_relevant": n_relevant, "cluster_size": size, "n_features": p}
        return partition_errors(setting, _seeds(root, 20, check=check, **setting))

    limit = [rates("partition_limit", 1.0, count, 10, 30 * count) for count in (2, 10, 50, 250)]
    means = [rate.mean() for rate in limit]
    holds = bool(np.all(np.diff(means) <= 0) and means[-1] < 0.01)
    yield "partition_limit", {"holds": holds, **_mean(limit[-1]), "theirs": 0.0}
    found = _mean(rates("more_relevant", 0.6, 2, 600, 2))
    yield "more_relevant", {"holds": found["ours"] > 0.1, **found}
    shares = [
        _share(rates("fewer_features", 0.6, 1, size, (3 * size) ** 3) > 0.1) for size in (2, 4, 8)
    ]
    holds = min(share["ours"] for share in shares) > 0.5
    yield "fewer_features", shares[-1] | {"holds": holds}


def _check_selection(root: int) -> Found:
    """Check Theorems 4 and 5, and the remarks on them."""

    def share(check: str, finds: Callable, **other: int) -> dict:
        setting = {**STRONG, **other}
        sets = draw_sets(setting, _seeds(root, 20, check=check, **setting))
        return _share([finds(data, np.random.default_rng(start)) for data, start in sets], 1.0)

    def selects(data, rng, X=None) -> bool:
        kept = int(data.relevant.sum())
        search = L0KMeans(3, sparsity=kept, search="alternate", random_state=rng)
        fitted = search.fit(data.X if X is None else X)
        return np.array_equal(fitted.feature_weights_ > 0, data.relevant)

    def selects_uniform(data, rng) -> bool:
        levels = np.array(three_levels(STRONG["mu"]).levels)[data.labels]
        noise = rng.uniform(-np.sqrt(3), np.sqrt(3), data.X.shape)
        return selects(data, rng, noise + levels[:, None] * data.relevant)

    def separates(data, rng) -> bool:
        scores = KMeans(3, random_state=rng).fit(data.X).feature_scores_
        return scores[data.relevant].min() > scores[~data.relevant].max()

    def some_bound_selects(data, rng) -> bool:
        scores = KMeans(3, random_state=rng).fit(data.X).feature_scores_
        bounds = np.linspace(1, np.sqrt(len(scores)), 200)
        kept = (SoftThreshold(bound).weigh(scores) > 0 for bound in bounds)
        return any(np.array_equal(support, data.relevant) for support in kept)

    def agglomeration_selects(data, rng) -> bool:
        search = SparseClustering(AgglomerativeClustering(3), sparsity=STRONG["n_relevant"])
        return np.array_equal(search.fit(data.X).feature_weights_ > 0, data.relevant)

    yield "score_gap", share("score_gap", separates)
    yield "selection", share("selection", selects)
    yield "fixed_relevant", share("fixed_relevant", selects, n_features=900)
    growing = {"cluster_size": 20, "n_relevant": 100, "n_features": 1000}
    yield "growing_relevant", share("growing_relevant", selects, **growing)
    yield "subgaussian", share("subgaussian", selects_uniform)
    found = share("l1_selection", some_bound_selects)
    # The paper says that l1 does not.
    yield "l1_selection", found | {"holds": found["ours"] == 0, "theirs": np.nan}
    yield "any_clusterer", share("any_clusterer", agglomeration_selects)


_THEMES = (_check_bounds, _check_partitions, _check_selection)
