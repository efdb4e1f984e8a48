"""Theorems 4 and 5 observed: how often fits recover the support, over a grid of settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pandas as pd

from sparsekm.cluster.estimators import KMeans, L0KMeans
from sparsekm.cluster.matrices.matrix import CentredMatrix
from sparsekm.cluster.matrices.scatter import feature_scores
from sparsekm.simulation.gaussian_clusters import SimulatedData
from sparsekm.simulation.replicate_seed import replicate_seed
from sparsekm.studies.theory.level_model import draw_three_levels, three_levels
from sparsekm.studies.theory.repeated_draws import count_share
from sparsekm.studies.theory.support_recovery import (
    conditions_of_theorem_5,
    oracle_recovery_probability,
)

FITS = ("oracle", "kmeans", "alternate", "global")
"""What is fitted, always with K = 3 and, where it is asked for, s = p*: nothing, as the labels are
known; the best partition on all features (Theorem 4); the paper's Algorithm 1, restarted
(Theorem 5); and the optimum that it seeks."""


def _score(fit: str, data: SimulatedData, n_relevant: int, **search) -> np.ndarray:
    """Give every feature's score under the partition that a fit finds."""
    if fit == "oracle":
        return feature_scores(CentredMatrix(data.X), data.labels.astype(np.int32), 3)
    if fit == "kmeans":
        estimator = KMeans(3, **search)
    else:
        estimator = L0KMeans(3, sparsity=n_relevant, search=fit, **search)
    return estimator.fit(data.X).feature_scores_


def simulate_recovery(
    settings: Iterable[Mapping[str, float]],
    *,
    n_init: int,
    repetitions: int,
    root: int,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Count how often each fit puts all relevant features above all noise features.

    Every fit sees the same data, which are drawn as the theorems have them and not standardised. A
    setting has n_samples (a multiple of 3), n_features, n_relevant and mu.

    There is a row per setting and fit: the setting, fit, recovered (the share), low and high (its
    95 % interval), repetitions, exact (the oracle's probability, NaN for other fits), and whether
    each condition of Theorem 5 holds.
    """
    settings = list(settings)
    rows = []
    for done, setting in enumerate(settings, start=1):
        model = three_levels(setting["mu"])
        sizes = (setting["n_samples"], setting["n_features"], setting["n_relevant"])
        seeds = [replicate_seed(root, "theory_support", setting, r) for r in range(repetitions)]
        recovered = np.array([_recover_once(setting, n_init, seed) for seed in seeds])
        for column, fit in enumerate(FITS):
            share = count_share(recovered[:, column])
            exact = oracle_recovery_probability(model, *sizes) if fit == "oracle" else np.nan
            rows.append(
                {
                    **setting,
                    "fit": fit,
                    "recovered": share["ours"],
                    "low": share["low"],
                    "high": share["high"],
                    "repetitions": repetitions,
                    "exact": exact,
                    **conditions_of_theorem_5(model, *sizes),
                }
            )
        if progress is not None:
            progress(done, len(settings))
    return pd.DataFrame(rows)


def _recover_once(setting, n_init, seed) -> list[bool]:
    """Draw one data set and say of every fit whether it recovers the support."""
    n_samples, n_relevant = setting["n_samples"], setting["n_relevant"]
    if n_samples % 3:
        raise ValueError(f"n_samples={n_samples} should be a multiple of 3: clusters are equal.")
    data_seed, start_seed = seed.spawn(2)
    data = draw_three_levels(
        setting["mu"], n_relevant, n_samples // 3, setting["n_features"], data_seed
    )
    found = []
    for fit in FITS:
        start = np.random.default_rng(start_seed)
        scores = _score(fit, data, n_relevant, n_init=n_init, random_state=start)
        found.append(bool(scores[:n_relevant].min() > scores[n_relevant:].max()))
    return found
