"""What the estimators share with those of scikit-learn: select features, and label new samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from sparsekm.cluster.estimator_input import imputes, read_new
from sparsekm.cluster.matrices.inputs import as_readable
from sparsekm.cluster.matrices.streamed_matrix import Data


class FeatureSelector(SelectorMixin):
    """scikit-learn's selector, with additional checks of sparse indices and masks."""

    def transform(self, X: Data) -> Any:
        """Keep the selected features.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples with the features that were fitted.

        Returns
        -------
        ndarray, sparse matrix or DataFrame of shape (n_samples, n_selected_features)
            The selected features, in the order of X.

        Raises
        ------
        sklearn.exceptions.NotFittedError, ValueError
            Before `fit`; if X does not have the features of `fit`, or holds NaN or infinity.
        """
        return super().transform(as_readable(X))

    def inverse_transform(self, X: Data) -> Any:
        """Fill the dropped features with zeros.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_selected_features)
            The selected features.

        Returns
        -------
        ndarray or sparse matrix of shape (n_samples, n_features)
            All features, 0 where they were dropped.

        Raises
        ------
        sklearn.exceptions.NotFittedError, ValueError
            Before `fit`; if the number of features of X is not the number that was selected.
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

    def _print_progress(self, done: int, total: int) -> None:
        if getattr(self, "verbose", 0):
            print(f"{type(self).__name__}: step {done} of {total}", flush=True)  # noqa: T201 (asked for by `verbose`)


class LabelPredictor:
    """The method `predict`; subclasses implement `_label`, which gets validated values."""

    _label: Any

    def predict(self, X: Data) -> np.ndarray:
        """Label samples.

        Samples get the label of the nearest centre under the feature weights. In
        `PenalizedGaussianMixture`, they get the label of the most likely component.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            On the scale of the data that were fitted.

        Returns
        -------
        ndarray of shape (n_samples,), int32
            On the training data these are `labels_`. A sample may differ if `trim` set it aside, if
            it has missing values, if ``min_cluster_size > 1`` kept it in a cluster whose centre is
            not the nearest, or if `fit` warned that clusters have the same centre. Not every
            estimator has these options.

        Raises
        ------
        sklearn.exceptions.NotFittedError, ValueError
            Before `fit`; if X does not have the features of `fit`, or holds infinity, or NaN that
            is not imputed.
        """
        check_is_fitted(self)
        return self._label(read_new(self, X))
