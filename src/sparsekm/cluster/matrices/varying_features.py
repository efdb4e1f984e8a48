"""Features that vary, which alone are clustered; constant ones are put back into what is found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sparsekm.cluster.matrices.dense_parts import as_dense, varying_features
from sparsekm.cluster.matrices.matrix import CentredMatrix
from sparsekm.cluster.matrices.scatter import Matrix
from sparsekm.cluster.matrices.sparse_matrix import SparseMatrix
from sparsekm.cluster.matrices.streamed_matrix import StreamedMatrix


@dataclass(frozen=True)
class VaryingFeatures:
    """Which features of given data vary; all, where none does: such data are refused."""

    varies: np.ndarray  # (n_features,), bool
    # (n_features,): the value of each constant feature; elsewhere these mean nothing.
    constants: np.ndarray

    @classmethod
    def of_matrix(cls, matrix: Matrix) -> VaryingFeatures:
        """Tell the features of a matrix apart."""
        return cls(~matrix.constant | matrix.constant.all(), matrix.means)

    @classmethod
    def of_values(cls, X: np.ndarray | csr_array) -> VaryingFeatures:
        """Tell the features of checked data apart."""
        varies = varying_features(X)
        return cls(varies | ~varies.any(), as_dense(X[:1])[0])

    @property
    def n_features(self) -> int:
        """Number of all features."""
        return len(self.varies)

    @property
    def n_constant(self) -> int:
        """Number of features that do not vary."""
        return int(np.count_nonzero(~self.varies))

    def select(self, X: Any) -> Any:
        """Return the data, or the matrix, of the features that vary."""
        if self.n_constant == 0:
            return X
        places = np.flatnonzero(self.varies)
        if isinstance(X, SparseMatrix):
            return X.keep(places)
        if isinstance(X, CentredMatrix | StreamedMatrix):
            return X.select(places)
        return X[:, places] if isinstance(X, csr_array) else np.take(X, places, axis=1)

    def put_back(self, values: np.ndarray, constants: float | np.ndarray = 0.0) -> np.ndarray:
        """Return values of all features, (..., n_features), from those of the features that vary.

        `constants` is the value for constant features, or an array of all features with theirs.
        """
        if self.n_constant == 0:
            return values
        everywhere = np.empty((*values.shape[:-1], self.n_features), values.dtype)
        everywhere[...] = constants
        everywhere[..., self.varies] = values
        return everywhere
