"""Sparse k-means that decides start, search and sparsity from the data alone."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from sparsekm.cluster.estimators import L0KMeans, L1KMeans
from sparsekm.cluster.matrices.containers import Data, Seed, compute
from sparsekm.cluster.matrices.varying_features import VaryingFeatures
from sparsekm.cluster.path_estimator import FeatureSelector, read_varying, remember_features
from sparsekm.cluster.validation import (
    check_choice,
    check_count,
    check_searchable,
    check_sparsity,
)
from sparsekm.runtime.random_state import check_random_state, seed_sequence
from sparsekm.runtime.threads import count_threads, grant_threads
from sparsekm.tuning.conclusion import Conclusion, conclude
from sparsekm.tuning.consensus import coassociation
from sparsekm.tuning.resampled_paths import consensus_sparsities, resample_all
from sparsekm.tuning.sample_blocks import check_groups
from sparsekm.tuning.tuning_sample import fewest_samples, take_samples, tuning_sample

ESTIMATORS = {"l0": L0KMeans, "l1": L1KMeans}
N_RESAMPLINGS = 20
# The co-association of all pairs is only handed out up to so many samples: 200 MB.
MOST_PAIRED = 5000


class SparseKMeans(FeatureSelector, ClusterMixin, BaseEstimator):
    """Sparse k-means that chooses start, search and number of features from the data.

    Paths are fitted to resamplings of samples and features from several kinds of start. The
    partition that agrees most with them is the consensus. Algorithm 1 from the consensus gives the
    fit, an ordinary l0 or l1 fit with its features. Class labels are never used.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K, at least 2.
    penalty : {"l0", "l1"}, default="l0"
        As in `L0KMeans` or `L1KMeans`.
    sparsity : "auto", int or float, default="auto"
        A number, as in `L0KMeans` or `L1KMeans`, is used as it is; start and search are still
        chosen. Constant features have no part: more features than vary are those that vary.
    min_cluster_size : int, default=1
        Smallest cluster allowed.
    max_samples : int, default=None
        If there are more samples, this many are drawn at random and resampled to choose the start
        and the number of features. Algorithm 1 from their clusters then fits all samples. None uses
        all.
    random_state : None, int, RandomState or Generator, default=None
        Controls the randomness. Each resampling depends only on (seed, index). None draws fresh
        entropy, and never NumPy's global generator.
    n_jobs : int, default=None
        Threads; None and -1 are all cores that the process may use. Results do not depend on it.
        Resamplings are fitted in parallel, like the references of `GapSearch`.
    verbose : int, default=0
        Whether to print progress.

    Attributes
    ----------
    labels_, cluster_centers_, feature_weights_, feature_scores_, objective_, n_iter_, search_
        As in `L0KMeans`.
    sparsity_ : int or float
    search_results_ : pandas.DataFrame
        A row per fit tried: sparsity, n_selected, objective, agreement (mean adjusted Rand index
        with the resampled fits), agreement_se, admissible (agrees as well as the best, up to two
        standard errors) and chosen.
    conclusion_ : str
        One sentence on how the fit was chosen and how reliable it is.
    has_clusters_ : bool
        Whether there is evidence of clusters.
    coassociation_ : ndarray of shape (n_samples, n_samples) or None
        Share of the resampled fits in which two samples are in the same cluster; None beyond 5,000
        samples, and if samples were drawn.
    sample_confidence_ : ndarray of shape (n_samples,)
        Share of the resampled fits that put a sample into its cluster; NaN for samples that were
        not drawn.
    selection_frequency_ : ndarray of shape (n_features,)
        Share of the resamplings with a feature that keep it, at the sparsity nearest to
        `sparsity_`.
    best_estimator_ : L0KMeans or L1KMeans
        The chosen fit.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Where X has column names.

    See Also
    --------
    GapSearch : The paper's choice of the sparsity, for independent features.

    Notes
    -----
    Features are never rescaled: standardise first if they have different units. Neither this method
    nor any other can distinguish batches from clusters.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsekm import SparseKMeans
    >>> X = np.random.default_rng(13).normal(size=(60, 100))
    >>> X[:20, :10] += 3
    >>> X[20:40, :10] -= 3
    >>> found = SparseKMeans(n_clusters=3, random_state=0).fit(X)
    >>> found.get_support(indices=True)
    array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        penalty: str = "l0",
        sparsity: float | str = "auto",
        min_cluster_size: int = 1,
        max_samples: int | None = None,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.penalty = penalty
        self.sparsity = sparsity
        self.min_cluster_size = min_cluster_size
        self.max_samples = max_samples
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Data, y: object = None, *, groups: ArrayLike | None = None) -> Self:
        """Resample, find the consensus and fit from it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : None
            Ignored.
        groups : array-like of shape (n_samples,), default=None
            Samples of one group resemble each other, such as those of a donor or a block of space:
            resamplings take or leave them as a whole.

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError
            As `L0KMeans.fit`, and if there are fewer than two clusters, for which nothing can be
            chosen. Everything that is refused is refused before anything is fitted.
        """
        estimator = self.make_estimator()
        # A number, which make_estimator drew.
        seed: Any = estimator.random_state
        given = compute(X)
        X, features = read_varying(self, given)
        blocks = check_groups(groups, X.shape[0])
        number = None
        if not isinstance(self.sparsity, str):
            counts = features.n_features, features.n_constant
            number = check_sparsity(self.penalty, self.sparsity, *counts)
            number = min(number, X.shape[1]) if self.penalty == "l0" else number
        sparsities = consensus_sparsities(self.penalty, X.shape[1])
        samples = tuning_sample(X.shape[0], self.max_samples, seed, fewest_samples(estimator))
        _, drawn, blocks = take_samples(samples, estimator, X, blocks)
        estimator.check(drawn, searched=True)
        resamplings = resample_all(
            estimator,
            drawn,
            sparsities,
            range(N_RESAMPLINGS),
            seed=seed,
            blocks=blocks,
            progress=self._tell,
        )
        with grant_threads(self.n_jobs):
            found = conclude(
                estimator,
                drawn,
                sparsities,
                resamplings,
                seed=seed,
                sparsity=number,
                blocks=blocks,
            )
            if samples is not None:
                found = found.extend(estimator, X, samples)
        remember_features(self, given)
        return self._learn(estimator, given, features, found)

    def check_parameters(self) -> None:
        """Refuse parameters that `fit` would refuse with any data.

        Raises
        ------
        TypeError, ValueError
            If a parameter is of a wrong type or out of its range.
        """
        check_searchable(check_count("n_clusters", self.n_clusters))
        check_count("min_cluster_size", self.min_cluster_size)
        check_choice("penalty", self.penalty, ESTIMATORS)
        if self.sparsity is None or (isinstance(self.sparsity, str) and self.sparsity != "auto"):
            raise ValueError(f"sparsity={self.sparsity!r} should be 'auto' or a number.")
        if self.max_samples is not None:
            check_count("max_samples", self.max_samples)
        check_random_state(self.random_state)
        count_threads(self.n_jobs)

    def predict(self, X: Data) -> np.ndarray:
        """Label samples by their nearest centre under the feature weights.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), int32
        """
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    def make_estimator(self) -> L0KMeans | L1KMeans:
        """Make the estimator whose fits are resampled; its random state seeds the resamplings."""
        self.check_parameters()
        seed = int(seed_sequence(self.random_state).generate_state(1)[0])
        return ESTIMATORS[self.penalty](
            int(self.n_clusters),
            min_cluster_size=int(self.min_cluster_size),
            random_state=seed,
            n_jobs=self.n_jobs,
        )

    def _tell(self, done: int, total: int) -> None:
        if self.verbose:
            print(f"SparseKMeans: {done} of {total} resamplings done", flush=True)  # noqa: T201 (asked for by `verbose`)

    def _learn(self, estimator, X, features: VaryingFeatures, found: Conclusion):
        sparsity = found.fit.sparsities[0]
        self.sparsity_ = int(sparsity) if self.penalty == "l0" else float(sparsity)
        self.best_estimator_ = estimator.set_params(sparsity=self.sparsity_)
        self.best_estimator_.adopt(X, found.fit.put_back(features), 0)
        for name in ("labels_", "cluster_centers_", "feature_weights_", "feature_scores_"):
            setattr(self, name, getattr(self.best_estimator_, name))
        for name in ("objective_", "n_iter_", "search_"):
            setattr(self, name, getattr(self.best_estimator_, name))
        partitions = found.consensus.partitions
        paired = partitions.shape[-1] == len(self.labels_) <= MOST_PAIRED
        self.search_results_ = found.table
        self.conclusion_ = found.sentence()
        self.has_clusters_ = found.clusterability.has_clusters
        pool = partitions.reshape(-1, partitions.shape[-1])
        self.coassociation_ = coassociation(pool) if paired else None
        self.sample_confidence_ = found.confidence
        self.selection_frequency_ = features.put_back(found.selection_frequency)
        return self
