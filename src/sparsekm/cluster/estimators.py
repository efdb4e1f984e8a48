"""The estimators: k-means, l-infinity/l0 sparse k-means, l2/l1 sparse k-means."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from sparsekm.cluster.alternation import alternate_everywhere, weigh_partition
from sparsekm.cluster.matrices.containers import Seed
from sparsekm.cluster.matrices.matrix import FeatureMatrix
from sparsekm.cluster.memetic_search import search_path
from sparsekm.cluster.partition_step import STARTS, propose_starts
from sparsekm.cluster.path_estimator import BaseSparseKMeans
from sparsekm.cluster.validation import check_choice, check_start
from sparsekm.cluster.weight_step import TopFeatures
from sparsekm.runtime.random_state import seed_sequence


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
        Largest number of rounds of the final refinement; in a round every sample may move.
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

    def _limits(self):
        effort = self._effort()
        return {"max_iter": effort.max_iter, "tol": effort.tol}

    def _fit_alike(self, matrix, partition, weight_steps, search, progress, objectives_only):
        """Fit samples that all count alike."""
        seeds = seed_sequence(self.random_state)
        labels, rounds, converged = partition.run(matrix, self._effort().n_init, seeds)
        progress(1, 1)
        fit = weigh_partition(matrix, partition, weight_steps[0], labels, rounds)
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
        starts, exact = None, partition.exact
        if init is not None:
            starts = propose_starts(matrix, exact, weight_steps, init, effort.n_init, seeds)
        if search == "global":
            rng = np.random.default_rng(seeds.spawn(1)[0])
            proposed = [own[0] for own in starts or []]
            return search_path(
                matrix,
                partition,
                weight_steps,
                effort,
                rng,
                proposed=proposed,
                progress=progress,
                objectives_only=objectives_only,
            )
        n_restarts = effort.n_init if starts is None else 0
        generators = [np.random.default_rng(seed) for seed in seeds.spawn(n_restarts)]
        fits = alternate_everywhere(
            matrix,
            exact,
            weight_steps,
            starts=starts,
            generators=generators,
            progress=progress,
            max_iter=effort.max_iter,
            tol=effort.tol,
        )
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
        (0, 1) is a share of the features that vary, None keeps all that vary. 1.0 is refused, since
        it could mean either one feature or all. Ties go to the lowest index.
    search : {"auto", "alternate", "global"}, default="auto"
        "alternate" is the paper's Algorithm 1, restarted as a whole; "global" searches for the
        optimum, beyond 4,096 samples first on 2,048 of them; "auto" is
        "global" without an `init`, else "alternate".
    init : None, str or array-like of shape (n_samples,), default=None
        Where to start. None leaves it to the search. Otherwise "alternate" and "auto" run
        Algorithm 1 from there and nothing else, without restarts. Labels are one start; "random" is
        `n_init` random partitions; "screened" is the best of `n_init` runs of k-means on the
        features that rank first by how far their own distributions are from a Gaussian
        (`sparsekm.cluster.screening`). With "global", the first start joins the search's own.
    n_init : int, default=10
        Restarts of "alternate"; the effort of "global" in proportion.
    max_iter : int, default=20
        Rounds of one alternation, and the largest number of generations of "global". Where they do
        not suffice, there is a ConvergenceWarning; labels and weights agree all the same.
    tol : float, default=1e-4
        Relative change of the weights below which an alternation has settled.
    min_cluster_size : int, default=1
        Smallest cluster allowed. With strongly correlated features a small sparsity can make the
        optimum a split of a few outliers: a guard prevents that.
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
        (`sparsekm.cluster.reading`). `predict` takes distances over what is observed.
    feature_groups : array-like of shape (n_features,), default=None
        Names or numbers of the groups of features that are kept or dropped as a whole, such as the
        levels of one category; `sparsity` then counts groups. A group counts as one feature: it is
        judged by the mean of its a_j, and its weight is shared equally by its features.

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
    search, init, n_init, max_iter, tol, min_cluster_size, random_state, n_jobs, verbose
        As in `L0KMeans`.
    trim, missing, feature_groups
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
