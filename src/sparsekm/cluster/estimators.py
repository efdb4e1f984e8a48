"""The estimators: k-means, l-infinity/l0 sparse k-means, l2/l1 sparse k-means."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from sparsekm.cluster.alternation import alternate_everywhere, weigh_partition
from sparsekm.cluster.batches import check_batch, compare_batches
from sparsekm.cluster.kmeans.many_samples import label_samples, warn_of_coinciding
from sparsekm.cluster.matrices.containers import (
    Data,
    Seed,
    StreamedMatrix,
    VaryingFeatures,
    check_matrix,
    compute,
)
from sparsekm.cluster.matrices.matrix import FeatureMatrix, cluster_sizes, matrix_sums
from sparsekm.cluster.matrices.sparse_matrix import as_matrix
from sparsekm.cluster.memetic_search import search_path
from sparsekm.cluster.missing import imputes, label_observed
from sparsekm.cluster.partition_step import (
    SMALL_GAIN,
    STARTS,
    KMeansPartition,
    dense_if_few,
    propose_starts,
)
from sparsekm.cluster.path_estimator import PathEstimator, read_data, read_new, remember_features
from sparsekm.cluster.sparsity_path import Fit
from sparsekm.cluster.unequal_samples import (
    check_sample_weight,
    check_unequal,
    describe_weighted,
    fit_samples,
    with_weights,
)
from sparsekm.cluster.validation import check_choice, check_count, check_share, check_start
from sparsekm.cluster.weight_step import TopFeatures
from sparsekm.runtime.random_state import seed_sequence
from sparsekm.runtime.threads import count_threads


class BaseSparseKMeans(PathEstimator):
    """What the k-means estimators share: reading data, prediction, samples that count unequally."""

    def fit(
        self,
        X: Data,
        y: object = None,
        *,
        sample_weight: ArrayLike | None = None,
        batch: ArrayLike | None = None,
    ) -> Self:
        """Cluster the samples and weigh the features.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or StreamedMatrix
            CSR and CSC matrices are not made dense; float32 stays float32; arrays of dask are
            computed. Data are never rescaled: standardise first where units differ.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts: a sample of weight two as if it were given twice, one of
            weight 0 as if it were not given; it is labelled as `predict` does. Scores and
            objective are in proportion to the weights; nothing else depends on their scale.
        batch : array-like of shape (n_samples,), default=None
            The batch of each sample. What is learned is that of X as given; the answer of X centred
            within batches is set beside it: see `SparseKMeans.fit`.

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError
            If X is nothing that NumPy can read, such as an AnnData, holds NaN or infinity, has
            indices outside its shape, fewer distinct samples than clusters or constant features
            only; if a parameter is out of its range; if weights are negative, all 0, not one per
            sample, or given with a StreamedMatrix, `trim` or ``min_cluster_size > 1``; if `batch`
            is not one per sample, has a batch of one sample, or X is sparse or a StreamedMatrix.
        """
        X = compute(X)
        if batch is not None:
            check_batch(batch, X)
        if sample_weight is None:
            self._fit(X)
        else:
            self._fit_weighted(X, sample_weight)
        if batch is not None:
            compare_batches(self, X, batch, sample_weight=sample_weight)
        return self

    def _fit_weighted(self, X, sample_weight) -> None:
        if isinstance(X, StreamedMatrix):
            raise ValueError(
                "sample_weight should be None for a StreamedMatrix: give the array in memory."
            )
        values: Any = read_data(self, X)
        weights = check_sample_weight(sample_weight, values.shape[0])
        counts = weights > 0
        if self._start_labels() is not None and not counts.all():
            raise ValueError(
                "sample_weight of 0 and labels as init should not be combined: leave those out."
            )
        given = as_matrix(values if counts.all() else values[counts])
        self._fit(with_weights(given, weights[counts]))
        if not counts.all():
            everyone = np.empty(len(counts), np.int32)
            everyone[counts], everyone[~counts] = self.labels_, self.predict(values[~counts])
            self.labels_ = everyone
        remember_features(self, X)

    def predict(self, X: Data) -> np.ndarray:
        """Label samples by their nearest centre under the feature weights.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), int32
            On the training data these are `labels_`, except where `fit` warns of it, where
            ``min_cluster_size > 1`` keeps samples in a cluster whose centre is not the nearest,
            and for those that `trim` set aside.

        Raises
        ------
        sklearn.exceptions.NotFittedError, ValueError
            Before `fit`; if X is not as in `fit`, or holds infinity, or NaN that is not imputed.
        """
        check_is_fitted(self)
        values = read_new(self, X)
        support = self.feature_weights_ > 0
        of_kept = self._means[support], self._centred_centers[:, support].T
        label = label_observed if imputes(self) else label_samples
        return label(values, self.feature_weights_, *of_kept, count_threads(self.n_jobs))

    def _start_labels(self) -> np.ndarray | None:
        init = getattr(self, "init", None)
        return None if init is None or isinstance(init, str) else np.asarray(init)

    def _read(self, X) -> tuple[FeatureMatrix, VaryingFeatures]:
        matrix: Any = X if isinstance(X, FeatureMatrix) else as_matrix(read_data(self, X))
        features = VaryingFeatures.of_matrix(matrix)
        selected = dense_if_few(features.select(matrix))
        selected.sample_weight = matrix.sample_weight
        return selected, features

    def _prepare(self, matrix: FeatureMatrix) -> tuple[FeatureMatrix, KMeansPartition]:
        n_clusters = check_count("n_clusters", self.n_clusters)
        min_size = check_count("min_cluster_size", self.min_cluster_size)
        check_matrix(matrix, n_clusters, min_size)
        if not self._alike(matrix):
            check_unequal(matrix, self.trim, n_clusters, min_size)
        step = KMeansPartition(n_clusters, min_size, n_threads=count_threads(self.n_jobs))
        return matrix, replace(step, roughness=SMALL_GAIN)

    def _alike(self, matrix) -> bool:
        return matrix.sample_weight is None and check_share("trim", self.trim) == 0

    def _fit_path(
        self, matrix, partition, weight_steps, search, progress=None, objectives_only=False
    ) -> tuple[list[Fit], np.ndarray]:
        asked = weight_steps, search, progress or self._print_progress, objectives_only

        def fit_some(sample, rows):
            labels = self._start_labels()
            own = self if labels is None else clone(self).set_params(init=labels[rows])
            return own._fit_alike(sample, partition, *asked)

        if self._alike(matrix):
            return self._fit_alike(matrix, partition, *asked)
        own = self.trim, self._effort().n_init, self.random_state
        return fit_samples(matrix, partition, weight_steps, fit_some, *own)

    def _add_attributes(
        self, matrix: FeatureMatrix, features: VaryingFeatures, fit: Fit, search: str
    ) -> None:
        n_clusters, labels = int(self.n_clusters), fit.labels
        if labels.min() < 0:
            matrix, labels = matrix.take(np.flatnonzero(labels >= 0)), labels[labels >= 0]
        if matrix.sample_weight is None:
            sums = matrix_sums(matrix, labels, n_clusters, count_threads(self.n_jobs))
            centers = (sums / cluster_sizes(labels, n_clusters)).T
        else:
            centers = describe_weighted(matrix, labels, n_clusters)[0].T
        kept = fit.weights[features.varies] > 0
        warn_of_coinciding(centers[:, kept], matrix.dtype)
        self._means = features.put_back(matrix.means, features.constants)
        self._centred_centers = features.put_back(centers)
        self.cluster_centers_ = (self._centred_centers + self._means).astype(matrix.dtype)
        self.search_ = search


@dataclass(eq=False, repr=False)
class KMeans(BaseSparseKMeans):
    """Plain k-means with the attributes of its sparse relatives: every weight is one.

    Up to 2,048 samples it ends where no exchange of one sample gains (Hartigan & Wong 1979,
    doi:10.2307/2346830), beyond at a fixed point of Lloyd's iteration.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K.
    n_init : int, default=10
        Number of starts; the best result is kept.
    max_iter : int, default=10000
        Largest number of rounds of the final refinement; in a round every sample may move. A fit
        that they do not suffice for raises a ConvergenceWarning.
    tol : float, default=0
        A round that raises the objective by no more than this share is the last.
    min_cluster_size, random_state, n_jobs, verbose, trim, missing
        As in `L0KMeans`.

    Attributes
    ----------
    labels_, cluster_centers_, search_, n_features_in_, feature_names_in_
        As in `L0KMeans`.
    feature_weights_ : ndarray of shape (n_features,)
        One for every feature that varies, 0 for constant ones.
    feature_scores_ : ndarray of shape (n_features,)
        Between-cluster sum of squares a_j of every feature.
    objective_ : float
        The sum of the scores.
    n_iter_ : int
        Rounds of the final refinement.

    Examples
    --------
    >>> from sparsekm import KMeans
    >>> KMeans(2, random_state=0).fit([[0.0], [1.0], [10.0], [11.0]]).objective_
    100.0
    """

    n_clusters: int = 8
    _: KW_ONLY
    n_init: int = 10
    max_iter: int = 10_000
    tol: float = 0.0
    min_cluster_size: int = 1
    random_state: Seed = None
    n_jobs: int | None = None
    verbose: int = 0
    trim: float = 0.0
    missing: str = "error"

    def _grid(self, sparsities, features):
        return np.array([np.count_nonzero(features.varies)])

    def _weight_step(self, sparsity, features):
        return TopFeatures(np.count_nonzero(features.varies))

    def _prepare(self, matrix):
        matrix, partition = super()._prepare(matrix)
        effort = self._effort()
        return matrix, replace(partition, max_iter=effort.max_iter, tol=effort.tol)

    def _fit_alike(self, matrix, partition, weight_steps, search, progress, objectives_only):
        """Fit samples that all count alike."""
        seeds = seed_sequence(self.random_state)
        labels, rounds, converged = partition.run(matrix, self._effort().n_init, seeds)
        progress(1, 1)
        fit = weigh_partition(matrix, partition, *weight_steps, labels, rounds)
        return [replace(fit, converged=converged)], np.array([fit.objective])


@dataclass(eq=False, repr=False)
class _Penalised(BaseSparseKMeans):
    """The parameters of the two sparse estimators."""

    n_clusters: int = 8
    _: KW_ONLY
    sparsity: float | None = None
    search: str = "auto"
    init: str | ArrayLike | None = None
    n_init: int = 10
    max_iter: int = 20
    tol: float = 1e-4
    min_cluster_size: int = 1
    random_state: Seed = None
    n_jobs: int | None = None
    verbose: int = 0
    trim: float = 0.0
    missing: str = "error"
    feature_groups: ArrayLike | None = None

    def _resolve_search(self, matrix: FeatureMatrix) -> str:
        search = check_choice("search", self.search, ["auto", "alternate", "global"])
        start = check_start(self.init, matrix.n_samples, int(self.n_clusters), STARTS)
        auto = "global" if start is None else "alternate"
        return auto if search == "auto" else search

    def _fit_alike(self, matrix, partition, weight_steps, search, progress, objectives_only):
        effort, seeds = self._effort(), seed_sequence(self.random_state)
        init = check_start(self.init, matrix.n_samples, partition.n_clusters, STARTS)
        problem, starts = (matrix, partition.exact, weight_steps), None
        if init is not None:
            starts = propose_starts(*problem, init, effort.n_init, seeds)
        if search == "global":
            rng = np.random.default_rng(seeds.spawn(1)[0])
            proposed = [own[0] for own in starts or []]
            asked = proposed, progress, objectives_only
            return search_path(matrix, partition, weight_steps, effort, rng, *asked)
        n_restarts = effort.n_init if starts is None else 0
        generators = [np.random.default_rng(seed) for seed in seeds.spawn(n_restarts)]
        limits = {"max_iter": effort.max_iter, "tol": effort.tol, "progress": progress}
        fits = alternate_everywhere(*problem, starts=starts, generators=generators, **limits)
        return fits, np.array([fit.objective for fit in fits])


class L0KMeans(_Penalised):
    r"""Sparse k-means with the l-infinity/l0 penalty: keep the s best features, all alike.

    Maximises :math:`\sum_j w_j a_j` over partitions into K clusters and weights with
    :math:`{\|w\|}_\infty \le 1, {\|w\|}_0 \le s`, where :math:`a_j` is the between-cluster sum of
    squares of feature j (Chang, Wang, Li & Xu 2018, arXiv:1403.7890).

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K.
    sparsity : None, int or float, default=None
        Number of features to keep, 1 <= s <= n_features; a float above 1 is floored, a value in
        (0, 1) is a share of the features that vary, rounded to the nearest number of them, None
        keeps all that vary. 1.0 is refused, since it could mean either one feature or all. Ties go
        to the lowest index, and constant features come last.
    search : {"auto", "alternate", "global"}, default="auto"
        "alternate" is the paper's Algorithm 1, restarted as a whole; "global" searches for the
        optimum, beyond 4,096 samples first on 2,048 of them; "auto" is
        "global" without an `init`, else "alternate".
    init : None, str or array-like of shape (n_samples,), default=None
        Where to start. None leaves it to the search. Otherwise "alternate" and "auto" run
        Algorithm 1 from there and nothing else, without restarts; on a `path` at every sparsity,
        and then also from the results of the others where these are better. Labels are one start;
        "random" is `n_init` random partitions; "screened" is the best of `n_init` runs of k-means
        on the features that rank first by how far their own distributions are from a Gaussian
        (`sparsekm.cluster.screening`). With "global", the first start joins the search's own.
        Clusters below `min_cluster_size` are filled with the samples farthest from their centres.
    n_init : int, default=10
        Restarts of "alternate"; the effort of "global" in proportion.
    max_iter : int, default=20
        Rounds of one alternation, and the largest number of generations of "global". An
        alternation that they do not suffice for raises a ConvergenceWarning; labels and weights
        agree all the same.
    tol : float, default=1e-4
        Relative change of the weights below which an alternation has settled.
    min_cluster_size : int, default=1
        Smallest cluster allowed; 1 is the unguarded problem. With strongly correlated features a
        small sparsity can make the optimum a split of a few outliers: a guard prevents that.
    random_state : None, int, RandomState or Generator, default=None
        Controls the randomness. None draws fresh entropy, and never NumPy's global generator.
    n_jobs : int, default=None
        Threads; None and -1 are all cores that the process may use. Results do not depend on it.
    verbose : int, default=0
        Whether to print progress.
    trim : float, default=0
        Share of the samples, below 0.5, that is set aside as outliers: those farthest from their
        centres in the features kept. They have no part in centres, scores and weights.
    missing : {"error", "impute"}, default="error"
        What is done about NaN in X: "impute" fills it by what features have in common
        (`sparsekm.cluster.missing`). `predict` takes distances over what is observed.
    feature_groups : array-like of shape (n_features,), default=None
        Names or numbers of the groups of features that are kept or dropped as a whole, such as the
        probes of a gene or the levels of one category; `sparsity` then counts groups. A group
        counts as one feature, however many it holds: it is judged by the mean of its a_j, and its
        weight is shared equally by its features.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        -1 for samples that `trim` sets aside; `predict` labels these, too.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Cluster means over all features, in the units and the dtype of X.
    feature_weights_ : ndarray of shape (n_features,)
    feature_scores_ : ndarray of shape (n_features,)
        Between-cluster sum of squares a_j of every feature, half of the paper's defining sum.
    objective_ : float
        Sum of w_j a_j.
    n_iter_ : int
        Rounds, or generations, of the search.
    search_ : str
        The search that ran.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Where X has column names.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsekm import L0KMeans
    >>> X = np.array([[0.0, 5.0], [1.0, -5.0], [20.0, 5.0], [21.0, -5.0]])
    >>> L0KMeans(2, sparsity=1, random_state=0).fit(X).feature_weights_
    array([1., 0.])
    """

    penalty = "l0"


class L1KMeans(_Penalised):
    r"""Sparse k-means with the l2/l1 penalty of Witten & Tibshirani.

    Maximises :math:`\sum_j w_j a_j` over partitions into K clusters and nonnegative weights with
    :math:`{\|w\|}_2 \le 1, {\|w\|}_1 \le s`
    (Witten & Tibshirani 2010, doi:10.1198/jasa.2010.tm09415).

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K.
    sparsity : None or float, default=None
        Bound s >= 1 on the l1 norm of the weights; at or above the root of the number of features
        that vary, which is what None means, it does not bind. When m features tie at the top and
        s < sqrt(m), the weights are equal on the first floor(s^2) of them.
    search, init, n_init, max_iter, tol, min_cluster_size, random_state, n_jobs, verbose, trim, \
    missing, feature_groups
        As in `L0KMeans`.

    Attributes
    ----------
    labels_, cluster_centers_, feature_scores_, objective_, n_iter_, search_
        As in `L0KMeans`.
    feature_weights_ : ndarray of shape (n_features,)
        Of unit l2 norm.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsekm import L1KMeans
    >>> X = np.array([[0.0, 5.0], [1.0, -5.0], [20.0, 5.0], [21.0, -5.0]])
    >>> L1KMeans(2, sparsity=1, random_state=0).fit(X).feature_weights_
    array([1., 0.])
    """

    penalty = "l1"


ESTIMATORS = {estimator.penalty: estimator for estimator in (L0KMeans, L1KMeans)}
"""The estimators by their penalties."""
