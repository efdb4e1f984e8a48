"""The samples on which many samples are tuned, and everything that belongs to some samples."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import clone

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


def take_samples(
    samples: np.ndarray | None,
    estimator: Any,
    X: np.ndarray | csr_array,
    *others: np.ndarray | None,
) -> tuple[Any, ...]:
    """Return the estimator, the data and `others`, each for some samples alone; None is all.

    Parameters of the estimator, nested ones too, that hold something for every sample are cut like
    the rows of `X`: labels to start from, or for every pair, a clusterer's connectivity. Labels may
    then lack a cluster: a start fills it.
    """
    if samples is None:
        return estimator, X, *others
    n_samples = X.shape[0]
    parameters = estimator.get_params().items()
    cut = {name: _cut(held, samples) for name, held in parameters if _length(held) == n_samples}
    return (
        clone(estimator).set_params(**cut),
        X[samples],
        *(None if other is None else other[samples] for other in others),
    )


def _length(held: Any) -> int | None:
    if isinstance(held, list | tuple):
        return len(held)
    return next(iter(getattr(held, "shape", ())), None)


def _cut(held: Any, samples: np.ndarray) -> Any:
    held = held.tocsr() if issparse(held) else np.asarray(held)
    is_square = held.shape == (held.shape[0],) * 2
    return held[samples][:, samples] if is_square else held[samples]
