"""The paper's four experiments as data generators.

Samples come in contiguous clusters; the first features are the relevant ones. Within cluster k a
sample is N(mu_k, Sigma) with unit variances; Sigma is the identity except in Experiment 4, where
Sigma_ab = rho^|a - b|.

References
----------
X. Chang, Y. Wang, R. Li and Z. Xu. Sparse k-means with l-infinity/l0 penalty for high-dimensional
data clustering, section "Evaluation on synthetic data".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sparsekm.simulation.gaussian_clusters import RandomState, SimulatedData, gaussian_clusters
from sparsekm.simulation.replicate_seed import replicate_seed

__all__ = [
    "EXPERIMENTS",
    "SimulatedData",
    "draw_replicate",
    "experiment_1",
    "experiment_2",
    "experiment_3",
    "experiment_4",
    "gaussian_clusters",
    "replicate_seed",
]


def experiment_1(
    *,
    n_features: int = 2000,
    n_relevant: int = 200,
    cluster_size: int = 20,
    mu: float = 0.5,
    standardise: bool = True,
    ddof: int = 1,
    random_state: RandomState,
) -> SimulatedData:
    """Draw Experiment 1: six clusters, relevant features N(mu k, 1) in the k-th, k = 1 to 6.

    The defaults are the paper's: 120 samples x 2000 features, 200 of them relevant.

    Parameters
    ----------
    n_features, n_relevant, cluster_size : int
        Size of the design.
    mu : float, default=0.5
        Distance between the means of neighbouring clusters.
    standardise, ddof, random_state
        As in :func:`gaussian_clusters`.
    """
    return _same_mean_on_relevant(
        "experiment_1",
        levels=mu * np.arange(1, 7),
        parameters={"mu": mu},
        n_features=n_features,
        n_relevant=n_relevant,
        cluster_size=cluster_size,
        standardise=standardise,
        ddof=ddof,
        random_state=random_state,
    )


def experiment_2(
    *,
    mu: float = 0.6,
    n_features: int = 200,
    n_relevant: int = 50,
    cluster_size: int = 20,
    standardise: bool = True,
    ddof: int = 1,
    random_state: RandomState,
) -> SimulatedData:
    """Draw Experiment 2: three clusters with means mu, -mu and 0 on the relevant features.

    The paper takes 60 samples, 50 relevant features, mu = 0.6 and 0.7, p = 200, 500 and 1000.

    Parameters
    ----------
    mu : float, default=0.6
        Mean of the first cluster's relevant features.
    n_features, n_relevant, cluster_size : int
        Size of the design.
    standardise, ddof, random_state
        As in :func:`gaussian_clusters`.

    Examples
    --------
    >>> data = experiment_2(mu=0.7, n_features=500, random_state=1)
    >>> data.X.shape, data.n_clusters, int(data.relevant.sum())
    ((60, 500), 3, 50)
    """
    return _same_mean_on_relevant(
        "experiment_2",
        levels=mu * np.array([1.0, -1.0, 0.0]),
        parameters={"mu": mu},
        n_features=n_features,
        n_relevant=n_relevant,
        cluster_size=cluster_size,
        standardise=standardise,
        ddof=ddof,
        random_state=random_state,
    )


# The two data sets of Experiment 3, by their number of features.
EXPERIMENT_3_DATA_SETS = {
    25: {"n_relevant": 5, "cluster_size": 10, "mu": 1.0},
    500: {"n_relevant": 50, "cluster_size": 20, "mu": 0.7},
}


def experiment_3(
    *,
    n_features: int = 25,
    standardise: bool = True,
    ddof: int = 1,
    random_state: RandomState,
) -> SimulatedData:
    """Draw Experiment 3: the means of Experiment 2 in a small and a larger data set.

    Parameters
    ----------
    n_features : {25, 500}, default=25
        25 is 30 samples with 5 relevant features and mu = 1; 500 is 60 samples with 50 relevant
        features and mu = 0.7. Three clusters of equal size in both.
    standardise, ddof, random_state
        As in :func:`gaussian_clusters`.

    Raises
    ------
    ValueError
        If `n_features` is neither 25 nor 500; Experiment 2 draws any other size.
    """
    if n_features not in EXPERIMENT_3_DATA_SETS:
        raise ValueError(
            f"n_features={n_features} should be one of {list(EXPERIMENT_3_DATA_SETS)}, the paper's "
            "data sets; experiment_2 takes any size."
        )
    data_set = EXPERIMENT_3_DATA_SETS[n_features]
    mu = data_set["mu"]
    return _same_mean_on_relevant(
        "experiment_3",
        levels=mu * np.array([1.0, -1.0, 0.0]),
        parameters={"mu": mu},
        n_features=n_features,
        n_relevant=data_set["n_relevant"],
        cluster_size=data_set["cluster_size"],
        standardise=standardise,
        ddof=ddof,
        random_state=random_state,
    )


def experiment_4(
    *,
    rho: float = 0.1,
    n_features: int = 2000,
    n_relevant: int = 200,
    cluster_size: int = 20,
    mu: float = 1.0,
    standardise: bool = True,
    ddof: int = 1,
    random_state: RandomState,
) -> SimulatedData:
    """Draw Experiment 4: six clusters of correlated features, centred at mu k, k = 1 to 6.

    The paper takes 120 samples x 2000 features, 200 of them relevant, mu = 1 and rho = 0.1 and 0.3.

    Parameters
    ----------
    rho : float, default=0.1
        Features a and b correlate as rho^|a - b|, relevant and noise features alike.
    n_features, n_relevant, cluster_size : int
        Size of the design.
    mu : float, default=1.0
        Distance between the means of neighbouring clusters.
    standardise, ddof, random_state
        As in :func:`gaussian_clusters`.
    """
    return _same_mean_on_relevant(
        "experiment_4",
        levels=mu * np.arange(1, 7),
        parameters={"mu": mu, "rho": rho},
        correlation=rho,
        n_features=n_features,
        n_relevant=n_relevant,
        cluster_size=cluster_size,
        standardise=standardise,
        ddof=ddof,
        random_state=random_state,
    )


EXPERIMENTS: dict[str, Callable[..., SimulatedData]] = {
    "experiment_1": experiment_1,
    "experiment_2": experiment_2,
    "experiment_3": experiment_3,
    "experiment_4": experiment_4,
}


def draw_replicate(
    experiment: str, setting: Mapping[str, Any], *, root: int, replicate: int
) -> SimulatedData:
    """Draw one replicate of one setting of one of the paper's experiments.

    Parameters
    ----------
    experiment : {"experiment_1", "experiment_2", "experiment_3", "experiment_4"}
    setting : mapping
        Keyword arguments of that experiment's function, e.g. ``{"mu": 0.6, "n_features": 500}``.
    root, replicate : int
        As in :func:`replicate_seed`.

    Raises
    ------
    ValueError
        If there is no such experiment.

    Examples
    --------
    >>> data = draw_replicate("experiment_2", {"mu": 0.7}, root=0, replicate=3)
    >>> data.X.shape
    (60, 200)
    """
    if experiment not in EXPERIMENTS:
        raise ValueError(f"experiment={experiment!r} should be one of {list(EXPERIMENTS)}.")
    seed = replicate_seed(root, experiment, setting, replicate)
    return EXPERIMENTS[experiment](**setting, random_state=seed)


def _same_mean_on_relevant(
    name, *, levels, parameters, n_features, n_relevant, cluster_size, **options
):
    """Give every relevant feature the same mean in a cluster, as all four experiments do."""
    if n_relevant < 0:
        raise ValueError(f"n_relevant={n_relevant} should be >= 0.")
    return gaussian_clusters(
        np.outer(levels, np.ones(n_relevant)),
        cluster_size,
        n_features,
        name=name,
        parameters={
            **parameters,
            "n_features": n_features,
            "n_relevant": n_relevant,
            "cluster_size": cluster_size,
        },
        **options,
    )
