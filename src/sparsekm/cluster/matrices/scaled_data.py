"""Samples by features on one scale, and what else is known of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, vstack

from sparsekm.cluster.matrices.dense_parts import feature_means, feature_variances

if TYPE_CHECKING:
    import pandas as pd

    from sparsekm.cluster.matrices.matrix import FeatureMatrix


# What is known of samples besides their values.
OF_SAMPLES = ("labels", "groups", "batch", "weights", "positions")


@dataclass(frozen=True)
class ScaledData:
    """Features of n samples brought to one scale, that scale, and what else is known of them.

    The values as they came are ``X * scale + location``. The workflow's data sets have all of what
    is known, see `sparsekm.io.normalised_file`, other data only their scale.
    """

    # (n, p): z-scores or, sparse, divided by the standard deviations but not centred; a
    # `numpy.memmap`, or of such, if it was not read into memory.
    X: np.ndarray | csr_array
    # (p,), float64: means and standard deviations before z-scoring; None if X is as it came.
    means: np.ndarray | None = None
    deviations: np.ndarray | None = None
    center: np.ndarray | None = None  # (p,), float64: to be subtracted from a sparse X
    var: pd.DataFrame | None = None  # the table of features, p rows
    provenance: Mapping[str, Any] = field(default_factory=dict)
    labels: np.ndarray | None = None  # as `sparsekm.io.known_classes` describes them
    groups: np.ndarray | None = None  # (n,), object array of str
    batch: np.ndarray | None = None  # likewise
    weights: np.ndarray | None = None  # (n,), float64
    positions: np.ndarray | None = None  # (n, d), float64; of an age in millimetres
    regions: pd.DataFrame | None = None  # of an age: the table of its classes
    relevant: np.ndarray | None = None  # (p,), bool
    feature_groups: np.ndarray | None = None  # (p,): names or numbers

    @property
    def scale(self) -> np.ndarray:
        """What X was divided by, (p,)."""
        return np.ones(self.X.shape[1]) if self.deviations is None else self.deviations

    @property
    def location(self) -> np.ndarray:
        """What was subtracted before, (p,)."""
        is_centred = self.means is not None and self.center is None
        return self.means if is_centred else np.zeros(self.X.shape[1])

    @cached_property
    def unit_numbers(self) -> np.ndarray | None:
        """The number of each feature's group, (p,), by first appearance; None without groups."""
        if self.feature_groups is None:
            return None
        # Not at the top, for the same reason.
        from sparsekm.metrics import label_codes

        numbers = label_codes(self.feature_groups, "feature_groups")
        return numbers if numbers.max() + 1 < len(numbers) else None

    @property
    def n_units(self) -> int:
        """How many features, or groups of them, there are to choose."""
        numbers = self.unit_numbers
        return self.X.shape[1] if numbers is None else int(numbers.max()) + 1

    @property
    def features(self) -> list[str]:
        """The names of the features."""
        return [str(name) for name in self.var.index]

    @cached_property
    def matrix(self) -> FeatureMatrix:
        """The values in `X`, centred."""
        # Not at the top: a job that reads a table needs no compiled kernels, which take 100 MB.
        from sparsekm.cluster.matrices.sparse_matrix import as_matrix

        return as_matrix(self.X)

    @cached_property
    def ranked(self) -> dict[tuple, np.ndarray]:
        """What the samples of each fold rank first, which is asked for more than once."""
        return {}

    @classmethod
    def standardise(cls, X: np.ndarray | csr_array) -> ScaledData:
        """Bring features that vary to unit variance (ddof = 1); the dtype stays."""
        n_samples = X.shape[0]
        scale = np.sqrt(feature_variances(X) * (n_samples / max(1, n_samples - 1)))
        # What varies by so little that its variance vanishes stays as it is.
        scale[scale == 0] = 1.0
        if isinstance(X, csr_array):
            scaled = X.copy()
            scaled.data /= scale.astype(X.dtype)[X.indices]
            return cls(scaled, None, scale)
        means = feature_means(X)
        scaled = np.subtract(X, means.astype(X.dtype), order="C")
        scaled /= scale.astype(X.dtype)
        return cls(scaled, means, scale)

    def take(self, samples: np.ndarray) -> ScaledData:
        """Return some of the samples, or some repeatedly, on the same scale."""
        known = {name: getattr(self, name) for name in ("X", *OF_SAMPLES)}
        return replace(self, **{n: of[samples] for n, of in known.items() if of is not None})

    def append(self, others: ScaledData) -> ScaledData:
        """Return these samples and others, which are brought to the same scale."""
        X: Any
        if isinstance(self.X, csr_array):
            X = csr_array(vstack([self.X, others.X.multiply(others.scale / self.scale)]))
        else:
            values = (others.X * others.scale + others.location - self.location) / self.scale
            X = np.concatenate([self.X, values])
        pairs = {name: (getattr(self, name), getattr(others, name)) for name in OF_SAMPLES}
        known = {n: np.concatenate(of) for n, of in pairs.items() if of[0] is not None}
        return replace(self, X=X.astype(self.X.dtype), **known)

    def select(self, features: np.ndarray) -> ScaledData:
        """Return some of the features, given by a mask."""
        of_features = ("means", "deviations", "center", "var", "relevant", "feature_groups")
        known = {name: getattr(self, name) for name in of_features}
        chosen = {name: of[features] for name, of in known.items() if of is not None}
        return replace(self, X=self.X[:, features], **chosen)
