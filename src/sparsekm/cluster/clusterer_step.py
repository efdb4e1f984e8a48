"""Other clusterings as partition steps: scikit-learn's clusterers, and steps of a user's own."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, clone

from sparsekm.cluster.matrices.scatter import Matrix, feature_scores
from sparsekm.cluster.partition_step import PartitionStep
from sparsekm.cluster.validation import check_count
from sparsekm.metrics.missing_values import mark_missing

# The parameters by which clusterers name a fixed number of clusters.
NUMBERS = ("n_clusters", "n_components")


@dataclass(frozen=True)
class ClustererPartition:
    """A scikit-learn clusterer, judged by the between-cluster sum of squares.

    Parameters
    ----------
    clusterer : estimator with `fit_predict`
        It is cloned; its `random_state`, where it has one, is drawn for every start.
    centred : Matrix
        The data, for the scores.
    """

    clusterer: BaseEstimator
    centred: Matrix

    def start(self, X: np.ndarray, weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Cluster the kept features, scaled so that the largest weight is one."""
        kept = np.flatnonzero(weights)
        scale = np.sqrt(weights[kept] / weights.max()).astype(X.dtype)
        clusterer = clone(self.clusterer)
        if is_random(clusterer):
            clusterer.set_params(random_state=int(rng.integers(2**31 - 1)))
        chosen = X[:, kept]
        scaled = chosen.multiply(scale).tocsr() if issparse(chosen) else chosen * scale
        return clusterer.fit_predict(scaled)

    def refine(self, X: np.ndarray, weights: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Return `labels`: a clusterer has no start but its own."""
        return labels

    def scores(self, X: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Return the scores a_j."""
        return feature_scores(self.centred, labels, int(labels.max()) + 1)


@dataclass(frozen=True)
class CheckedPartition:
    """A partition step whose answers are checked, and clusters numbered by first appearance.

    Parameters
    ----------
    step : PartitionStep
    n_clusters : int
        Largest number of clusters allowed.
    """

    step: PartitionStep
    n_clusters: int

    def start(self, X: np.ndarray, weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the step's labels."""
        return self._check_labels(X, self.step.start(X, weights, rng))

    def refine(self, X: np.ndarray, weights: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Return the step's labels."""
        return self._check_labels(X, self.step.refine(X, weights, labels.copy()))

    def scores(self, X: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Return the step's scores."""
        scores = np.asarray(mark_missing(self.step.scores(X, labels)), dtype=np.float64)
        if scores.shape != X.shape[1:] or not np.all(scores >= 0) or np.isinf(scores).any():
            raise ValueError(
                f"scores of {self._name} should be {X.shape[1]} finite numbers >= 0, one per "
                f"feature; their shape is {scores.shape}, the lowest {scores.min(initial=0.0)}."
            )
        return scores

    @property
    def _name(self) -> str:
        named = self.step.clusterer if isinstance(self.step, ClustererPartition) else self.step
        return repr(named)

    def _check_labels(self, X, labels: Any) -> np.ndarray:
        labels = np.asarray(mark_missing(labels))
        if labels.shape != X.shape[:1] or labels.dtype.kind not in "iu":
            raise ValueError(
                f"labels of {self._name} should be n_samples={X.shape[0]} integers; they are of "
                f"shape {labels.shape} and dtype {labels.dtype}."
            )
        n_noise = np.count_nonzero(labels < 0)
        if n_noise:
            raise ValueError(
                f"{self._name} left {n_noise} of n_samples={X.shape[0]} samples without a cluster "
                "(label < 0, noise); SparseClustering should have a partition: a cluster for "
                "every sample."
            )
        found, first, codes = np.unique(labels, return_index=True, return_inverse=True)
        if len(found) > self.n_clusters:
            raise ValueError(
                f"{self._name} found {len(found)} clusters; should be <= {self.n_clusters}."
            )
        return np.argsort(np.argsort(first))[codes].astype(np.int32)


def is_step(clusterer: Any) -> bool:
    """Return whether an object is a partition step."""
    methods = ("start", "refine", "scores")
    is_class = isinstance(clusterer, type)
    return not is_class and all(callable(getattr(clusterer, name, None)) for name in methods)


def is_random(clusterer: Any) -> bool:
    """Return whether restarts can differ: a step is given a generator, a clusterer a seed."""
    return is_step(clusterer) or "random_state" in clusterer.get_params()


def fixed_number_of_clusters(clusterer: Any) -> int:
    """Return the number of clusters that a scikit-learn clusterer is asked for.

    Raises
    ------
    TypeError
        If the object is neither a clusterer nor a partition step.
    ValueError
        If the clusterer has no fixed number of clusters.
    """
    usable = hasattr(clusterer, "fit_predict") and hasattr(clusterer, "get_params")
    if isinstance(clusterer, type) or not usable:
        raise TypeError(
            f"clusterer={clusterer!r} should be a scikit-learn clusterer (with fit_predict and "
            "get_params) or a partition step (with start, refine and scores)."
        )
    parameters = clusterer.get_params()
    for name in NUMBERS:
        if isinstance(parameters.get(name), Integral):
            return check_count(name, parameters[name])
    raise ValueError(
        f"clusterer={clusterer!r} should have a number as n_clusters (or n_components): between "
        "partitions into different numbers of clusters, the sum of squares prefers the more."
    )
