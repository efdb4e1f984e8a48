"""Samples by features on one scale, and their description."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.sparse import csr_array

from sparsekm.cluster.description import Description
from sparsekm.cluster.matrices.dense_parts import feature_means, feature_variances

if TYPE_CHECKING:
    from sparsekm.cluster.matrices.matrix import FeatureMatrix


@dataclass(frozen=True)
class ScaledData:
    """Features of n samples brought to one scale, that scale, and a description of both.

    The original values are ``X * scale + location``.
    """

    # (n, p): z-scores or, if sparse, values divided by the standard deviations but not centred. It
    # is a `numpy.memmap`, or consists of such arrays, if it was not read into memory.
    X: np.ndarray | csr_array
    # (p,), float64: means and standard deviations before standardisation; None if X is unscaled.
    means: np.ndarray | None = None
    deviations: np.ndarray | None = None
    center: np.ndarray | None = None  # (p,), float64: to be subtracted from a sparse X
    about: Description = field(default_factory=Description)

    @property
    def scale(self) -> np.ndarray:
        """What X was divided by, (p,)."""
        return np.ones(self.X.shape[1]) if self.deviations is None else self.deviations

    @property
    def location(self) -> np.ndarray:
        """What was subtracted before the division, (p,)."""
        is_centred = self.means is not None and self.center is None
        return self.means if is_centred else np.zeros(self.X.shape[1])

    @property
    def unit_numbers(self) -> np.ndarray | None:
        """The number of each feature's group, see `Description`."""
        return self.about.unit_numbers

    @property
    def n_units(self) -> int:
        """The number of features, or groups of features, to choose from."""
        numbers = self.unit_numbers
        return self.X.shape[1] if numbers is None else int(numbers.max()) + 1

    @cached_property
    def matrix(self) -> FeatureMatrix:
        """The values in `X`, centred."""
        # Not imported at the top: compiled kernels take 100 MB, and a job that reads a table does
        # not need them.
        from sparsekm.cluster.matrices.sparse_matrix import as_matrix

        return as_matrix(self.X)

    @cached_property
    def ranked(self) -> dict[tuple, np.ndarray]:
        """The features ranked first by the samples of each fold, which are used more than once."""
        return {}

    @classmethod
    def standardise(cls, X: np.ndarray | csr_array) -> ScaledData:
        """Bring features that vary to unit variance (ddof = 1); the dtype stays."""
        n_samples = X.shape[0]
        scale = np.sqrt(feature_variances(X) * (n_samples / max(1, n_samples - 1)))
        # A feature whose variance underflows to 0 stays unchanged.
        scale[scale == 0] = 1.0
        if isinstance(X, csr_array):
            scaled = X.copy()
            scaled.data /= scale.astype(X.dtype)[X.indices]
            return cls(scaled, None, scale)
        means = feature_means(X)
        scaled = np.subtract(X, means.astype(X.dtype), order="C")
        scaled /= scale.astype(X.dtype)
        return cls(scaled, means, scale)

    def standardise_by(self, samples: np.ndarray) -> Self:
        """Return all samples as z-scores by the moments of some, if they were z-scores."""
        if self.deviations is None:
            return self
        part = self.X[samples]
        moved, spread = feature_means(part), feature_variances(part)
        spread = np.sqrt(spread * (len(samples) / max(1, len(samples) - 1)))
        spread[spread == 0] = 1.0
        known: dict[str, Any] = {"deviations": self.deviations * spread}
        if isinstance(self.X, csr_array):
            scaled: Any = csr_array(self.X.multiply(1 / spread))
            if self.center is not None:
                known["center"] = moved / spread
        else:
            scaled = (self.X - moved) / spread
        if self.means is not None:
            offset = 0 if self.center is None else self.center
            known["means"] = self.means + self.deviations * (moved - offset)
        return replace(self, X=scaled.astype(self.X.dtype), **known)

    def take(self, samples: np.ndarray | slice) -> Self:
        """Return some of the samples, or some repeatedly, on the same scale."""
        if np.array_equal(samples, np.arange(self.X.shape[0])):
            return self
        return replace(self, X=self.X[samples], about=self.about.take(samples))

    def select(self, features: np.ndarray) -> Self:
        """Return some of the features, given by a mask."""
        known = {name: getattr(self, name) for name in ("means", "deviations", "center")}
        chosen = {name: of[features] for name, of in known.items() if of is not None}
        return replace(self, X=self.X[:, features], about=self.about.select(features), **chosen)
