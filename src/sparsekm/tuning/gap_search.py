"""Tuning the sparsity of an estimator by the gap statistic."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClusterMixin, MetaEstimatorMixin, clone
from sklearn.utils import check_array, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from sparsekm.cluster.batches import check_batch, compare_batches
from sparsekm.cluster.estimator_input import (
    imputes,
    read_data,
    read_holes,
    read_new,
    remember_features,
)
from sparsekm.cluster.imputation import fill_missing
from sparsekm.cluster.matrices.dense_parts import stored_bytes, take_rows
from sparsekm.cluster.matrices.inputs import Seed, as_readable, compute
from sparsekm.cluster.matrices.streamed_matrix import Data
from sparsekm.cluster.matrices.varying_features import VaryingFeatures
from sparsekm.cluster.mixins import FeatureSelector
from sparsekm.cluster.sample_weights import refuse_counted, repeat_samples
from sparsekm.cluster.sparsity_path import SparsityPath
from sparsekm.cluster.validation import check_choice, check_count
from sparsekm.cluster.weight_step import FeatureGroups
from sparsekm.runtime.random_state import seed_sequence
from sparsekm.runtime.threads import count_threads, grant_threads, run_side_by_side
from sparsekm.tuning.fold_fits import check_groups, draw_folds, tuning_sample
from sparsekm.tuning.gap import (
    RULES,
    feature_limit,
    gap_curve,
    refined_sparsities,
    search_grid,
    select_sparsity,
)
from sparsekm.tuning.references import REFERENCES, SPATIAL, check_reference, reference_objectives
from sparsekm.tuning.separation import SpreadValues, refit_folds, separation


@dataclass(eq=False, repr=False)
class GapSearch(MetaEstimatorMixin, FeatureSelector, ClusterMixin, BaseEstimator):
    """Choose the sparsity at which the objective most exceeds its value on data without clusters.

    This is the gap statistic of Tibshirani, Walther & Hastie (2001, doi:10.1111/1467-9868.00293).
    Witten & Tibshirani (2010, doi:10.1198/jasa.2010.tm09415) use it for sparse k-means, and so do
    Chang, Wang, Li & Xu (2018, arXiv:1403.7890).

    Parameters
    ----------
    estimator : estimator with `sparsity` and `path`
        For example, `L0KMeans` or `L1KMeans`. Its own `sparsity` is not used. Reference data are
        treated like X: they are trimmed, they have the same number of missing values, and columns
        of one group are permuted together. If `init` holds labels, the fits to reference data start
        from them, too. If these labels suit X, they improve the result on X but not the results on
        reference data, and so enlarge the gap.
    sparsities : None or array-like, default=None
        The grid. None uses the grid of `sparsekm.tuning.gap.default_sparsities`. Constant features
        are left out of the search.
    n_references : int, default=10
        Number of reference data sets, at least 2.
    reference : {"permutation", "gaussian", "shrunk", "spatial"}, default="permutation"
        "permutation" permutes every column separately, as in Chang et al. "gaussian" draws from a
        single Gaussian with the means and covariances of the data. "shrunk" does so with shrunk
        correlations, because some may be due to chance. "spatial" permutes every column so that its
        autocorrelation in space remains; it needs `positions` in `fit`. See
        `sparsekm.tuning.references`.
    rule : {"max", "one-se", "auto"}, default="max"
        "max" takes the largest gap, as in Chang et al. "one-se" takes the smallest sparsity whose
        gap is within one standard error of the largest gap. "auto" is like "max", but keeps at most
        a quarter of the features if the dropped features correlate with each other. See
        `sparsekm.tuning.gap.select_sparsity`.
    n_refined : int, default=0
        Number of sparsities that a second stage adds around the largest gap. Data and references
        are then fitted again at all sparsities, because the fits along a path start from each
        other's labels.
    max_samples : int, default=None
        If there are more samples, this number of them is drawn at random to choose the sparsity.
        All samples are then fitted at this sparsity. None uses all samples; in `SparseKMeans` it
        stands for 2,000.
    n_jobs : int, default=None
        Number of threads, which does not change results. None and -1 use all cores that the process
        may use. Reference data sets are searched in parallel as long as their copies together need
        at most 512 MB.
    random_state : None, int, RandomState or Generator, default=None
        Controls the randomness of references and searches. Reference data set b depends only on the
        seed and on b.
    verbose : int, default=0
        If positive, progress is printed.

    Attributes
    ----------
    best_sparsity_ : int or float
        Number of features or, with `L1KMeans`, the bound on the l1 norm of the weights.
    best_index_ : int
        The row of `results_` that was chosen.
    best_estimator_ : estimator
        The estimator, fitted at the best sparsity. With `max_samples`, it is fitted to all samples.
    results_ : pandas.DataFrame
        The gap curve, ascending in sparsity: see `sparsekm.tuning.gap.gap_curve`.
    path_ : SparsityPath
        The fits to the data or, with `max_samples`, to the samples that were drawn. Samples of
        weight 0 are left out.
    limit_ : FeatureLimit or None
        With ``rule="auto"``, the largest number of features that may be kept, and the correlations
        of dropped features that determine it.
    conclusion_ : str or None
        With ``rule="auto"``, a sentence that explains the number of kept features.
    labels_ : ndarray of shape (n_samples,), int32
        Cluster of each sample, from `best_estimator_`.
    feature_weights_ : ndarray of shape (n_features,)
        Weight of each feature, from `best_estimator_`.
    n_features_in_ : int
        Number of features in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the columns of X had names.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsekm import GapSearch, L0KMeans
    >>> X = np.random.default_rng(0).normal(size=(40, 30))
    >>> X[:20, :5] += 3
    >>> search = GapSearch(L0KMeans(2), sparsities=[2, 5, 30], random_state=0).fit(X)
    >>> search.best_sparsity_
    5
    """

    estimator: BaseEstimator
    _: KW_ONLY
    sparsities: ArrayLike | None = None
    n_references: int = 10
    reference: str = "permutation"
    rule: str = "max"
    n_refined: int = 0
    max_samples: int | None = None
    n_jobs: int | None = None
    random_state: Seed = None
    verbose: int = 0

    def fit(
        self,
        X: Data,
        y: object = None,
        *,
        positions: ArrayLike | None = None,
        batch: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit data and reference data sets at every sparsity, and choose the sparsity.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data to cluster. A sparse X allows only permuted references.
        y : None
            Ignored.
        positions : array-like of shape (n_samples, n_dimensions), default=None
            Positions of the samples in space, for "spatial" references.
        batch : array-like of shape (n_samples,), default=None
            The batch of each sample. X is fitted twice: as given, and after centring within
            batches. See `SparseKMeans.fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts. A sample of weight 2 counts as if it were given twice, in
            references too; a sample of weight 0 is labelled like new data. Each sample is repeated
            in proportion to its weight. If the weights are not small multiples of a common unit,
            they are rounded, so that there are at most about eight copies per sample on average.

        Returns
        -------
        self

        Raises
        ------
        TypeError
            If the estimator has no `sparsity` to tune; if `batch` is given with a sparse X.
        ValueError
            If there are fewer than two clusters, so that there is no sparsity to choose; if
            "spatial" references have no positions; if there is not one weight per sample, or
            weights are negative, all 0, or combined with `trim`; or if the `fit` of the estimator
            would raise it. All checks are made before anything is fitted.
        """
        self._check_parameters()
        X = compute(X)
        if batch is not None:
            check_batch(batch, X)
        holes = read_holes(self, X)
        if sample_weight is None:
            self._fit(X, positions, holes)
        else:
            self._fit_weighted(X, positions, holes, sample_weight)
        if batch is not None:
            compare_batches(self, X, batch, positions=positions, sample_weight=sample_weight)
        return self

    def _fit_weighted(self, X, positions, holes, sample_weight):
        """Fit samples, each repeated according to its weight."""
        values = read_data(self, X)
        refuse_counted(getattr(self.estimator, "trim", 0))
        rows = repeat_samples(sample_weight, values.shape[0])
        places = self._check_positions(positions, values.shape[0])
        repeated, places, holes = take_rows(rows, values, places, holes)
        self._fit(repeated, places, holes, rows)
        remember_features(self, X)
        labels, (samples, first) = self.predict(values), np.unique(rows, return_index=True)
        labels[samples] = self.labels_[first]
        self.labels_ = self.best_estimator_.labels_ = labels

    def _fit(self, X, positions, holes, rows: np.ndarray | None = None) -> None:
        """Fit samples; samples with the same number in `rows` are copies."""
        values = read_data(self, X)
        features = VaryingFeatures.of_values(values)
        everyone = features.select(values)
        holes = None if holes is None else features.select(holes)
        seed = int(seed_sequence(self.random_state).generate_state(1)[0])
        estimator: Any = clone(self.estimator).set_params(random_state=seed)
        counts, feature_groups = features.counts, getattr(estimator, "feature_groups", None)
        if feature_groups is not None:
            groups = FeatureGroups.of_labels(feature_groups, features)
            estimator.set_params(feature_groups=groups.groups)
            counts = groups.counts
        sparsities = search_grid(estimator.penalty, self.sparsities, *counts)
        places = self._check_positions(positions, everyone.shape[0])
        check_reference(self.reference, everyone)
        estimator.check(everyone, searched=True)
        samples = tuning_sample(everyone.shape[0], self.max_samples, estimator)
        values, places, holes, rows = take_rows(samples, everyone, places, holes, rows)
        tuned = estimator
        if samples is not None:
            tuned = clone(estimator)
            init: Any = getattr(tuned, "init", None)
            if np.ndim(init):
                # The labels may then lack a cluster, which a start fills.
                tuned.set_params(init=np.asarray(init)[samples])
            tuned.check(values, searched=True)
        made = {"seed": seed, "positions": places, "holes": holes}
        sparsities, path, first, table = self._search(tuned, values, sparsities, made)
        self.limit_ = self.conclusion_ = None
        # Repeated samples would make features seem to correlate.
        once = slice(None) if rows is None else np.unique(rows, return_index=True)[1]
        of_each = replace(path, labels=path.labels[:, once])
        if self.rule == "auto":
            self.limit_ = feature_limit(values[once], of_each, table)
        chosen = select_sparsity(table, self.rule, self.limit_)
        if self.limit_ is not None:
            self.conclusion_ = self.limit_.sentence(table, chosen)
        with grant_threads(self.n_jobs):
            if samples is None:
                fit = SparsityPath.best_at([path, first], sparsities[chosen])
            else:
                fit = estimator.path(everyone, sparsities[[chosen]])
            remember_features(self, X)
            self.results_, self.best_index_ = table, chosen
            self.best_sparsity_ = sparsities[chosen].item()
            self.path_ = of_each.put_back(features)
            self.best_estimator_ = estimator.set_params(sparsity=self.best_sparsity_)
            if feature_groups is not None:
                estimator.set_params(feature_groups=feature_groups)
            estimator.adopt(X, fit.put_back(features), 0)
        self.labels_, self.feature_weights_ = estimator.labels_, estimator.feature_weights_

    def _search(self, estimator, X, sparsities, made) -> tuple[Any, ...]:
        """Return the sparsities, their path, the path of the first stage, and the gap curve."""
        path, references = self._fit_paths(estimator, X, sparsities, made)
        first, table = path, gap_curve(path, references)
        if self.n_refined:
            peak, coarse = int(table["gap"].argmax()), sparsities
            sparsities = refined_sparsities(estimator.penalty, coarse, peak, self.n_refined)
            added = np.setdiff1d(sparsities, coarse)
            if added.size and getattr(estimator, "independent_fits", False):
                order = np.argsort(np.concatenate([coarse, added]))
                further, theirs = self._fit_paths(estimator, X, added, made)
                path = SparsityPath.join([path, further]).take(order)
                references = np.hstack([references, theirs])[:, order]
            elif added.size:
                path, references = self._fit_paths(estimator, X, sparsities, made)
            table = gap_curve(path, references)
        return sparsities, path, first, table

    def _fit_paths(self, estimator, X, sparsities, made) -> tuple[SparsityPath, np.ndarray]:
        """Search the references in parallel, and then fit the data with all threads."""
        shared: dict[str, Any] = {"reference": self.reference, **made}
        numbers, n_steps = range(self.n_references), self.n_references + 1

        def search(index: int) -> np.ndarray:
            objectives = reference_objectives(estimator, X, sparsities, index=index, **shared)
            self._print_progress(index + 1, n_steps)
            return objectives

        searched = run_side_by_side(search, numbers, self.n_jobs, copy_bytes=stored_bytes(X))
        references = np.array(list(searched))
        with grant_threads(self.n_jobs):
            path = estimator.path(X, sparsities)
        self._print_progress(n_steps, n_steps)
        return path, references

    @available_if(lambda self: hasattr(self.estimator, "predict"))
    def predict(self, X: Data) -> np.ndarray:
        """Label samples with the best estimator.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples with the features that were fitted.

        Returns
        -------
        ndarray of shape (n_samples,), int32
            Cluster of each sample.

        Raises
        ------
        sklearn.exceptions.NotFittedError, ValueError
            Before `fit`; if X does not have the features of `fit`, or holds NaN or infinity.
        """
        check_is_fitted(self)
        with grant_threads(self.n_jobs):
            return self.best_estimator_.predict(X)

    def separation(self, X: Data, *, groups: ArrayLike | None = None) -> pd.DataFrame:
        """Test which clusters of the best estimator are separated, as `SparseKMeans` does.

        The best estimator is fitted again 50 times, each time without a tenth of the samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The data that were fitted.
        groups : array-like of shape (n_samples,), default=None
            Groups of samples, such as donors, that are held out together and count as one sample.

        Returns
        -------
        pandas.DataFrame
            A row per pair of neighbouring clusters, with the columns of
            `SparseKMeans.separation_`.

        Raises
        ------
        sklearn.exceptions.NotFittedError, ValueError
            Before `fit`; if X does not have the features of `fit`; if `groups` does not
            have one value per sample.
        """
        check_is_fitted(self)
        X, best = read_new(self, X), self.best_estimator_
        X = fill_missing(X) if imputes(self) and not issparse(X) else X
        labels = best.labels_
        if X.shape[0] != len(labels):
            raise ValueError(f"n_samples={X.shape[0]} should be {len(labels)}, as in `fit`.")
        blocks = check_groups(groups, X.shape[0])
        seed = int(seed_sequence(self.random_state).generate_state(1)[0])
        estimator = clone(best).set_params(random_state=seed)
        # Trimmed samples are assigned and counted, too.
        fitted, aside = np.flatnonzero(labels >= 0), np.flatnonzero(labels < 0)
        if len(aside):
            estimator.set_params(trim=0.0)
            labels = np.where(labels < 0, best.predict(X), labels)
        with grant_threads(self.n_jobs):
            left_out = draw_folds(fitted, seed=seed, blocks=blocks)
            folds = refit_folds(estimator, X, labels, fitted, left_out)
        values = SpreadValues(X, seed, blocks, aside)
        return separation(values, labels, best.get_support(indices=True), folds)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        known = hasattr(self.estimator, "__sklearn_tags__")
        tags.input_tags.sparse = known and get_tags(self.estimator).input_tags.sparse
        return tags

    def _check_parameters(self) -> None:
        is_estimator = hasattr(self.estimator, "path") and not isinstance(self.estimator, type)
        if not is_estimator or "sparsity" not in self.estimator.get_params():
            raise TypeError(
                f"estimator={self.estimator!r} should be an estimator with a `sparsity` to tune "
                "and a `path`, such as L0KMeans(3)."
            )
        check_count("n_references", self.n_references, 2)
        check_count("n_refined", self.n_refined, 0)
        check_choice("reference", self.reference, [*REFERENCES, SPATIAL])
        check_choice("rule", self.rule, RULES)
        count_threads(self.n_jobs)

    def _check_positions(self, positions, n_samples: int) -> np.ndarray | None:
        if self.reference != SPATIAL:
            return None
        if positions is None:
            raise ValueError(
                "reference='spatial' needs the samples' positions: fit(X, positions=...)."
            )
        readable = as_readable(positions, "positions")
        places = check_array(readable, dtype=np.float64, input_name="positions")
        if len(places) != n_samples:
            raise ValueError(f"positions: shape={places.shape} should have {n_samples} rows.")
        return places
