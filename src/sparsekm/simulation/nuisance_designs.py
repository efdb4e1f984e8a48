"""Data with known classes beside variation that is stronger and has nothing to do with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sparsekm.runtime.one_blas_thread import one_blas_thread
from sparsekm.simulation.gaussian_clusters import RandomState, SimulatedData

HEAVY_TAILED_SHARE = 0.15
DRIVEN_SHARE = 0.3
N_OUTLIERS = 3
N_SPLITTING = 30


def nuisance(
    *,
    nuisance: str,
    random_state: RandomState,
    n_samples: int = 72,
    n_features: int = 1000,
    n_markers: int = 60,
    shift: float = 3.0,
    shares: Sequence[float] = (0.65, 0.35),
    n_factors: int = 4,
    loading: float = 0.5,
) -> SimulatedData:
    """Draw classes with markers, dense Gaussian factors that all features load on, and a nuisance.

    The nuisance "factors" is no other; "batches" are two that shift three tenths of the features; a
    "gradient" is a position between 0 and 1 that three tenths of them rise or fall with;
    "heavy_tails" are t-distributed features with three degrees of freedom; "outliers" three samples
    with three times the noise; "split" a first class of two halves that 30 features of their own
    tell apart.

    The markers are shifted in one class each, the classes in turn, by `shift` standard deviations
    of the noise up or down. `shares` are those of the samples in each class, `loading` is the
    standard deviation of the loadings. Features are z-scored with ddof = 1.
    """
    if nuisance not in _NUISANCES:
        raise ValueError(f"nuisance={nuisance!r} should be one of {sorted(_NUISANCES)}.")
    rng = np.random.default_rng(random_state)
    bounds = np.cumsum(shares)[:-1] * n_samples
    labels = np.searchsorted(bounds, np.arange(n_samples) + 0.5)
    X = rng.standard_normal((n_samples, n_features))
    factors = rng.standard_normal((n_samples, n_factors))
    with one_blas_thread:
        X += factors @ (loading * rng.standard_normal((n_factors, n_features)))
    _NUISANCES[nuisance](X, labels, n_markers, rng)
    for feature in range(n_markers):
        X[:, feature] += shift * rng.choice([-1, 1]) * (labels == feature % len(shares))
    X -= X.mean(axis=0)
    X /= X.std(axis=0, ddof=1)
    relevant = np.arange(n_features) < n_markers
    return SimulatedData(X, labels, relevant, "nuisance", {"nuisance": nuisance})


def _add_batches(X, labels, n_markers, rng):
    driven = _draw_features(X, n_markers, DRIVEN_SHARE, rng)
    batch = rng.integers(2, size=len(X))
    X[:, driven] += 1.5 * batch[:, None] * rng.choice([-1, 1], len(driven))


def _add_gradient(X, labels, n_markers, rng):
    driven = _draw_features(X, n_markers, DRIVEN_SHARE, rng)
    position = rng.uniform(size=len(X))
    X[:, driven] += 4 * position[:, None] * rng.choice([-1, 1], len(driven))


def _add_heavy_tails(X, labels, n_markers, rng):
    driven = _draw_features(X, n_markers, HEAVY_TAILED_SHARE, rng)
    X[:, driven] += rng.standard_t(3, (len(X), len(driven)))


def _add_outliers(X, labels, n_markers, rng):
    X[rng.choice(len(X), N_OUTLIERS, replace=False)] *= 3


def _split_class(X, labels, n_markers, rng):
    half = (labels == 0) & (rng.random(len(X)) < 0.5)
    X[:, n_markers : n_markers + N_SPLITTING] += 3 * half[:, None]


def _add_nothing(X, labels, n_markers, rng):
    pass


_NUISANCES: dict[str, Callable] = {
    "factors": _add_nothing,
    "batches": _add_batches,
    "gradient": _add_gradient,
    "heavy_tails": _add_heavy_tails,
    "outliers": _add_outliers,
    "split": _split_class,
}


def _draw_features(X, n_markers, share, rng) -> np.ndarray:
    """Draw features that are no markers."""
    n_features = X.shape[1]
    others = np.arange(n_markers, n_features)
    return rng.choice(others, min(len(others), int(share * n_features)), replace=False)
