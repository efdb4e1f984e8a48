"""The paper's four experiments as data generators.

Clusters are contiguous, and the first features are relevant. Within cluster k a sample is N(mu_k,
Sigma) with unit variances; Sigma is the identity except in Experiment 4, where Sigma_ab = rho^|a -
b| (Chang, Wang, Li & Xu, section "Evaluation on synthetic data").
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def replicate_seed(
    root: int, experiment: str, setting: Mapping[str, Any] | str, replicate: int
) -> np.random.SeedSequence:
    """Derive the seed of one replicate; it is the same on every platform.

    Parameters
    ----------
    root : int
        Root of all seeds.
    experiment : str
        Name of the experiment.
    setting : mapping or str
        Arguments of the experiment, such as mu, or another description of the setting.
    replicate : int
        Number of the replicate.

    Returns
    -------
    numpy.random.SeedSequence
        The seed. It does not depend on the order of the arguments in `setting`, and 1 and 1.0 give
        the same seed.
    """
    text = json.dumps([experiment, _canonical(setting)], sort_keys=True)
    # This is a digest and not hash(), which differs from process to process.
    words = np.frombuffer(hashlib.sha256(text.encode()).digest(), dtype="<u4")
    return np.random.SeedSequence(int(root), spawn_key=(*map(int, words), int(replicate)))


def _canonical(value):
    """Return plain JSON values, in which 1, 1.0 and NumPy's numbers are equal."""
    if isinstance(value, Mapping):
        return {str(key): _canonical(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


RandomState = int | np.random.SeedSequence | np.random.Generator


@dataclass(frozen=True, eq=False)
class SimulatedData:
    """A data matrix with the clusters and the relevant features that were planted in it.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features), float64
        The data.
    labels : ndarray of shape (n_samples,), int64
        True cluster of each sample, from 0 to n_clusters - 1.
    relevant : ndarray of shape (n_features,), bool
        Whether the means of the clusters differ in a feature.
    """

    X: np.ndarray
    labels: np.ndarray
    relevant: np.ndarray

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
    random_state: RandomState,
) -> SimulatedData:
    """Draw Gaussian clusters that differ only in their first features.

    Before standardisation, every feature has variance 1 within the clusters.

    Parameters
    ----------
    means : array-like of shape (n_clusters, n_shifted)
        Means of the clusters in the first `n_shifted` features. All other means are 0.
    cluster_sizes : int or sequence of int
        Number of samples in each cluster. A single number is the size of every cluster.
    n_features : int
        Number of features, at least `n_shifted`.
    correlation : float, default=0.0
        Within clusters, features a and b correlate as ``correlation ** abs(a - b)``.
    standardise : bool, default=True
        Whether to standardise the features after drawing (ddof = 1).
    random_state : int, SeedSequence or Generator
        Controls the randomness.

    Returns
    -------
    SimulatedData
        The samples, cluster after cluster.

    Raises
    ------
    ValueError
        If an argument has a wrong shape or is out of its range.

    Examples
    --------
    >>> data = gaussian_clusters([[3.0, 3.0], [-3.0, -3.0]], 5, 4, random_state=0)
    >>> data.X.shape, data.relevant.tolist()
    ((10, 4), [True, True, False, False])
    """
    means, sizes = _check_design(means, cluster_sizes, n_features, correlation)
    if standardise and sizes.sum() < 2:
        raise ValueError(f"n_samples={sizes.sum()} should be >= 2 to standardise.")
    labels = np.repeat(np.arange(len(means)), sizes)
    rng = np.random.default_rng(random_state)
    X = rng.standard_normal((len(labels), n_features))
    if correlation != 0:
        # Imported here: scipy.signal takes a second to load, and most jobs do not need it.
        from scipy.signal import lfilter

        # x_b = rho x_(b-1) + sqrt(1 - rho^2) e_b, in O(n p).
        X[:, 1:] *= np.sqrt(1 - correlation**2)
        X = lfilter([1.0], [1.0, -correlation], X, axis=1)
    X[:, : means.shape[1]] += means[labels]
    if standardise:
        X -= X.mean(axis=0)
        X /= X.std(axis=0, ddof=1)
    relevant = np.zeros(n_features, dtype=bool)
    relevant[: means.shape[1]] = (means != means[0]).any(axis=0)
    return SimulatedData(X, labels, relevant)


def _check_design(means, cluster_sizes, n_features, correlation):
    means, sizes = np.asarray(means, dtype=np.float64), np.asarray(cluster_sizes)
    if means.ndim != 2 or len(means) == 0 or not np.isfinite(means).all():
        raise ValueError(
            f"means should be finite, of shape (n_clusters, n_shifted), got shape {means.shape}."
        )
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


@dataclass(frozen=True)
class Experiment:
    """A design in which all relevant features have the same mean within a cluster.

    Calling an experiment draws data of this design; `draw_replicate` calls it with a seed.

    Parameters
    ----------
    name : str
        Name of the experiment.
    levels : tuple of float
        Means of the clusters in the relevant features, in units of mu.
    defaults : mapping
        Default arguments: n_features, n_relevant, cluster_size (the samples of each cluster), mu
        and, for correlated features, rho. Features a and b correlate as ``rho ** abs(a - b)``.
    data_sets : mapping
        Maps each allowed n_features to the other arguments, if only n_features can be chosen.
    """

    name: str
    levels: tuple[float, ...]  # means of the clusters on the relevant features, in units of mu
    # Arguments: the size of the design (``n_features``, ``n_relevant``, ``cluster_size``), ``mu``,
    # and ``rho`` where features a and b correlate as rho^|a - b|.
    defaults: Mapping[str, float]
    # If only ``n_features`` can be chosen: the other arguments for each of its values.
    data_sets: Mapping[int, Mapping[str, float]] = field(default_factory=dict)

    def __call__(
        self,
        *,
        random_state: RandomState,
        standardise: bool = True,
        **arguments: float,
    ) -> SimulatedData:
        """Draw data of the design.

        Parameters
        ----------
        random_state : int, SeedSequence or Generator
            Controls the randomness.
        standardise : bool, default=True
            Whether to standardise the features after drawing (ddof = 1).
        **arguments
            Arguments that replace those in `defaults`.

        Returns
        -------
        SimulatedData
            The samples, cluster after cluster.

        Raises
        ------
        TypeError, ValueError
            If an argument is unknown or out of its range.
        """
        unknown = sorted(set(arguments) - set(self.defaults))
        if unknown:
            raise TypeError(f"{self.name}: arguments {unknown} should be among {[*self.defaults]}.")
        chosen = {**self.defaults, **arguments}
        if self.data_sets:
            if chosen["n_features"] not in self.data_sets:
                raise ValueError(
                    f"n_features={chosen['n_features']} should be one of {list(self.data_sets)}, "
                    "the paper's data sets; experiment_2 takes any size."
                )
            chosen |= self.data_sets[chosen["n_features"]]
        if chosen["n_relevant"] < 0:
            raise ValueError(f"n_relevant={chosen['n_relevant']} should be >= 0.")
        return gaussian_clusters(
            np.outer(chosen["mu"] * np.array(self.levels), np.ones(chosen["n_relevant"])),
            chosen["cluster_size"],
            chosen["n_features"],
            correlation=chosen.get("rho", 0.0),
            standardise=standardise,
            random_state=random_state,
        )


SIX_LEVELS = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
THREE_LEVELS = (1.0, -1.0, 0.0)
_LARGE = {"n_features": 2000, "n_relevant": 200, "cluster_size": 20}

experiment_1 = Experiment("experiment_1", SIX_LEVELS, {**_LARGE, "mu": 0.5})
"""120 samples in six clusters; the paper's size is the default."""

experiment_2 = Experiment(
    "experiment_2",
    THREE_LEVELS,
    {"mu": 0.6, "n_features": 200, "n_relevant": 50, "cluster_size": 20},
)
"""60 samples in three clusters; the paper takes mu = 0.6 and 0.7, and p = 200, 500 and 1000."""

experiment_3 = Experiment(
    "experiment_3",
    THREE_LEVELS,
    {"n_features": 25},
    {
        25: {"n_relevant": 5, "cluster_size": 10, "mu": 1.0},
        500: {"n_relevant": 50, "cluster_size": 20, "mu": 0.7},
    },
)
"""The means of Experiment 2 in a small and a larger data set."""

experiment_4 = Experiment("experiment_4", SIX_LEVELS, {"rho": 0.1, **_LARGE, "mu": 1.0})
"""Experiment 1 with correlated features; the paper takes rho = 0.1 and 0.3."""

EXPERIMENTS = {each.name: each for each in (experiment_1, experiment_2, experiment_3, experiment_4)}


def draw_replicate(
    experiment: str, setting: Mapping[str, Any], *, root: int, replicate: int
) -> SimulatedData:
    """Draw one replicate of one of the paper's experiments.

    Parameters
    ----------
    experiment : str
        "experiment_1" (six clusters), "experiment_2" (three clusters), "experiment_3" (the means of
        experiment_2 in a small and a larger data set) or "experiment_4" (experiment_1 with
        correlated features).
    setting : mapping
        Arguments of the experiment that replace its defaults, such as ``{"mu": 0.7}``. See
        `Experiment`.
    root : int
        Root of all seeds.
    replicate : int
        Number of the replicate. Each number gives other data.

    Returns
    -------
    SimulatedData
        The samples, cluster after cluster.

    Raises
    ------
    TypeError, ValueError
        If the experiment or an argument is unknown, or an argument is out of its range.
    """
    if experiment not in EXPERIMENTS:
        raise ValueError(f"experiment={experiment!r} should be one of {list(EXPERIMENTS)}.")
    seed = replicate_seed(root, experiment, setting, replicate)
    return EXPERIMENTS[experiment](**setting, random_state=seed)
