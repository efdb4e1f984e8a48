"""Gaussian clusters that differ in some features only, and the record a simulated data set is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

RandomState = int | np.random.SeedSequence | np.random.Generator


@dataclass(frozen=True, eq=False)
class SimulatedData:
    """A data matrix with the partition and the support it was planted with."""

    X: np.ndarray  # (n, p), float64: z-scored unless `parameters["standardise"]` is false
    labels: np.ndarray  # (n,), int64: true cluster of each sample, 0 to n_clusters - 1
    relevant: np.ndarray  # (p,), bool: whether the clusters' means differ
    name: str  # of the design
    # Settings of the design, as plain numbers, lists and booleans.
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def n_clusters(self) -> int:
        """Number of planted clusters."""
        return len(np.unique(self.labels))


def gaussian_clusters(
    means: ArrayLike,
    cluster_sizes: int | Sequence[int],
    n_features: int,
    *,
    correlation: float = 0.0,
    standardise: bool = True,
    ddof: int = 1,
    random_state: RandomState,
    name: str = "gaussian_clusters",
    parameters: Mapping[str, Any] | None = None,
) -> SimulatedData:
    """Draw Gaussian clusters that differ in their first features only.

    The means have the shape (n_clusters, n_shifted); in the other features they are zero. One
    number in `cluster_sizes` stands for equal sizes. The correlation is the rho of Sigma_ab =
    rho^|a - b|, between -1 and 1. Columns are z-scored, with `ddof`, if `standardise`. A Generator
    as `random_state` is advanced. `name` and `parameters`, by default the arguments of this
    function, are written into the result.

    Examples
    --------
    >>> data = gaussian_clusters([[3.0, 3.0], [-3.0, -3.0]], 5, 4, random_state=0)
    >>> data.X.shape, data.relevant.tolist()
    ((10, 4), [True, True, False, False])
    """
    means, sizes = _check_design(means, cluster_sizes, n_features, correlation)
    if standardise and sizes.sum() <= ddof:
        raise ValueError(f"n_samples={sizes.sum()} should be > ddof={ddof} to standardise.")
    labels = np.repeat(np.arange(len(means)), sizes)
    rng = np.random.default_rng(random_state)
    X = _autoregressive_noise(rng, (len(labels), n_features), correlation)
    X[:, : means.shape[1]] += means[labels]
    if standardise:
        X -= X.mean(axis=0)
        X /= X.std(axis=0, ddof=ddof)
    relevant = np.zeros(n_features, dtype=bool)
    relevant[: means.shape[1]] = (means != means[0]).any(axis=0)
    if parameters is None:
        parameters = {
            "means": means.tolist(),
            "cluster_sizes": sizes.tolist(),
            "n_features": int(n_features),
            "correlation": float(correlation),
        }
    normalisation = {"standardise": bool(standardise), "ddof": int(ddof)}
    return SimulatedData(X, labels, relevant, name, {**parameters, **normalisation})


def _check_design(means, cluster_sizes, n_features, correlation):
    means = np.asarray(means, dtype=np.float64)
    if means.ndim != 2 or len(means) == 0 or not np.isfinite(means).all():
        raise ValueError(
            f"means should be finite, of shape (n_clusters, n_shifted), got shape {means.shape}."
        )
    sizes = np.asarray(cluster_sizes)
    sizes = np.full(len(means), sizes) if sizes.ndim == 0 else sizes
    if sizes.shape != (len(means),) or sizes.dtype.kind not in "iu" or (sizes < 1).any():
        raise ValueError(
            f"cluster_sizes={cluster_sizes} should be {len(means)} integers >= 1, or one for all."
        )
    if n_features < max(means.shape[1], 1):
        raise ValueError(
            f"n_features={n_features} should be >= 1 and >= n_relevant={means.shape[1]}."
        )
    if not -1 < correlation < 1:
        raise ValueError(f"correlation={correlation} should be > -1 and < 1.")
    return means, sizes


def _autoregressive_noise(rng, shape, correlation):
    """Draw rows of N(0, Sigma), Sigma_ab = rho^|a - b|, by x_b = rho x_(b-1) + sqrt(1 - rho^2) e_b.

    The recursion costs O(n p); a factor of Sigma would cost O(p^3).
    """
    noise = rng.standard_normal(shape)
    if correlation == 0:
        return noise
    # scipy.signal takes a second to load, which most jobs can save.
    from scipy.signal import lfilter

    noise[:, 1:] *= np.sqrt(1 - correlation**2)
    return lfilter([1.0], [1.0, -correlation], noise, axis=1)
