"""Sparse clustering over any clusterer: the paper's generic framework as an estimator."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils import get_tags

from sparsekm.cluster.alternation import alternate_everywhere
from sparsekm.cluster.batches import check_batch, compare_batches
from sparsekm.cluster.estimator_input import read_data
from sparsekm.cluster.matrices.inputs import Seed, compute
from sparsekm.cluster.matrices.matrix import CentredMatrix, FeatureMatrix, feature_scores
from sparsekm.cluster.matrices.sparse_matrix import SparseMatrix, as_matrix, cluster_centers
from sparsekm.cluster.matrices.streamed_matrix import Data
from sparsekm.cluster.matrices.varying_features import VaryingFeatures, check_matrix
from sparsekm.cluster.path_estimator import PathEstimator
from sparsekm.cluster.sparsity_path import Fit
from sparsekm.cluster.validation import check_count
from sparsekm.metrics import label_codes, mark_missing
from sparsekm.runtime.random_state import seed_sequence

# The parameters by which clusterers name a fixed number of clusters.
NUMBERS = ("n_clusters", "n_components")


@dataclass(frozen=True)
class ClustererPartition:
    """A clusterer as a partition step; its results are checked.

    A scikit-learn clusterer is judged by the between-cluster sum of squares of `centred`.
    """

    clusterer: Any  # a partition step may be given, too
    centred: FeatureMatrix
    n_clusters: int  # largest number allowed

    def start(self, X: np.ndarray, weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Cluster the kept features, scaled so that the largest weight is 1."""
        if is_step(self.clusterer):
            return self._check_labels(X, self.clusterer.start(X, weights, rng))
        kept = np.flatnonzero(weights)
        scale = np.sqrt(weights[kept] / weights.max()).astype(X.dtype)
        clusterer = clone(self.clusterer)
        if is_random(clusterer):
            clusterer.set_params(random_state=int(rng.integers(2**31 - 1)))
        chosen: Any = X[:, kept]
        scaled = chosen.multiply(scale).tocsr() if issparse(chosen) else chosen * scale
        return self._check_labels(X, clusterer.fit_predict(scaled))

    def refine(self, X: np.ndarray, weights: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Return the step's labels; a clusterer cannot start from labels."""
        if not is_step(self.clusterer):
            return labels
        return self._check_labels(X, self.clusterer.refine(X, weights, labels.copy()))

    def scores(self, X: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Return the step's scores, or the scores a_j."""
        if not is_step(self.clusterer):
            return feature_scores(self.centred, labels, int(labels.max()) + 1)
        scores = np.asarray(mark_missing(self.clusterer.scores(X, labels)), dtype=np.float64)
        if scores.shape != X.shape[1:] or not np.all(scores >= 0) or np.isinf(scores).any():
            raise ValueError(
                f"scores of {self.clusterer!r} should be {X.shape[1]} finite numbers >= 0, one per "
                f"feature; their shape is {scores.shape}, the lowest {scores.min(initial=0.0)}."
            )
        return scores

    def _check_labels(self, X, labels: Any) -> np.ndarray:
        labels = np.asarray(mark_missing(labels))
        if labels.shape != X.shape[:1] or labels.dtype.kind not in "iu":
            raise ValueError(
                f"labels of {self.clusterer!r} should be n_samples={X.shape[0]} integers; they are "
                f"of shape {labels.shape} and dtype {labels.dtype}."
            )
        n_noise = np.count_nonzero(labels < 0)
        if n_noise:
            raise ValueError(
                f"{self.clusterer!r} left {n_noise} of n_samples={X.shape[0]} samples without a "
                "cluster (label < 0, noise); SparseClustering requires a cluster for every "
                "sample."
            )
        # Clusters are numbered by first appearance.
        codes = label_codes(labels, "labels").astype(np.int32)
        n_found = int(codes.max()) + 1
        if n_found > self.n_clusters:
            raise ValueError(
                f"{self.clusterer!r} found {n_found} clusters; should be <= {self.n_clusters}."
            )
        return codes


def is_step(clusterer: Any) -> bool:
    """Return whether an object is a partition step."""
    methods = ("start", "refine", "scores")
    is_class = isinstance(clusterer, type)
    return not is_class and all(callable(getattr(clusterer, name, None)) for name in methods)


def is_random(clusterer: Any) -> bool:
    """Return whether restarts can differ: a step gets a generator, a clusterer gets a seed."""
    return is_step(clusterer) or "random_state" in clusterer.get_params()


def fixed_number_of_clusters(clusterer: Any) -> int:
    """Return the number of clusters that is set in a clusterer; refuse a clusterer without one."""
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
        f"clusterer={clusterer!r} should have a number as n_clusters (or n_components): otherwise "
        "the sum of squares always prefers the partition with the most clusters."
    )


@dataclass(eq=False, repr=False)
class SparseClustering(MetaEstimatorMixin, PathEstimator):
    r"""Cluster with any clusterer, and keep the features that make its clusters.

    This is the generic framework of Chang, Wang, Li & Xu (2018, arXiv:1403.7890). The samples are
    clustered, and the features are weighed by their contributions to the clusters. Both steps are
    repeated with the weighted features until the weights settle. The contribution of a feature is
    its between-cluster sum of squares :math:`a_j`, and :math:`\sum_j w_j a_j` is the objective.

    Parameters
    ----------
    clusterer : estimator or partition step
        A scikit-learn clusterer with a fixed number of clusters that assigns every sample to a
        cluster. It is fitted to the kept columns of X, each multiplied by the square root of its
        weight. Weights are scaled so that the largest is 1. If the criterion of a clustering is a
        sum over features, you can give a partition step instead: an object with the methods
        `start`, `refine` and `scores` of `sparsekm.cluster.partition_step.PartitionStep`. Constant
        features are removed first. A sparse X is passed as a csr_array.
    penalty : {"l0", "l1"}, default="l0"
        The penalty of `L0KMeans` or of `L1KMeans`.
    sparsity : None, int or float, default=None
        With "l0", the number of features to keep or, in (0, 1), a share of the features that vary.
        With "l1", the bound s >= 1 on the l1 norm of the weights. None keeps all features.
    n_init : int, default=10
        Number of runs of the whole algorithm that start from a clustering by all features (one run
        if the clusterer has no `random_state`). In addition, ``n_init - 1`` runs start from
        clusterings by few features. The best result is kept.
    max_iter : int, default=20
        Largest number of rounds of one run. If the `refine` of a partition step still moves samples
        in the last round, there is a ConvergenceWarning.
    tol : float, default=1e-4
        A run stops when the weights change by less than this share.
    random_state : None, int, RandomState or Generator, default=None
        Controls the randomness, including that of the clusterer, whose own `random_state` is not
        used. None draws fresh entropy; NumPy's global generator is never used.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        Cluster of each sample.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Means of the clusters in all features, in the units and the dtype of X.
    feature_weights_ : ndarray of shape (n_features,)
        Weight of each feature; 0 for a feature that is dropped.
    feature_scores_ : ndarray of shape (n_features,)
        Contribution of each feature to the clusters.
    objective_ : float
        Sum of weight times score.
    objectives_ : list of float
        The objective after every weight step of the run that was kept; it never falls. If the
        method `adopt` set the attributes, only the last objective.
    n_iter_ : int
        Rounds of the run that was kept.
    search_ : str
        The search that ran: "alternate".
    n_features_in_ : int
        Number of features in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the columns of X had names.

    Notes
    -----
    A new partition replaces the old one only if its between-cluster sum of squares, under the
    current weights, is larger. If a clusterer maximises something else, as a Gaussian mixture does,
    the framework is a heuristic.

    There is no `predict`, because most clusterers cannot label new samples. Features are never
    rescaled: standardise them first if they have different units.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.cluster import AgglomerativeClustering
    >>> from sparsekm import SparseClustering
    >>> X = np.array([[0.0, 0.0], [3.0, 8.0], [10.0, 8.0], [13.0, 1.0]])
    >>> AgglomerativeClustering(2).fit_predict(X)
    array([1, 0, 0, 0])
    >>> found = SparseClustering(AgglomerativeClustering(2), sparsity=1).fit(X)
    >>> found.labels_, found.feature_weights_
    (array([0, 0, 1, 1], dtype=int32), array([1., 0.]))
    """

    clusterer: Any
    _: KW_ONLY
    penalty: str = "l0"
    sparsity: float | None = None
    n_init: int = 10
    max_iter: int = 20
    tol: float = 1e-4
    random_state: Seed = None

    def fit(self, X: Data, y: object = None, *, batch: ArrayLike | None = None) -> Self:
        """Cluster the samples and weigh the features.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data to cluster. They are never rescaled: standardise first if units differ.
        y : None
            Ignored.
        batch : array-like of shape (n_samples,), default=None
            The batch of each sample. The attributes describe the fit to X as given; a second fit to
            X centred within batches is stored as `batch_centred_`, see `SparseKMeans.fit`.

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError
            If NumPy cannot read X (an AnnData, for example); if X contains NaN or infinity, has
            indices outside its shape, fewer distinct samples than clusters, or only constant
            features; if a parameter is out of its range; if there is not one batch per sample, a
            batch has only one sample, or batches are combined with a sparse X; if `clusterer` is
            not a clusterer, has no fixed number of clusters, or does not return this number.
        """
        X = compute(X)
        if batch is not None:
            check_batch(batch, X)
        self._fit(X)
        if batch is not None:
            compare_batches(self, X, batch)
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        known = hasattr(self.clusterer, "__sklearn_tags__")
        tags.input_tags.sparse = not known or get_tags(self.clusterer).input_tags.sparse
        return tags

    def _read(self, X) -> tuple[Any, VaryingFeatures, ClustererPartition]:
        centred: FeatureMatrix
        if isinstance(X, CentredMatrix):
            # References of a gap are centred already, and the clusterer sees them in the units of
            # the data.
            values, centred = (X.columns.T + X.means).astype(X.dtype), X
        elif isinstance(X, SparseMatrix):
            values, centred = X.block.rows, X
        else:
            values = read_data(self, X)
            centred = as_matrix(values)
        features = VaryingFeatures.of_matrix(centred)
        values, centred = features.select(values), features.select(centred)
        step = is_step(self.clusterer)
        n_clusters = 1 if step else fixed_number_of_clusters(self.clusterer)
        check_matrix(centred, n_clusters, 1)
        most = values.shape[0] if step else n_clusters
        return values, features, ClustererPartition(self.clusterer, centred, most)

    def _fit_path(self, values, partition, weight_steps, search, progress, objectives_only):
        effort = self._effort()
        n_init = effort.n_init if is_random(self.clusterer) else 1
        seeds = seed_sequence(self.random_state).spawn(n_init)
        generators = [np.random.default_rng(seed) for seed in seeds]
        limits = {"max_iter": effort.max_iter, "tol": effort.tol, "n_fresh": effort.n_init - 1}
        problem = values, partition, weight_steps
        fits = alternate_everywhere(*problem, generators, progress, **limits)
        return fits, np.array([fit.objective for fit in fits])

    def _add_attributes(self, values, features: VaryingFeatures, fit: Fit, search: str) -> None:
        centers = cluster_centers(values, fit.labels, int(fit.labels.max()) + 1)
        centers = features.put_back(centers, features.constants)
        self.cluster_centers_ = centers.astype(values.dtype)
        self.objectives_ = fit.objectives or [fit.objective]
