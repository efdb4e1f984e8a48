"""The data matrix as the engine wants it: centred, one contiguous block per feature."""

from __future__ import annotations

import numpy as np

from sparsekm.cluster.compiled import compiled


class CentredMatrix:
    """A data matrix with its feature means removed.

    Between-cluster sums of squares do not change under a shift, and centring keeps them exact
    when the means are large beside the spread.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features), float32 or float64
        The data. It is copied, never changed.

    Attributes
    ----------
    columns : ndarray of shape (n_features, n_samples)
        The centred data, feature after feature in memory, in the dtype of `X`. Choosing features
        is then choosing rows of this array: no copy is made.
    means : ndarray of shape (n_features,), float64
        The feature means.
    """

    def __init__(self, X: np.ndarray) -> None:
        self.columns = np.ascontiguousarray(X.T)
        if self.columns is X or np.shares_memory(self.columns, X):
            self.columns = self.columns.copy()
        self.means = np.empty(self.columns.shape[0])
        _centre_columns(self.columns, self.means)
        self._rows: np.ndarray | None = None

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.columns.shape[1]

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.columns.shape[0]

    @property
    def rows(self) -> np.ndarray:
        """The same data as float64, sample after sample; made when first asked for."""
        if self._rows is None:
            self._rows = np.ascontiguousarray(self.columns.T, dtype=np.float64)
        return self._rows


@compiled
def _centre_columns(columns, means):
    p, n = columns.shape
    for j in range(p):
        column = columns[j]
        total = 0.0
        constant = True
        for i in range(n):
            total += column[i]
            if column[i] != column[0]:
                constant = False
        mean = total / n
        if constant:
            # The rounded mean of equal numbers need not equal them; a constant feature must score
            # zero and not the square of a rounding error.
            mean = np.float64(column[0])
        means[j] = mean
        for i in range(n):
            column[i] = column[i] - mean
