"""What every estimator with feature weights selects: the features whose weight is positive."""

from __future__ import annotations

from typing import Any

from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from sparsekm.cluster.argument_types import Data
from sparsekm.cluster.matrices.sparse_checks import as_readable


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
        """
        return super().inverse_transform(as_readable(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.feature_weights_ > 0
