"""What the paper remarks on its theorems: limits, necessary conditions and generalisations.

A limit cannot be computed; each is looked at where it should be near, over some data sets.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize
from scipy.stats import ncx2
from sklearn.cluster import AgglomerativeClustering

from sparsekm.cluster.estimators import KMeans
from sparsekm.cluster.sparse_clustering import SparseClustering
from sparsekm.cluster.weight_step import SoftThreshold
from sparsekm.studies.theory.level_model import three_levels
from sparsekm.studies.theory.partition_bound import impurity_curve
from sparsekm.studies.theory.repeated_draws import (
    STRONG,
    average,
    count_share,
    draw_setting,
    partition_errors,
    selects_exactly,
)


def _check_partition_limit(root: int) -> dict:
    rates = []
    for n_relevant in (2, 10, 50, 250):
        setting = {"mu": 1.0, "n_relevant": n_relevant, "cluster_size": 10}
        rates.append(
            partition_errors({**setting, "n_features": 30 * n_relevant}, "partition_limit", root)
        )
    means = [rate.mean() for rate in rates]
    told = ", ".join(f"{mean:.2f}" for mean in means)
    return {
        "holds": bool(np.all(np.diff(means) <= 0) and means[-1] < 0.01),
        **average(rates[-1]),
        "theirs": 0.0,
        "reason": f"At mu = 1, n = 30 and p = p* n the mean ECR is {told} for p* = 2, 10, 50, 250.",
    }


def _check_more_relevant(root: int) -> dict:
    setting = {"mu": 0.6, "n_relevant": 2, "cluster_size": 600, "n_features": 2}
    rates = partition_errors(setting, "more_relevant", root)
    return {
        "holds": bool(rates.mean() > 0.1),
        **average(rates),
        "reason": "The mean ECR at mu = 0.6 of 1,800 samples with two features, both relevant.",
    }


def _check_fewer_features(root: int) -> dict:
    shares: list[dict] = []
    for size in (2, 4, 8):
        n_features = (3 * size) ** 3
        setting = {"mu": 0.6, "n_relevant": 1, "cluster_size": size, "n_features": n_features}
        shares.append(count_share(partition_errors(setting, "fewer_features", root) > 0.1))
    return {
        **shares[-1],
        "holds": min(share["ours"] for share in shares) > 0.5,
        "reason": "The share of data sets with an ECR above 0.1, at p = p* n³, n = 24, mu = 0.6.",
    }


def _check_fixed_relevant(root: int) -> dict:
    setting = {**STRONG, "n_features": 900}
    return count_share(selects_exactly(setting, "fixed_relevant", root), 1.0) | {
        "reason": "At mu = 8, n = 90, p* = 10 and p = p* n."
    }


def _check_growing_relevant(root: int) -> dict:
    setting = {**STRONG, "cluster_size": 20, "n_relevant": 100, "n_features": 1000}
    return count_share(selects_exactly(setting, "growing_relevant", root), 1.0) | {
        "reason": "At mu = 8, n = 60, p* = p / 10 and p = 1,000, below exp(ρ n)."
    }


def _check_subgaussian(root: int) -> dict:
    def uniform(data, start):
        levels = np.array(three_levels(STRONG["mu"]).levels)[data.labels]
        noise = start.uniform(-np.sqrt(3), np.sqrt(3), data.X.shape)
        return noise + levels[:, None] * data.relevant

    return count_share(selects_exactly(STRONG, "subgaussian", root, uniform), 1.0) | {
        "reason": "Uniform features of variance one, where the conditions of Theorem 5 hold."
    }


def _check_l1_selection(root: int) -> dict:
    """Count the data sets in which a bound of the l1 norm keeps exactly the relevant features."""
    found = []
    for data, start in draw_setting(STRONG, "l1_selection", root):
        scores = KMeans(3, random_state=start).fit(data.X).feature_scores_
        grid = np.linspace(1, np.sqrt(len(scores)), 200)
        kept = [SoftThreshold(bound).weigh(scores) > 0 for bound in grid]
        found.append(any(np.array_equal(support, data.relevant) for support in kept))
    share = count_share(found)
    return share | {
        "holds": share["ours"] == 0,
        "reason": "Share of data sets in which some bound of ℓ₁-k-means keeps exactly the relevant "
        "features: wherever the scores have the gap of Theorem 4, both do.",
    }


def _check_any_clusterer(root: int) -> dict:
    found = []
    for data, _ in draw_setting(STRONG, "any_clusterer", root):
        search = SparseClustering(AgglomerativeClustering(3), sparsity=STRONG["n_relevant"])
        found.append(np.array_equal(search.fit(data.X).feature_weights_ > 0, data.relevant))
    return count_share(found, 1.0) | {
        "reason": "Ward's agglomeration as step (ii): share of data sets with exactly the relevant "
        "features."
    }


def _check_soft_threshold(root: int) -> dict:
    """Compare the soft threshold with a numerical optimum under both norms."""
    scores, bound = np.array([3.0, 0.5, 2.0, 2.5, 0.1]), 1.6
    numeric = minimize(
        lambda weights: -weights @ scores,
        np.full(5, 0.1),
        bounds=[(0, 1)] * 5,
        constraints=[
            {"type": "ineq", "fun": lambda weights: 1 - weights @ weights},
            {"type": "ineq", "fun": lambda weights: bound - weights.sum()},
        ],
        method="SLSQP",
    )
    ours, theirs = float(SoftThreshold(bound).weigh(scores) @ scores), float(-numeric.fun)
    return {"holds": bool(np.isclose(ours, theirs, rtol=1e-5)), "ours": ours, "theirs": theirs}


def _check_tail_bound(root: int) -> dict:
    """Compare the exact tails of noncentral chi-squares with the bound of Lemma 3."""
    worst = 0.0
    for degrees in (1, 3, 10, 100):
        for shift in (0.1, 1.0, 10.0, 100.0):
            mean = degrees + shift
            t = mean * np.linspace(0.01, 0.99, 99)
            tails = ncx2.sf(mean + t, degrees, shift) + ncx2.cdf(mean - t, degrees, shift)
            worst = max(worst, float(np.max(tails / (2 * np.exp(-(t**2) / (16 * mean))))))
    return {
        "holds": worst <= 1,
        "ours": worst,
        "theirs": 1.0,
        "reason": "The largest ratio of an exact tail probability to the bound.",
    }


def _check_impure_value(root: int) -> dict:
    values = impurity_curve(three_levels(1.0), 11).values
    return {
        "holds": bool(np.all(np.diff(values) < 0)),
        "ours": float(values[1] / values[0]),
        "reason": "f(0.067) / f(0) at levels 1, -1 and 0; f falls along a grid of eleven errors.",
    }


LIMIT_CHECKS: dict[str, Callable[[int], dict]] = {
    "partition_limit": _check_partition_limit,
    "more_relevant": _check_more_relevant,
    "fewer_features": _check_fewer_features,
    "fixed_relevant": _check_fixed_relevant,
    "growing_relevant": _check_growing_relevant,
    "subgaussian": _check_subgaussian,
    "l1_selection": _check_l1_selection,
    "any_clusterer": _check_any_clusterer,
    "soft_threshold": _check_soft_threshold,
    "tail_bound": _check_tail_bound,
    "impure_value": _check_impure_value,
}
