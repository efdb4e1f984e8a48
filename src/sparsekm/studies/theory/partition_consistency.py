"""Theorem 3 observed: the error clustering rate of k-means as relevant features are added."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from sparsekm.cluster.estimators import KMeans
from sparsekm.metrics.partition_metrics import error_clustering_rate
from sparsekm.simulation.replicate_seed import replicate_seed
from sparsekm.studies.theory.level_model import draw_three_levels, three_levels
from sparsekm.studies.theory.partition_bound import ecr_bound, impurity_curve


def simulate_partitions(
    mus: Sequence[float],
    n_relevant: Sequence[int],
    *,
    cluster_size: int,
    noise_ratio: int,
    repetitions: int,
    root: int,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Cluster data of the theorem's model by k-means on all features, the best of ten starts.

    Levels are mu, -mu and 0; `n_relevant` are values of p*, and `noise_ratio` is the number of
    noise features per relevant one. The columns are mu, n_relevant, n_features, n_samples, ecr (the
    mean), standard_error, repetitions.
    """
    rows = []
    for mu in mus:
        for count in n_relevant:
            n_features = count * (1 + noise_ratio)
            setting = {"mu": mu, "n_relevant": count, "n_features": n_features}
            setting["cluster_size"] = cluster_size
            rates = [
                _cluster_once(setting, replicate_seed(root, "theory_partitions", setting, r))
                for r in range(repetitions)
            ]
            rows.append(
                {
                    "mu": mu,
                    "n_relevant": count,
                    "n_features": n_features,
                    "n_samples": 3 * cluster_size,
                    "ecr": np.mean(rates),
                    "standard_error": np.std(rates, ddof=1) / np.sqrt(repetitions),
                    "repetitions": repetitions,
                }
            )
            if progress is not None:
                progress(len(rows), len(mus) * len(n_relevant))
    return pd.DataFrame(rows)


def tabulate_bounds(
    mus: Sequence[float], n_relevant: Sequence[float], n_samples: int, n_points: int = 41
) -> pd.DataFrame:
    """Compute the theorem's bound wherever its condition on p* holds.

    The columns are mu, n_relevant, bound, exceedance (the 2 K^-n of the theorem), kappa (the
    proof's), stated_kappa (without ln K) and rho. A mu whose kappa is above all p* has one row,
    with n_relevant kappa itself.
    """
    rows = []
    unit = impurity_curve(three_levels(1.0), n_points)
    for mu in mus:
        model = three_levels(mu)
        curve = unit.for_levels_times(mu)
        allowed = [count for count in n_relevant if count > model.kappa]
        rows += [
            {
                "mu": mu,
                "n_relevant": count,
                "bound": ecr_bound(model, count, curve),
                "exceedance": 2.0 * model.n_clusters ** -float(n_samples),
                "kappa": model.kappa,
                "stated_kappa": model.stated_kappa,
                "rho": model.rho,
            }
            for count in [model.kappa, *allowed]
        ]
    return pd.DataFrame(rows)


def _cluster_once(setting, seed):
    data_seed, start_seed = seed.spawn(2)
    data = draw_three_levels(**setting, seed=data_seed)
    kmeans = KMeans(3, random_state=np.random.default_rng(start_seed)).fit(data.X)
    return error_clustering_rate(data.labels, kmeans.labels_)
