"""Sparse k-means that chooses screening, start and features from the data alone."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from sparsekm.cluster.batches import check_batch, compare_batches
from sparsekm.cluster.description import Description
from sparsekm.cluster.estimator_input import (
    MISSING,
    imputes,
    label_observed,
    read_data,
    read_new,
    remember_features,
)
from sparsekm.cluster.estimators import ESTIMATORS, L0KMeans, L1KMeans
from sparsekm.cluster.kmeans.many_samples import label_samples
from sparsekm.cluster.matrices.dense_parts import as_dense, take_rows
from sparsekm.cluster.matrices.inputs import Seed, compute
from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.cluster.matrices.sparse_matrix import as_matrix
from sparsekm.cluster.matrices.streamed_matrix import Data
from sparsekm.cluster.matrices.varying_features import VaryingFeatures, check_matrix
from sparsekm.cluster.mixins import FeatureSelector, LabelPredictor
from sparsekm.cluster.raw_counts import warn_of_raw_counts
from sparsekm.cluster.sample_weights import check_sample_weight
from sparsekm.cluster.sparsity_path import ChosenFit
from sparsekm.cluster.validation import check_choice, check_count, check_searchable, check_share
from sparsekm.cluster.weight_step import PENALTIES, FeatureGroups, check_sparsity
from sparsekm.runtime.random_state import check_random_state, seed_sequence
from sparsekm.runtime.threads import count_threads
from sparsekm.tuning.chosen_fit import MOST_SAMPLES, add_centred, find_clusters, place_samples
from sparsekm.tuning.feature_ranking import SCREENINGS
from sparsekm.tuning.fold_fits import check_groups, tuning_sample
from sparsekm.tuning.partitions import coassociation

CHOICES = {
    "penalty": ESTIMATORS,
    "selection": ["relevant", "signature"],
    "screening": SCREENINGS,
    "missing": MISSING,
}


@dataclass(eq=False, repr=False)
class SparseKMeans(LabelPredictor, FeatureSelector, ClusterMixin, BaseEstimator):
    """Sparse k-means that chooses features, start and number of clusters from the data.

    Features are ranked before any clustering. Algorithm 1 of Chang et al. (see `L0KMeans`) then
    runs from a fixed list of starts and numbers of features. Each of these candidates is fitted
    again many times, each time without a tenth of the samples; these are the fits to folds. The
    samples left out show which clusters are clearly separated, which candidate is the best, and how
    few features suffice.

    Parameters
    ----------
    n_clusters : int or "auto", default="auto"
        Number of clusters K, at least 2. "auto" estimates the number of clearly separated groups.
    penalty : {"l0", "l1"}, default="l0"
        "l0" gives every kept feature a weight of 1. "l1" gives weights of unit l2 norm, which are
        larger for features with larger scores.
    sparsity : "auto", int or float, default="auto"
        How many features are kept. "auto" keeps the features that `selection` names. With "l0", a
        number is a count of features or, in (0, 1), a share of the features that vary. A count
        above the number of these features keeps all of them; 1.0 is refused, because it could mean
        one feature or all. With "l1", a number is the bound on the l1 norm of the weights. If a
        number is given, only the ranking of features and the start are chosen.
    selection : {"relevant", "signature"}, default="relevant"
        Which features are kept if the sparsity is "auto". "relevant" keeps the features that differ
        between the clusters. If there is a signature (see `signature_`), "signature" runs Algorithm
        1 once more and keeps as many features as the signature has.
    screening : {"auto", "trend", "variance", "marginal", "all"}, default="auto"
        How features are ranked. "trend" ranks by how far the log variance exceeds its trend with
        the mean, "variance" by the variance, and "marginal" by the distance of the distribution
        from a Gaussian; "all" does not rank. "auto" takes "all" for up to 100 features, "marginal"
        if all variances are equal (as after z-scoring) or units differ, "variance" if all means are
        equal, and "trend" otherwise.
    min_cluster_size : int, default=1
        Smallest number of samples that a cluster may have.
    max_samples : int, default=None
        If there are more samples, this number of them is drawn at random to find the clusters.
        Algorithm 1 then starts from these clusters and fits all samples. None stands for 2,000.
    random_state : None, int, RandomState or Generator, default=None
        Controls the randomness. None draws fresh entropy; NumPy's global generator is never used.
    n_jobs : int, default=None
        Number of threads, which does not change results. None and -1 use all cores that the process
        may use.
    verbose : int, default=0
        If positive, progress is printed.
    missing : {"error", "impute"}, default="error"
        How NaN in X is treated. "impute" fills missing values by a low-rank approximation of X;
        `predict` then measures distances over the observed values.
    trim : float, default=0
        Share of the samples, below 0.5, to set aside as outliers. Trimmed k-means on the z-scores
        first chooses the outliers. After one fit, the outliers are chosen again: they are now the
        samples farthest from their centres in the kept features. Scales, scores and centres are
        computed without them, but the test for separated clusters assigns them to clusters and
        counts them.
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
        Means of the clusters, on the scale of X. With ``n_clusters="auto"``, clusters that are not
        separated are joined at the end. These are then the means of the joined clusters, but
        `predict` uses the means of the clusters before joining.
    feature_weights_ : ndarray of shape (n_features,)
        Weight of each feature; 0 for a feature that is dropped.
    feature_scores_ : ndarray of shape (n_features,)
        Between-cluster sum of squares a_j of the z-scores of each feature.
    objective_ : float
        Sum of weight times score.
    n_clusters_ : int
        Number of clusters, given or estimated.
    sparsity_ : int or float
        Number of features kept, or the bound on the l1 norm of the weights.
    screening_ : str
        How features were ranked.
    search_ : str
        The search of the last fit: "alternate".
    n_iter_ : int
        Rounds of the last run of Algorithm 1.
    signature_ : ndarray of int, or None
        Indices of the signature: the smallest set of features that assigns held-out samples to
        their clusters nearly as well as the best set does. Samples are assigned to the nearest
        centroid. None if the best set reaches an adjusted Rand index below 0.5.
    signature_agreement_ : float
        Adjusted Rand index between the clusters of held-out samples and the clusters to which the
        signature assigns them.
    cluster_signatures_ : list of length n_clusters
        For each cluster, the smallest set of features that distinguishes its held-out samples from
        the samples of other clusters, or None.
    cluster_signature_agreements_ : ndarray of shape (n_clusters,)
        How well each set in `cluster_signatures_` tells which held-out samples are in the cluster,
        as an adjusted Rand index.
    separation_ : pandas.DataFrame
        A row per pair of neighbouring clusters. Held-out samples are projected on the axis between
        the two clusters, on a scale with the medians of the two sides at 0 and 1.

        ``cluster_a``, ``cluster_b``
            The clusters.
        ``p``, ``p_adjusted``
            p-value of the hypothesis that the projections have one mode, unadjusted and adjusted
            for all pairs, candidates and numbers of clusters.
        ``n_middle``, ``n_a``, ``n_b``
            Numbers of samples in the middle and near the two medians.
        ``distance``
            Distance of the medians, in standard deviations within a side. It is 2.2 for the halves
            of a Gaussian.
        ``histogram``
            Numbers of samples in 36 bins from -1 to 2.
        ``p_least``
            The p_adjusted that would result if all samples of the pair were near the medians. Above
            0.05, there are too few samples to tell.
    has_clusters_ : bool
        Whether any two clusters are clearly separated: an adjusted p of at most 0.05.
    search_results_ : pandas.DataFrame
        A row per candidate. The samples are divided into tenths five times. Most candidates are
        refitted without each tenth of the first division, the best ones without every tenth.

        ``start``
            Name of the start.
        ``n_features``, ``n_clusters``
            Numbers of features kept and of clusters.
        ``n_groups``
            Number of clearly separated groups.
        ``p``
            The smallest adjusted p.
        ``agreement``
            Mean adjusted Rand index with the fits to folds.
        ``n_folds``
            Number of these fits.
        ``chosen``
            Whether this candidate was chosen.
    cluster_counts_ : pandas.DataFrame or None
        With ``n_clusters="auto"``, a row per number of clusters that was tried.

        ``n_clusters``, ``n_groups``
            The number of clusters, and how many clearly separated groups they form.
        ``reproducibility``
            Mean adjusted Rand index of the groups with the fits to folds.
        ``silhouette``
            The mean silhouette in the features kept.
        ``ambiguous``
            Share of the pairs of samples that are ambiguous: between 10 % and 90 % of the refits
            put the two samples into the same cluster.
        ``p_least``
            The smallest p that the tests could reach.
        ``groups``
            The group of each cluster.
        ``chosen``
            Whether this number was chosen.
    conclusion_ : str
        The findings in words.
    coassociation_ : ndarray of shape (n_samples, n_samples) or None
        Share of the fits to folds in which two samples are in one cluster. None if some samples
        were not fitted.
    sample_reproducibility_ : ndarray of shape (n_samples,)
        Share of the fits to folds in which a sample is in its cluster; NaN for a sample that was
        not fitted. Reproducible clusters need not be separated groups.
    cluster_overlaps_ : ndarray of shape (n_clusters,)
        Mean Jaccard overlap of each cluster with its match in the fits to folds. 1 means the same
        samples; a cluster below 0.75 is not stable.
    left_out_labels_ : ndarray of shape (n_samples,)
        Cluster to which a sample is most often assigned by the fits that held it out; -1 if they
        assign it to none. Use these labels to estimate effect sizes.
    selection_frequency_ : ndarray of shape (n_features,)
        Share of the fits to folds that keep a feature.
    batch_centred_ : SparseKMeans
        With `batch` in `fit`: the fit to X centred within batches.
    batch_agreement_ : float
        With `batch` in `fit`: the adjusted Rand index of the labels of the two fits.
    batch_shares_ : pandas.DataFrame of shape (n_clusters, n_batches)
        With `batch` in `fit`: the share of each batch in each cluster.
    result_ : ChosenFit
        All results in one object, with the same fields as the workflow's file ``tuned.h5``. The
        centres are on the scale of X.
    n_features_in_ : int
        Number of features in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the columns of X had names.

    See Also
    --------
    GapSearch : The choice of the sparsity in Chang et al., for independent features.

    Notes
    -----
    Give X on its own scale and do not z-score it: the scale helps to choose the features to
    consider first. Scores and the objective refer to z-scores (ddof = 1), which are computed
    internally.

    Labels, weights and centres are a fixed point of Algorithm 1 at `sparsity_`. On the training
    data `predict` returns `labels_`, except with weights, `trim` or ``min_cluster_size > 1``, and
    except for samples with missing values: `fit` fills in the values, while `predict` uses only the
    features that are present. No method can tell batches from clusters: `fit` with `batch` shows
    both results.

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
    >>> found.has_clusters_
    True
    """

    n_clusters: int | str = "auto"
    _: KW_ONLY
    penalty: str = "l0"
    sparsity: float | str = "auto"
    selection: str = "relevant"
    screening: str = "auto"
    min_cluster_size: int = 1
    max_samples: int | None = None
    random_state: Seed = None
    n_jobs: int | None = None
    verbose: int = 0
    missing: str = "error"
    trim: float = 0.0
    feature_groups: ArrayLike | None = None

    def fit(
        self,
        X: Data,
        y: object = None,
        *,
        groups: ArrayLike | None = None,
        batch: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Find the clusters, and the features that make them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data to cluster, on their own scale.
        y : None
            Ignored.
        groups : array-like of shape (n_samples,), default=None
            Groups of samples that resemble each other, such as the samples of a donor or of a block
            of space. The samples of a group are held out together, and count as one sample.
        batch : array-like of shape (n_samples,), default=None
            The batch of each sample. X is fitted twice: as given, and after centring within
            batches. There is a UserWarning if clusters coincide with batches, or if the adjusted
            Rand index of the two results is below 0.8. If the true clusters have different shares
            in different batches, centring distorts the result.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight of each sample. Only the last run of Algorithm 1, the scores and the centres
            use weights. A sample of weight 2 counts as if it were given twice. Scales, folds and
            tests count every sample once, because copies are not further evidence. A sample of
            weight 0 is labelled like new data.

        Returns
        -------
        self

        Raises
        ------
        TypeError
            If NumPy cannot read X (an AnnData, for example), or a parameter has a wrong
            type; if `batch` is given with a sparse X.
        ValueError
            If X holds NaN or infinity, has fewer distinct samples than clusters, or every feature
            is constant; if indices of a sparse X lie outside its shape; if `groups`, `batch` or
            `sample_weight` does not have one value per sample; if there is only one batch, or a
            batch has only one sample; if weights are negative, all 0, or combined with `trim`; if a
            parameter is out of its range (there must be at least two clusters). All checks are made
            before anything is fitted.
        """
        self._check_parameters()
        X = compute(X)
        if batch is not None:
            check_batch(batch, X)
        values = read_data(self, X)
        warn_of_raw_counts(values)
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, values.shape[0])
        features = VaryingFeatures.of_values(values)
        # This estimator sets them at the end of a fit.
        named = BaseEstimator()
        remember_features(named, X)
        names = getattr(named, "feature_names_in_", np.arange(values.shape[1]))
        about = Description(
            groups=check_groups(groups, values.shape[0]),
            weights=sample_weight,
            features=names[features.varies],
        )
        self._fit(values, features, about)
        remember_features(self, X)
        if batch is not None:
            compare_batches(self, X, batch, groups=groups, sample_weight=sample_weight)
            centred = self.batch_centred_.result_
            self.result_: ChosenFit = add_centred(self.result_, centred, batch)
            self.conclusion_ = self.result_.conclusion
        return self

    def feature_table(self) -> pd.DataFrame:
        """Tabulate the features, in the order of X.

        Returns
        -------
        pandas.DataFrame
            A row per feature: name (its number if X had no names), selected, weight, score,
            signature (whether the feature is in `signature_`) and frequency (the share of the fits
            to folds that keep it).

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        """
        check_is_fitted(self)
        numbers = np.arange(self.n_features_in_)
        columns = {
            "name": getattr(self, "feature_names_in_", numbers),
            "selected": self.get_support(),
            "weight": self.feature_weights_,
            "score": self.feature_scores_,
            "signature": np.isin(numbers, () if self.signature_ is None else self.signature_),
            "frequency": self.selection_frequency_,
        }
        return pd.DataFrame(columns)

    def score(self, X: Data, y: object = None) -> float:
        """Measure how well the clusters hold for samples that were not fitted.

        For each selected feature, the other selected features assign every sample to a cluster. The
        mean of the cluster then predicts the sample's weighted z-score of this feature. The score
        is the squared error of the overall mean minus the squared error of this prediction, summed
        over features and averaged over samples. A random feature does not raise the score, because
        the other features do not predict its values.

        GridSearchCV can use the score to compare settings such as `sparsity` or `screening`. The
        score cannot choose the number of clusters, because more clusters predict more.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            On the scale of the data that were fitted.
        y : None
            Ignored.

        Returns
        -------
        float
            0 if the clusters predict nothing about X, or only one feature is selected; below 0
            if they predict worse than the overall mean.

        Raises
        ------
        sklearn.exceptions.NotFittedError, ValueError
            Before `fit`; if X does not have the features of `fit`, or holds infinity, or NaN that
            is not imputed.
        """
        check_is_fitted(self)
        kept = np.flatnonzero(self.feature_weights_)
        values = as_dense(read_new(self, X)[:, kept]).astype(np.float64)
        if len(kept) == 1:
            return 0.0
        weights = self.result_.distance_weights[kept]
        (fitted, cluster_of), means = self.result_.placing, self.cluster_centers_[:, kept]
        fitted = fitted[:, kept]
        sizes = np.bincount(self.labels_[self.labels_ >= 0], minlength=len(means))
        middle = sizes @ means / sizes.sum()

        def squares(feature: int) -> np.ndarray:
            away = values[:, [feature]] - fitted[:, feature]
            return weights[feature] * np.square(np.nan_to_num(away))

        distances, explained = sum(map(squares, range(len(kept)))), 0.0
        for j, weight in enumerate(weights):
            clusters = cluster_of[(distances - squares(j)).argmin(axis=1)]
            near, far = values[:, j] - means[clusters, j], values[:, j] - middle[j]
            explained += weight * np.nansum(far**2 - near**2)
        return explained / len(values)

    def _fit(self, values, features: VaryingFeatures, about: Description) -> None:
        """Cluster the z-scores of checked values by `find_clusters`, and set the attributes."""
        estimator, sparsity, counts = self.make_estimator(), None, features.counts
        # The seed is a number, which make_estimator drew.
        seed: Any = estimator.random_state
        if self.feature_groups is not None:
            groups = FeatureGroups.of_labels(self.feature_groups, features)
            counts, about = groups.counts, replace(about, feature_groups=groups.groups)
        if not isinstance(self.sparsity, str):
            sparsity = check_sparsity(self.penalty, self.sparsity, *counts)
            if PENALTIES[self.penalty].counts_features:
                sparsity = min(sparsity, counts[0] - counts[1])
        X = features.select(values)
        # This is checked before standardisation, for which values may be too large.
        most = MOST_SAMPLES if self.max_samples is None else self.max_samples
        (drawn,) = take_rows(tuning_sample(X.shape[0], most, estimator), X)
        check_matrix(as_matrix(drawn), estimator.n_clusters, estimator.min_cluster_size)
        data = replace(ScaledData.standardise(X), about=about)
        settings = {"sparsity": sparsity, "seed": seed, "progress": self._print_progress}
        result = find_clusters(self, data, **settings)
        self.result_ = _extend_result(result, data, features)
        if about.weights is None and not self.trim and self.min_cluster_size == 1:
            # Samples between two centres are assigned with the rounding of `predict`.
            self.result_ = replace(self.result_, labels=self._label(values))
        self._learn(self.result_)

    def _check_parameters(self) -> None:
        if isinstance(self.n_clusters, str) and self.n_clusters != "auto":
            rule = "should be 'auto', or an integer >= 2 without quotation marks"
            raise ValueError(f"n_clusters={self.n_clusters!r} {rule}.")
        if self.n_clusters != "auto":
            check_searchable(check_count("n_clusters", self.n_clusters))
        check_count("min_cluster_size", self.min_cluster_size)
        check_share("trim", self.trim)
        for name, choices in CHOICES.items():
            check_choice(name, getattr(self, name), choices)
        if self.sparsity is None or (isinstance(self.sparsity, str) and self.sparsity != "auto"):
            raise ValueError(f"sparsity={self.sparsity!r} should be 'auto' or a number.")
        if self.max_samples is not None:
            check_count("max_samples", self.max_samples)
        check_random_state(self.random_state)
        count_threads(self.n_jobs)

    def _label(self, values) -> np.ndarray:
        label = label_observed if imputes(self) else label_samples
        return place_samples(self.result_, values, label=label)

    def make_estimator(self) -> L0KMeans | L1KMeans:
        """Make the estimator that is fitted to all samples and to folds.

        Returns
        -------
        L0KMeans or L1KMeans
            An estimator with the parameters of this one and a seed made from its `random_state`.

        Raises
        ------
        TypeError, ValueError
            If a parameter has a wrong type or is out of its range.
        """
        self._check_parameters()
        return ESTIMATORS[self.penalty](
            2 if self.n_clusters == "auto" else int(self.n_clusters),
            min_cluster_size=int(self.min_cluster_size),
            random_state=int(seed_sequence(self.random_state).generate_state(1)[0]),
            n_jobs=self.n_jobs,
            feature_groups=self.feature_groups,
        )

    def _learn(self, result: ChosenFit) -> None:
        """Set the attributes from the result for all features, on their scale."""
        self.labels_, self.left_out_labels_ = result.clustered, result.left_out
        self.feature_weights_, self.feature_scores_ = result.weights, result.scores
        self.objective_, self.n_iter_ = result.objective, result.n_iter
        self.search_, self.screening_ = "alternate", result.screening
        self.cluster_centers_, self.n_clusters_ = result.centers, len(result.centers)
        counts_features = PENALTIES[self.penalty].counts_features
        self.sparsity_ = int(result.sparsity) if counts_features else result.sparsity
        self.signature_ = result.signature
        self.signature_agreement_ = result.signature_agreement
        self.cluster_signatures_ = result.cluster_signatures
        self.cluster_signature_agreements_ = result.cluster_agreements
        self.separation_, self.has_clusters_ = result.separation, result.has_clusters
        self.search_results_, self.cluster_counts_ = result.candidates, result.numbers
        self.conclusion_, self.cluster_overlaps_ = result.conclusion, result.overlaps
        self.sample_reproducibility_ = result.reproducibility
        self.selection_frequency_ = result.selection_frequency
        together = result.partitions
        self.coassociation_ = None if together is None else coassociation(together)


def _extend_result(result: ChosenFit, data: ScaledData, features: VaryingFeatures) -> ChosenFit:
    """Return the result for all features on X's own scale; `data` has z-scores of those that vary.

    Constant features have no weight.
    """
    varying = np.flatnonzero(features.varies)

    def own_scale(centers: np.ndarray | None) -> np.ndarray | None:
        if centers is None:
            return None
        centers = (centers * data.scale + data.location).astype(data.X.dtype)
        return features.put_back(centers, features.constants)

    def in_all(signature: np.ndarray | None) -> np.ndarray | None:
        return None if signature is None else varying[signature]

    scale = data.scale if result.scale is None else data.scale * result.scale
    return replace(
        result,
        weights=features.put_back(result.weights),
        scores=features.put_back(result.scores),
        centers=own_scale(result.centers),
        fitted_centers=own_scale(result.fitted_centers),
        left_out_centers=own_scale(result.left_out_centers),
        scale=features.put_back(scale, 1.0),
        selection_frequency=features.put_back(result.selection_frequency),
        signature=in_all(result.signature),
        cluster_signatures=[in_all(one) for one in result.cluster_signatures],
    )
