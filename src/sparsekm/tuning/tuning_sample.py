"""The samples on which many samples are tuned."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sparsekm.cluster.validation import check_count
from sparsekm.runtime.random_state import draw_samples


def fewest_samples(estimator: Any) -> int:
    """Return how few samples an estimator can cluster."""
    parameters = estimator.get_params()
    names = ("n_clusters", "min_cluster_size")
    return math.prod(check_count(name, parameters.get(name, 1)) for name in names)


def tuning_sample(
    n_samples: int, max_samples: int | None, seed: int, fewest: int = 1
) -> np.ndarray | None:
    """Draw the samples on which a sparsity is tuned, ascending.

    They depend on the seed and the numbers alone, so that every job and every method has the same.
    None stands for all: there are no more than `max_samples`, or that is None. `fewest` is what
    `fewest_samples` returns; a smaller sample is refused.
    """
    if max_samples is None or n_samples <= check_count("max_samples", max_samples):
        return None
    if max_samples < fewest:
        raise ValueError(
            f"max_samples={max_samples} should be >= n_clusters * min_cluster_size={fewest}."
        )
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0, 8)))
    return draw_samples(n_samples, int(max_samples), rng)
