"""The estimators: k-means, l-infinity/l0 sparse k-means, l2/l1 sparse k-means."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from sparsekm.cluster.alternation import alternate_everywhere, weigh_partition
from sparsekm.cluster.matrices.inputs import Seed
from sparsekm.cluster.matrices.matrix import FeatureMatrix
from sparsekm.cluster.memetic_search import search_path
from sparsekm.cluster.partition_step import STARTS, propose_starts
from sparsekm.cluster.path_estimator import BaseSparseKMeans
from sparsekm.cluster.validation import check_choice, check_start
from sparsekm.runtime.random_state import seed_sequence


@dataclass(eq=False, repr=False)
class KMeans(BaseSparseKMeans):
    """Plain k-means with the attributes of the sparse estimators; features that vary have weight 1.

    Up to 2,048 samples, it stops when moving a single sample to another cluster cannot raise the
    objective (Hartigan & Wong 1979, doi:10.2307/2346830). For more samples, it stops at a fixed
    point of Lloyd's iteration.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K.
    n_init : int, default=10
        Number of starts. The best result is kept.
    max_iter : int, default=10000
        Largest number of rounds of refining the best start. In each round, every sample may move.
    tol : float, default=0
        The refinement stops after a round that raises the objective by no more than this share.
    min_cluster_size : int, default=1
        Smallest number of samples that a cluster may have.
    random_state : None, int, RandomState or Generator, default=None
        Controls the randomness. None draws fresh entropy; NumPy's global generator is never used.
    n_jobs : int, default=None
        Number of threads, which does not change results. None and -1 use all cores that the process
        may use.
    verbose : int, default=0
        If positive, progress is printed.
    trim : float, default=0
        Share of the samples, below 0.5, to set aside as outliers: the samples farthest from their
        centres in the features kept. They are not used for centres, scores and weights.
    missing : {"error", "impute"}, default="error"
        How NaN in X is treated. "impute" fills missing values by a low-rank approximation of X;
        `predict` then measures distances over the observed values.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        Cluster of each sample; -1 for a sample that `trim` sets aside, which `predict` still
        labels.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Means of the clusters in all features, in the units and the dtype of X.
    feature_weights_ : ndarray of shape (n_features,)
        1 for every feature that varies, 0 for a constant feature.
    feature_scores_ : ndarray of shape (n_features,)
        Between-cluster sum of squares a_j of each feature.
    objective_ : float
        Sum of the scores.
    n_iter_ : int
        Rounds of the final refinement.
    search_ : str
        The search that ran: "alternate".
    n_features_in_ : int
        Number of features in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the columns of X had names.

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

    # Without a sparsity, all features that vary have the weight 1.
    penalty = "l0"

    def _grid(self, sparsities, features):
        return np.array([np.count_nonzero(features.varies)])

    def _read(self, X):
        matrix, features, partition = super()._read(X)
        _, max_iter, tol = self._effort()
        return matrix, features, replace(partition, max_iter=max_iter, tol=tol)

    def _fit_alike(self, problem, init, search, progress, objectives_only):
        matrix, partition, (weight_step,) = problem
        seeds = seed_sequence(self.random_state)
        labels, rounds, converged = partition.run(matrix, self._effort().n_init, seeds)
        progress(1, 1)
        fit = weigh_partition(matrix, partition, weight_step, labels, rounds)
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

    def _fit_alike(self, problem, init, search, progress, objectives_only):
        effort, seeds = self._effort(), seed_sequence(self.random_state)
        matrix, partition, weight_steps = problem
        exact = matrix, partition.exact, weight_steps
        init = check_start(init, matrix.n_samples, partition.n_clusters, STARTS)
        starts = None if init is None else propose_starts(*exact, init, effort.n_init, seeds)
        if search == "global":
            rng = np.random.default_rng(seeds.spawn(1)[0])
            proposed = [own[0] for own in starts or []]
            return search_path(*problem, effort, rng, progress, proposed, objectives_only)
        n_restarts = effort.n_init if starts is None else 0
        generators = [np.random.default_rng(seed) for seed in seeds.spawn(n_restarts)]
        limits = {"max_iter": effort.max_iter, "tol": effort.tol}
        fits = alternate_everywhere(*exact, generators, progress, starts=starts, **limits)
        return fits, np.array([fit.objective for fit in fits])


class L0KMeans(_Penalised):
    r"""Sparse k-means with the l-infinity/l0 penalty: keep the s best features with equal weights.

    Maximises :math:`\sum_j w_j a_j` over partitions into K clusters and weights with
    :math:`{\|w\|}_\infty \le 1, {\|w\|}_0 \le s`, where :math:`a_j` is the between-cluster sum of
    squares of feature j (Chang, Wang, Li & Xu 2018, arXiv:1403.7890).

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K.
    sparsity : None, int or float, default=None
        Number of features to keep, 1 <= s <= n_features. A float above 1 is rounded down; a value
        in (0, 1) is a share of the features that vary; None keeps all features that vary. 1.0 is
        refused, because it could mean either one feature or all (`path` reads it as one). If
        features tie, the one with the lowest index is kept.
    search : {"auto", "alternate", "global"}, default="auto"
        "alternate" runs Algorithm 1 of Chang et al. `n_init` times and keeps the best fit. "global"
        searches for the optimum; beyond 4,096 samples it begins with 2,048 of them. "auto" is
        "global" without `init`, and "alternate" with it.
    init : None, str or array-like of shape (n_samples,), default=None
        Where to start. None leaves the start to the search. An array of labels is one start;
        "random" is `n_init` random partitions; "screened" is the best of `n_init` runs of k-means
        on the features whose distributions are farthest from a Gaussian
        (`sparsekm.cluster.screening`).
        "alternate" and "auto" run Algorithm 1 once from each of these starts; "global" adds the
        first of them to the starts that it makes itself.
    n_init : int, default=10
        Number of restarts of "alternate". The effort of "global" is proportional to this number.
    max_iter : int, default=20
        With "alternate", the largest number of rounds of each restart; with "global", the largest
        number of generations of an evolutionary search. If they do not suffice, there is a
        ConvergenceWarning; labels and weights still agree with each other.
    tol : float, default=1e-4
        An alternation stops when the weights change by less than this share.
    min_cluster_size : int, default=1
        Smallest number of samples that a cluster may have. If features are strongly correlated and
        few are kept, the optimum can split off a few outliers; a larger value prevents this.
    random_state : None, int, RandomState or Generator, default=None
        Controls the randomness. None draws fresh entropy; NumPy's global generator is never used.
    n_jobs : int, default=None
        Number of threads, which does not change results. None and -1 use all cores that the process
        may use.
    verbose : int, default=0
        If positive, progress is printed.
    trim : float, default=0
        Share of the samples, below 0.5, to set aside as outliers: the samples farthest from their
        centres in the features kept. They are not used for centres, scores and weights.
    missing : {"error", "impute"}, default="error"
        How NaN in X is treated. "impute" fills missing values by a low-rank approximation of X;
        `predict` then measures distances over the observed values.
    feature_groups : array-like of shape (n_features,), default=None
        Names or numbers of groups of features that are kept or dropped as a whole, such as the
        levels of one category. `sparsity` then counts groups. A group counts as one feature: it is
        judged by the mean of its a_j, and its features share its weight equally.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        Cluster of each sample; -1 for a sample that `trim` sets aside, which `predict` still
        labels.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Means of the clusters in all features, in the units and the dtype of X.
    feature_weights_ : ndarray of shape (n_features,)
        1 for a feature that is kept, 0 for a feature that is dropped.
    feature_scores_ : ndarray of shape (n_features,)
        Between-cluster sum of squares a_j of each feature, which is half of the sum in Chang et al.
    objective_ : float
        Sum of w_j a_j.
    n_iter_ : int
        Rounds, or generations, of the search.
    search_ : str
        The search that ran, "alternate" or "global".
    n_features_in_ : int
        Number of features in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the columns of X had names.

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
    :math:`{\|w\|}_2 \le 1, {\|w\|}_1 \le s`, where :math:`a_j` is the between-cluster sum of
    squares of feature j (Witten & Tibshirani 2010, doi:10.1198/jasa.2010.tm09415). The search is
    that of Chang et al. (see `L0KMeans`).

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K.
    sparsity : None or float, default=None
        Bound s >= 1 on the l1 norm of the weights. None stands for the square root of the number of
        features that vary. A bound of this size or larger has no effect. If m features tie for the
        largest score and s < sqrt(m), the first floor(s^2) of them have equal weights and all other
        features have weight 0.
    search : {"auto", "alternate", "global"}, default="auto"
        "alternate" runs Algorithm 1 of Chang et al. `n_init` times and keeps the best fit. "global"
        searches for the optimum; beyond 4,096 samples it begins with 2,048 of them. "auto" is
        "global" without `init`, and "alternate" with it.
    init : None, str or array-like of shape (n_samples,), default=None
        Where to start. None leaves the start to the search. An array of labels is one start;
        "random" is `n_init` random partitions; "screened" is the best of `n_init` runs of k-means
        on the features whose distributions are farthest from a Gaussian
        (`sparsekm.cluster.screening`).
        "alternate" and "auto" run Algorithm 1 once from each of these starts; "global" adds the
        first of them to the starts that it makes itself.
    n_init : int, default=10
        Number of restarts of "alternate". The effort of "global" is proportional to this number.
    max_iter : int, default=20
        With "alternate", the largest number of rounds of each restart; with "global", the largest
        number of generations of an evolutionary search. If they do not suffice, there is a
        ConvergenceWarning; labels and weights still agree with each other.
    tol : float, default=1e-4
        An alternation stops when the weights change by less than this share.
    min_cluster_size : int, default=1
        Smallest number of samples that a cluster may have. If features are strongly correlated and
        few are kept, the optimum can split off a few outliers; a larger value prevents this.
    random_state : None, int, RandomState or Generator, default=None
        Controls the randomness. None draws fresh entropy; NumPy's global generator is never used.
    n_jobs : int, default=None
        Number of threads, which does not change results. None and -1 use all cores that the process
        may use.
    verbose : int, default=0
        If positive, progress is printed.
    trim : float, default=0
        Share of the samples, below 0.5, to set aside as outliers: the samples farthest from their
        centres in the features kept. They are not used for centres, scores and weights.
    missing : {"error", "impute"}, default="error"
        How NaN in X is treated. "impute" fills missing values by a low-rank approximation of X;
        `predict` then measures distances over the observed values.
    feature_groups : array-like of shape (n_features,), default=None
        Names or numbers of groups of features that are kept or dropped as a whole, such as the
        levels of one category. `sparsity` then counts groups. A group counts as one feature: it is
        judged by the mean of its a_j, and its features share its weight equally.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        Cluster of each sample; -1 for a sample that `trim` sets aside, which `predict` still
        labels.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Means of the clusters in all features, in the units and the dtype of X.
    feature_weights_ : ndarray of shape (n_features,)
        Nonnegative weights of unit l2 norm; 0 for a feature that is dropped.
    feature_scores_ : ndarray of shape (n_features,)
        Between-cluster sum of squares a_j of each feature.
    objective_ : float
        Sum of w_j a_j.
    n_iter_ : int
        Rounds, or generations, of the search.
    search_ : str
        The search that ran, "alternate" or "global".
    n_features_in_ : int
        Number of features in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the columns of X had names.

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
