"""Which features vary, and whether the samples can be clustered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from sparsekm.cluster.matrices.dense_parts import as_dense
from sparsekm.cluster.matrices.matrix import FeatureMatrix


@dataclass(frozen=True)
class VaryingFeatures:
    """Which features vary. If none does, all are marked, because such data are refused later."""

    varies: np.ndarray  # (n_features,), bool
    # (n_features,): the value of each constant feature; undefined for features that vary.
    constants: np.ndarray

    @classmethod
    def of_matrix(cls, matrix: FeatureMatrix) -> VaryingFeatures:
        """Find which features of a matrix vary."""
        return cls(~matrix.constant | matrix.constant.all(), matrix.means)

    @classmethod
    def of_values(cls, X: np.ndarray | csr_array) -> VaryingFeatures:
        """Find which features of checked data vary."""
        largest, smallest = X.max(axis=0), X.min(axis=0)
        if issparse(X):
            largest, smallest = largest.toarray(), smallest.toarray()
        varies = largest != smallest
        return cls(varies | ~varies.any(), as_dense(X[:1])[0])

    @property
    def n_features(self) -> int:
        """Number of all features."""
        return len(self.varies)

    @property
    def n_constant(self) -> int:
        """Number of features that do not vary."""
        return int(np.count_nonzero(~self.varies))

    @property
    def counts(self) -> tuple[int, int]:
        """Numbers of all features, and of those that do not vary."""
        return self.n_features, self.n_constant

    def select(self, X: Any) -> Any:
        """Return the data, or the matrix, of the features that vary."""
        if self.n_constant == 0:
            return X
        places = np.flatnonzero(self.varies)
        if isinstance(X, FeatureMatrix):
            return X.keep(places)
        return X[:, places] if issparse(X) else np.take(X, places, axis=1)

    def put_back(self, values: np.ndarray, constants: float | np.ndarray = 0.0) -> np.ndarray:
        """Return values for all features, (..., n_features), from values for those that vary."""
        if self.n_constant == 0:
            return values
        everywhere = np.empty((*values.shape[:-1], self.n_features), values.dtype)
        everywhere[...] = constants
        everywhere[..., self.varies] = values
        return everywhere


# The numbers of samples and values that are made dense at once to see whether they differ.
SAMPLES_AT_ONCE = 64
VALUES_AT_ONCE = 2**20


def check_matrix(X: FeatureMatrix, n_clusters: int, min_cluster_size: int) -> None:
    """Refuse, by a ValueError, a finite matrix that cannot be split into the requested clusters."""
    n_samples, fewest = X.n_samples, n_clusters * min_cluster_size
    if n_samples < fewest:
        what = "n_clusters=" if min_cluster_size == 1 else "n_clusters * min_cluster_size = "
        raise ValueError(f"n_samples={n_samples} should be >= {what}{fewest}.")
    if n_samples > 1 and X.constant.all():
        raise ValueError(
            f"All n_features={X.n_features} features are constant; at least 1 should vary."
        )
    # No sum of squares may overflow, and those of the largest values should be exact.
    limits, largest = np.finfo(X.dtype), X.largest
    highest = float(np.sqrt(limits.max / (4.0 * X.n_samples * X.n_features)))
    lowest = float(np.sqrt(limits.tiny / limits.eps))
    if largest != 0 and not lowest <= largest <= highest:
        raise ValueError(
            f"values of X differ by up to {largest:.1e} from the means of their features; this "
            f"should be >= {lowest:.1e} and <= {highest:.1e} in {X.dtype}. Rescale the data."
        )
    distinct = count_distinct(X, n_clusters)
    if distinct < n_clusters:
        raise ValueError(
            f"n_clusters={n_clusters} should be <= the number of distinct samples, {distinct}."
        )


def count_distinct(X: FeatureMatrix, enough: int) -> int:
    """Count distinct samples, but stop at `enough`."""
    seen: set[bytes] = set()
    most = max(1, min(SAMPLES_AT_ONCE, VALUES_AT_ONCE // X.n_features))
    for _, columns in X.blocks():
        start, stop = 0, enough
        while start < columns.shape[1] and len(seen) < enough:
            some = np.asarray(columns[:, start:stop])
            # Adding 0.0 makes -0.0 and 0.0 equal.
            seen.update((row + 0.0).tobytes() for row in some.T)
            # The first few samples are nearly always enough.
            start, stop = stop, stop + min(most, stop)
    return min(len(seen), enough)
