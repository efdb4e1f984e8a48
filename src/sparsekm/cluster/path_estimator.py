"""What the estimators over any partition step share: `fit`, `path` and what follows from them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from sparsekm.cluster.matrices.containers import (
    Data,
    VaryingFeatures,
    as_readable,
    in_canonical_format,
)
from sparsekm.cluster.missing import check_observed, fill_missing, imputes, name_the_cure
from sparsekm.cluster.sparsity_path import Fit, SparsityPath
from sparsekm.cluster.validation import (
    check_count,
    check_nonnegative,
    check_searchable,
)
from sparsekm.cluster.weight_step import (
    PENALTIES,
    FeatureGroups,
    WeighedGroups,
    WeightStep,
    check_sparsity,
    resolve_sparsities,
)
from sparsekm.runtime.random_state import check_random_state

Progress = Callable[[int, int], None]


class SearchEffort(NamedTuple):
    """How hard to search."""

    n_init: int  # restarts of the alternation; the climbs of the search in proportion
    max_iter: int  # rounds of one alternation; generations of the search
    tol: float  # relative change of the weights that ends an alternation


class FeatureSelector(SelectorMixin):
    """scikit-learn's selectors, with checks of sparse indices and masks that they do not make."""

    def transform(self, X: Data) -> Any:
        """Keep the selected features.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray, sparse matrix or DataFrame of shape (n_samples, n_selected_features)

        Raises
        ------
        sklearn.exceptions.NotFittedError, ValueError
            Before `fit`; if X is not as in `fit`, or holds NaN or infinity.
        """
        return super().transform(as_readable(X))

    def inverse_transform(self, X: Data) -> Any:
        """Put the features that were dropped back as zeros.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_selected_features)

        Returns
        -------
        ndarray or sparse matrix of shape (n_samples, n_features)

        Raises
        ------
        sklearn.exceptions.NotFittedError, ValueError
            Before `fit`; if X has another number of features than were selected.
        """
        return super().inverse_transform(as_readable(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = imputes(self)
        return tags

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.feature_weights_ > 0


def _rules(estimator: BaseEstimator, X) -> dict[str, Any]:
    """Return what scikit-learn's checks of data are told: only dense data may have NaN filled."""
    finite = "allow-nan" if imputes(estimator) and not issparse(X) else True
    dtypes = [np.float64, np.float32]
    return {"accept_sparse": ["csr", "csc"], "dtype": dtypes, "ensure_all_finite": finite}


def _check_values(estimator, X) -> Any:
    try:
        return check_array(X, estimator=estimator, input_name="X", **_rules(estimator, X))
    except ValueError as error:
        raise name_the_cure(estimator, error) from None


def read_data(estimator: BaseEstimator, X) -> np.ndarray | csr_array:
    """Validate data without setting anything on the estimator, fitted or not.

    What is missing is filled if the estimator imputes. A sparse matrix becomes a csr_array in
    canonical format. Names of features that a fit could not remember in the end are refused here.
    """
    X = as_readable(X)
    values = _check_values(estimator, X)
    remember_features(BaseEstimator(), X)
    if imputes(estimator) and not issparse(values):
        values = fill_missing(check_observed(values, getattr(X, "columns", None)))
    return in_canonical_format(values)


def read_holes(estimator: BaseEstimator, X) -> np.ndarray | None:
    """Return which values are missing, (n_samples, n_features), if the estimator fills any."""
    if not imputes(estimator) or issparse(X):
        return None
    holes = np.isnan(_check_values(estimator, as_readable(X)))
    return holes if holes.any() else None


def read_varying(estimator: BaseEstimator, X) -> tuple[np.ndarray | csr_array, VaryingFeatures]:
    """Validate data as `read_data` does; return the features that vary, and which these are."""
    values = read_data(estimator, X)
    features = VaryingFeatures.of_values(values)
    return features.select(values), features


def read_new(estimator: BaseEstimator, X) -> np.ndarray | csr_array:
    """Validate data for a fitted estimator, of which nothing is filled."""
    X = as_readable(X)
    return in_canonical_format(validate_data(estimator, X, reset=False, **_rules(estimator, X)))


# What `fit` learns of batches, if it is given any.
OF_BATCHES = ("batch_centred_", "batch_agreement_", "batch_shares_")


def remember_features(estimator: BaseEstimator, X) -> None:
    """Set the number of features and, where X has them, their names, at the end of a fit.

    What an earlier fit learned of batches is removed.
    """
    for name in OF_BATCHES:
        estimator.__dict__.pop(name, None)
    if hasattr(X, "n_features"):
        X = np.empty((0, X.n_features))
    validate_data(estimator, X, skip_check_array=True)


def warn_unconverged(estimator: BaseEstimator, what: str) -> None:
    """Warn that a fit ended because its rounds ran out."""
    warnings.warn(
        f"{type(estimator).__name__} did not converge: after max_iter={estimator.max_iter} rounds "
        f"{what}. Raise max_iter.",
        ConvergenceWarning,
        stacklevel=4,
    )


class PathEstimator(FeatureSelector, ClusterMixin, BaseEstimator):
    """What the estimators of this room share: one fit, or a path of them, and selection.

    A subclass has the parameters and the methods named here. From `_read` on, data are of the
    features that vary; what is found is put back among all.
    """

    penalty: str
    # Whether the fit at a sparsity is the same whatever else is on the path.
    independent_fits = False

    # Of X: the validated data of the features that vary, and which these are.
    _read: Callable[[Any], tuple[Any, VaryingFeatures]]
    # Of data: these, which have a `shape`, and the partition step, once they fit.
    _prepare: Callable[[Any], tuple[Any, Any]]
    # Of data, partition step, ascending weight steps, search, progress and whether only objectives
    # are asked for: the fits, and the objectives that a gap compares.
    _fit_path: Callable[..., tuple[list[Fit], np.ndarray]]
    # Of data, features, fit and search: sets the centres and what else an estimator learns.
    _add_attributes: Callable[[Any, VaryingFeatures, Fit, str], None]

    # Read from the signature each time, they took more than a small fit.
    @classmethod
    @cache
    def _get_param_names(cls):
        return super()._get_param_names()

    def _fit(self, X) -> None:
        data, features = self._read(X)
        data, partition = self._prepare(data)
        weight_step = self._weight_step(getattr(self, "sparsity", None), features)
        search = self._resolve_search(data)
        (fit,), _ = self._fit_path(data, partition, [weight_step], search)
        self._learn(X, data, features, _put_back(fit, weight_step, features), search)

    def check(self, X: Data, *, searched: bool = False) -> None:
        """Refuse data and parameters that `fit` would refuse, before any work.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or StreamedMatrix
        searched : bool, default=False
            Whether a sparsity is to be chosen, for which one cluster is not enough, and for which
            the estimator's own is not used.

        Raises
        ------
        TypeError, ValueError
            If `fit` would.
        """
        data, features = self._read(X)
        data, partition = self._prepare(data)
        if searched:
            check_searchable(partition.n_clusters)
        else:
            self._weight_step(getattr(self, "sparsity", None), features)
        self._effort()
        self._resolve_search(data)
        check_random_state(self.random_state)

    def path(
        self, X: Data, sparsities: ArrayLike | None = None, *, progress: Progress | None = None
    ) -> SparsityPath:
        """Fit all sparsities in one call, each helped by the others.

        Along a path the objective never falls with the sparsity, and no fit could be bettered by
        the labels of another: more than independent fits promise. The estimator's own `sparsity`
        is not used and nothing is set on it. Every fit is refined to the end: its labels are a
        fixed point of k-means under its weights, and these are best for the labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or StreamedMatrix
        sparsities : array-like of shape (n_sparsities,)
            In any order. As the parameter `sparsity`, but every value from 1 up is a count.
            `KMeans` ignores them: its path is its one fit, at the number of features that vary.
        progress : callable, optional
            Called with the number of steps done and their total.

        Returns
        -------
        SparsityPath
            In the order of `sparsities`; of shares it holds the numbers that they stand for.

        Raises
        ------
        TypeError, ValueError
            If `fit` would, or `sparsities` are no vector of at least one, each in its range.
        """
        values, search, fits, first = self._search_path(X, sparsities, progress)
        return SparsityPath.from_fits(values, fits, search, first)

    def search_objectives(self, X: Data, sparsities: ArrayLike) -> np.ndarray:
        """Return the `first_objectives` of `path`, by which data and references are compared.

        They cost less than the path, whose fits are then refined.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or StreamedMatrix
        sparsities : array-like of shape (n_sparsities,)
            As in `path`.

        Returns
        -------
        ndarray of shape (n_sparsities,)

        Raises
        ------
        TypeError, ValueError
            If `path` would.
        """
        return self._search_path(X, sparsities, objectives_only=True)[-1]

    def _search_path(self, X, sparsities, progress=None, objectives_only=False):
        """Return sparsities, search, fits and first objectives, in the order of `sparsities`."""
        data, features = self._read(X)
        data, partition = self._prepare(data)
        sparsities = self._grid(sparsities, features)
        order = np.argsort(sparsities, kind="stable")
        weight_steps = [self._weight_step(s, features) for s in sparsities[order]]
        search = self._resolve_search(data)
        asked = search, progress, objectives_only
        fits, first = self._fit_path(data, partition, weight_steps, *asked)
        # None where only objectives are asked for.
        pairs = zip(fits, weight_steps, strict=False)
        fits = [_put_back(fit, step, features) for fit, step in pairs]
        places = np.argsort(order)
        return sparsities, search, [fits[place] for place in places if fits], first[places]

    def adopt(self, X: Data, path: SparsityPath, index: int) -> Self:
        """Set the fitted attributes from one fit of a path, without searching again.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The data of the path.
        path : SparsityPath
        index : int
            Which of its fits.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the path is one of other data, or of more clusters.
        """
        data, features = self._read(X)
        data, partition = self._prepare(data)
        fitted = path.labels.shape[1], path.weights.shape[1], int(path.labels.max()) + 1
        own = data.shape[0], features.n_features, partition.n_clusters
        if fitted[:2] != own[:2] or fitted[2] > own[2]:
            raise ValueError(
                f"path has (n_samples, n_features, n_clusters)={fitted}; should be those of X and "
                f"of the estimator, {own}."
            )
        return self._learn(X, data, features, path.fit_at(index), path.search)

    def _learn(self, X, data, features: VaryingFeatures, fit: Fit, search: str) -> Self:
        if not fit.converged:
            warn_unconverged(self, "labels and weights still changed")
        remember_features(self, X)
        self.labels_, self.feature_weights_ = fit.labels, fit.weights
        self.feature_scores_, self.objective_ = fit.scores, fit.objective
        self.n_iter_ = fit.n_iter
        self._add_attributes(data, features, fit, search)
        return self

    def _print_progress(self, done: int, total: int) -> None:
        if self.verbose:
            print(f"{type(self).__name__}: step {done} of {total}", flush=True)  # noqa: T201 (asked for by `verbose`)

    def _resolve_search(self, data) -> str:
        return "alternate"

    def _weight_step(self, sparsity, features: VaryingFeatures) -> WeightStep:
        groups = self._feature_groups(features)
        bound = check_sparsity(self.penalty, sparsity, *(groups or features).counts)
        step = PENALTIES[self.penalty](bound)
        return step if groups is None else groups.weigh_groups(step)

    def _grid(self, sparsities, features: VaryingFeatures) -> np.ndarray:
        counts = (self._feature_groups(features) or features).counts
        return resolve_sparsities(self.penalty, sparsities, *counts)

    def _feature_groups(self, features: VaryingFeatures) -> FeatureGroups | None:
        groups = getattr(self, "feature_groups", None)
        return None if groups is None else FeatureGroups.of_labels(groups, features)

    def _effort(self) -> SearchEffort:
        return SearchEffort(
            n_init=check_count("n_init", self.n_init),
            max_iter=check_count("max_iter", self.max_iter),
            tol=check_nonnegative("tol", self.tol),
        )


def _put_back(fit: Fit, weight_step: WeightStep, features: VaryingFeatures) -> Fit:
    """Return a fit of all features: constant ones score 0, and are chosen after all others."""
    if features.n_constant == 0:
        return fit
    if isinstance(weight_step, WeighedGroups):
        put_back = features.put_back
        return replace(fit, weights=put_back(fit.weights), scores=put_back(fit.scores))
    n_varying = len(fit.scores)
    last = weight_step.weigh(np.pad(fit.scores, (0, features.n_constant)))[n_varying:]
    weights = features.put_back(fit.weights)
    weights[~features.varies] = last
    return replace(fit, weights=weights, scores=features.put_back(fit.scores))
