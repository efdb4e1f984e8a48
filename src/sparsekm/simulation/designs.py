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

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparsekm.simulation.gaussian_clusters import RandomState, SimulatedData, gaussian_clusters
from sparsekm.simulation.replicate_seed import replicate_seed


@dataclass(frozen=True)
class Experiment:
    """A design in which every relevant feature has the same mean in a cluster."""

    name: str
    levels: tuple[float, ...]  # means of the clusters on the relevant features, in units of mu
    # Arguments: the size of the design (``n_features``, ``n_relevant``, ``cluster_size``), ``mu``,
    # and ``rho`` where features a and b correlate as rho^|a - b|.
    defaults: Mapping[str, float]
    # Where only ``n_features`` can be chosen: the other arguments by its values.
    data_sets: Mapping[int, Mapping[str, float]] = field(default_factory=dict)

    def __call__(
        self,
        *,
        random_state: RandomState,
        standardise: bool = True,
        ddof: int = 1,
        **arguments: float,
    ) -> SimulatedData:
        """Draw the design by `gaussian_clusters`, with other arguments where given."""
        unknown = sorted(set(arguments) - set(self.defaults))
        if unknown:
            raise TypeError(f"{self.name}: arguments {unknown} should be of {[*self.defaults]}.")
        chosen = {**self.defaults, **arguments}
        if self.data_sets:
            if chosen["n_features"] not in self.data_sets:
                raise ValueError(
                    f"n_features={chosen['n_features']} should be one of {list(self.data_sets)}, "
                    "the paper's data sets; experiment_2 takes any size."
                )
            chosen |= self.data_sets[chosen["n_features"]]
        if chosen["n_relevant"] < 0:
            raise ValueError(f"n_relevant={chosen['n_relevant']} should be >= 0.")
        return gaussian_clusters(
            np.outer(chosen["mu"] * np.array(self.levels), np.ones(chosen["n_relevant"])),
            chosen["cluster_size"],
            chosen["n_features"],
            correlation=chosen.get("rho", 0.0),
            standardise=standardise,
            ddof=ddof,
            random_state=random_state,
            name=self.name,
            parameters=chosen,
        )


SIX_LEVELS = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
THREE_LEVELS = (1.0, -1.0, 0.0)
_LARGE = {"n_features": 2000, "n_relevant": 200, "cluster_size": 20}

experiment_1 = Experiment("experiment_1", SIX_LEVELS, {**_LARGE, "mu": 0.5})
"""120 samples in six clusters; the paper's size is the default."""

experiment_2 = Experiment(
    "experiment_2",
    THREE_LEVELS,
    {"mu": 0.6, "n_features": 200, "n_relevant": 50, "cluster_size": 20},
)
"""60 samples in three clusters; the paper takes mu = 0.6 and 0.7, and p = 200, 500 and 1000."""

experiment_3 = Experiment(
    "experiment_3",
    THREE_LEVELS,
    {"n_features": 25},
    {
        25: {"n_relevant": 5, "cluster_size": 10, "mu": 1.0},
        500: {"n_relevant": 50, "cluster_size": 20, "mu": 0.7},
    },
)
"""The means of Experiment 2 in a small and a larger data set."""

experiment_4 = Experiment("experiment_4", SIX_LEVELS, {"rho": 0.1, **_LARGE, "mu": 1.0})
"""Experiment 1 with correlated features; the paper takes rho = 0.1 and 0.3."""

EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (experiment_1, experiment_2, experiment_3, experiment_4)
}


def draw_replicate(
    experiment: str, setting: Mapping[str, Any], *, root: int, replicate: int
) -> SimulatedData:
    """Draw one replicate of one of the paper's experiments; the setting are its arguments.

    Examples
    --------
    >>> data = draw_replicate("experiment_2", {"mu": 0.7}, root=0, replicate=3)
    >>> data.X.shape, data.n_clusters, int(data.relevant.sum())
    ((60, 200), 3, 50)
    """
    if experiment not in EXPERIMENTS:
        raise ValueError(f"experiment={experiment!r} should be one of {list(EXPERIMENTS)}.")
    seed = replicate_seed(root, experiment, setting, replicate)
    return EXPERIMENTS[experiment](**setting, random_state=seed)
