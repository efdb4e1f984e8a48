"""The data sets over which statements of theory are checked, and what is found in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import binomtest, sem

from sparsekm.cluster.estimators import KMeans, L0KMeans
from sparsekm.metrics.partition_metrics import error_clustering_rate
from sparsekm.simulation.gaussian_clusters import SimulatedData
from sparsekm.simulation.replicate_seed import replicate_seed
from sparsekm.studies.theory.level_model import draw_three_levels

DATA_SETS = 20
STRONG = {"mu": 8.0, "n_relevant": 10, "cluster_size": 30, "n_features": 200}
"""Where every condition of Theorem 5 holds that has a number: levels of 8, 90 samples."""


def draw_setting(
    setting: Mapping[str, Any], check: str, root: int
) -> Iterator[tuple[SimulatedData, np.random.Generator]]:
    """Draw the data sets of a check, each with a generator for the search."""
    for replicate in range(DATA_SETS):
        sequence = replicate_seed(root, "theory_checks", {"check": check, **setting}, replicate)
        seeds = sequence.spawn(2)
        yield draw_three_levels(**setting, seed=seeds[0]), np.random.default_rng(seeds[1])


def partition_errors(setting: Mapping[str, Any], check: str, root: int) -> np.ndarray:
    """Give the ECR of k-means in every data set."""
    return np.array(
        [
            error_clustering_rate(data.labels, KMeans(3, random_state=start).fit(data.X).labels_)
            for data, start in draw_setting(setting, check, root)
        ]
    )


def selects_exactly(
    setting: Mapping[str, Any],
    check: str,
    root: int,
    change: Callable = lambda data, start: data.X,
) -> list[bool]:
    """Say of every data set whether Algorithm 1 keeps exactly the relevant features."""
    found = []
    for data, start in draw_setting(setting, check, root):
        kept = int(data.relevant.sum())
        search = L0KMeans(3, sparsity=kept, search="alternate", random_state=start)
        weights = search.fit(change(data, start)).feature_weights_
        found.append(np.array_equal(weights > 0, data.relevant))
    return found


def count_share(found: Sequence[bool] | np.ndarray, wanted: float = np.nan) -> dict[str, Any]:
    """Say in which share something was found, and whether that is as wanted.

    The share has Clopper and Pearson's 95 % interval: a standard error would be 0 for all or none.

    Examples
    --------
    >>> share = count_share([True] * 20, wanted=1.0)
    >>> share["ours"], round(share["low"], 2), share["high"]
    (1.0, 0.83, 1.0)
    """
    share = float(np.mean(found))
    low, high = map(float, binomtest(int(np.sum(found)), len(found)).proportion_ci())
    return {"holds": share == wanted, "ours": share, "low": low, "high": high, "theirs": wanted}


def average(values: Sequence[float] | np.ndarray) -> dict[str, float]:
    """Give the mean of some values, and its standard error."""
    return {"ours": float(np.mean(values)), "se": float(sem(values))}
