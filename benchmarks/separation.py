"""Which clusters are separated, and how many there are, on simulated designs with and without them.

A row per design: how often any two clusters are separated, how often there is a signature, and the
mean classification error rate; then how often ``n_clusters="auto"`` finds the known number. The
draws are the same in every run. See docs/choosing_features.md.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pandas as pd

from sparsekm import SparseKMeans, classification_error_rate
from sparsekm.runtime.threads import one_blas_thread
from sparsekm.simulation import experiment_2

DRAWS, COUNT_DRAWS = 25, 3
N, P = 60, 200
COUNTS = (2, 3, 4, 5, 8)


def _noise(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((N, P))


def _modules(rng: np.random.Generator, size: int, number: int = 1) -> np.ndarray:
    """Draw modules of features that share a factor, which explains seven tenths of them."""
    X = _noise(rng)
    for first in range(0, size * number, size):
        own = X[:, first : first + size]
        own *= np.sqrt(0.3)
        own += np.sqrt(0.7) * rng.standard_normal((N, 1))
    return X


def _autoregressive(rng: np.random.Generator) -> np.ndarray:
    X = _noise(rng)
    for feature in range(1, P):
        X[:, feature] = 0.8 * X[:, feature - 1] + 0.6 * X[:, feature]
    return X


def _gradient(rng: np.random.Generator) -> np.ndarray:
    X = _noise(rng)
    X[:, :40] += 3 * rng.uniform(size=(N, 1))
    return X


def _outlier(rng: np.random.Generator) -> np.ndarray:
    X = _noise(rng)
    X[0] *= 5
    return X


def _skewed(rng: np.random.Generator) -> np.ndarray:
    X = _noise(rng)
    X[:, :60] += rng.gamma(1, 1, size=(N, 1)) * rng.uniform(0.3, 1, 60)
    return X


@one_blas_thread
def _factors(rng: np.random.Generator) -> np.ndarray:
    return _noise(rng) + rng.standard_normal((N, 3)) @ (0.6 * rng.standard_normal((3, P)))


def _compositional(rng: np.random.Generator) -> np.ndarray:
    amounts = np.exp(_noise(rng) + rng.standard_normal(P))
    return np.log(amounts / amounts.sum(axis=1, keepdims=True))


WITHOUT: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "independent": _noise,
    "module of 20": lambda rng: _modules(rng, 20),
    "module of 8": lambda rng: _modules(rng, 8),
    "three modules": lambda rng: _modules(rng, 20, 3),
    "five modules": lambda rng: _modules(rng, 20, 5),
    "t4": lambda rng: rng.standard_t(4, size=(N, P)),
    "outlier": _outlier,
    "skewed factor": _skewed,
    "autoregressive": _autoregressive,
    "binary": lambda rng: (rng.uniform(size=(N, P)) < rng.uniform(0.1, 0.9, P)).astype(float),
    "counts": lambda rng: rng.poisson(rng.gamma(2, 2, P), size=(N, P)).astype(float),
    "gradient": _gradient,
    "factors": _factors,
    "compositional": _compositional,
    "20 samples": lambda rng: rng.standard_normal((20, P)),
}


def _likert(values: np.ndarray) -> np.ndarray:
    """Round answers to 1 to 5."""
    return np.clip(np.rint(values + 3), 1, 5)


def _items(rng: np.random.Generator, n_items: int) -> np.ndarray:
    """Draw binary answers without any groups."""
    return (rng.uniform(size=(100, n_items)) < rng.uniform(0.3, 0.7, n_items)).astype(float)


# 100 samples of few features or few values, K = 2.
FEW: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "1 binary item": lambda rng: _items(rng, 1),
    "5 binary items": lambda rng: _items(rng, 5),
    "10 binary items": lambda rng: _items(rng, 10),
    "1 Likert item": lambda rng: _likert(rng.standard_normal((100, 1))),
    "10 Likert items": lambda rng: _likert(rng.standard_normal((100, 10))),
    "1 feature": lambda rng: rng.standard_normal((100, 1)),
    "10 features": lambda rng: rng.standard_normal((100, 10)),
    "10 features, 1 binary item": lambda rng: np.hstack(
        [rng.standard_normal((100, 10)), _items(rng, 1)]
    ),
}


def _in_donors(kind: str, n_features: int, n_donors: int) -> Callable:
    """Draw 20 samples of each donor: a Gaussian or a gradient, or two types in every donor."""

    def draw(rng):
        donor = np.repeat(np.arange(n_donors), 20)
        X = rng.standard_normal((len(donor), n_features))
        X += (1.0 if kind == "Gaussian" else 0.5) * rng.standard_normal((n_donors, n_features))[
            donor
        ]
        labels = rng.integers(0, 2, len(donor))
        if kind == "gradient":
            X += 6 * rng.uniform(size=(len(donor), 1))
        if kind == "two types":
            X[labels == 1, : (n_features + 1) // 2] += 4
        return X, labels, donor

    return draw


DONORS = {
    f"{kind}, {n_features} features, {n_donors} donors": _in_donors(kind, n_features, n_donors)
    for kind, n_features, n_donors in product(("Gaussian", "gradient"), (1, 5, 10), (6, 12, 20))
}
TYPES = {
    f"two types in {n_donors} donors": _in_donors("two types", 10, n_donors)
    for n_donors in (6, 12, 20)
}


def _correlated(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    labels, means = np.repeat([0, 1, 2], 20), np.zeros((3, P))
    means[:, :50] = 2 * rng.choice([-1, 0, 1], size=(3, 50))
    return _autoregressive(rng) + means[labels], labels


def _unequal(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    labels, X = np.repeat([0, 1], [48, 12]), _noise(rng)
    X[labels == 1, :40] += 1.5
    return X, labels


def _experiment_2(mu: float) -> Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]:
    def draw(rng):
        data = experiment_2(mu=mu, n_features=P, random_state=rng, standardise=False)
        return data.X, data.labels

    return draw


def _beside_factor(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    labels, X = np.repeat([0, 1, 2], 20), _noise(rng)
    X[:, :40] += 1.5 * rng.choice([-1, 0, 1], (3, 40))[labels]
    X[:, 40:70] += 1.5 * rng.standard_normal((N, 1))
    return X, labels


def _latent(rng: np.random.Generator, is_binary: bool) -> tuple[np.ndarray, np.ndarray]:
    """Draw ten items that two latent classes of 100 answer differently."""
    labels = np.arange(200) % 2
    shift = np.where(labels[:, None] == 1, 1.0, -1.0) * rng.choice([-1, 1], 10)
    if is_binary:
        return (rng.random((200, 10)) < 0.5 + 0.35 * shift).astype(float), labels
    return _likert(shift + rng.standard_normal((200, 10))), labels


def _in_zeros(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw positive values, of which groups differ in the shares of zeros in 8 of 60 features."""
    labels, X = np.arange(120) % 2, np.exp(0.5 * rng.standard_normal((120, 60)) + 1)
    zeros = np.tile(rng.uniform(0.1, 0.8, 60), (120, 1))
    zeros[:, :8] = np.where(labels[:, None] == (rng.random(8) < 0.5), 0.8, 0.1)
    X[rng.random(X.shape) < zeros] = 0
    return X, labels


WITH = {
    "correlated clusters": _correlated,
    "Experiment 2, mu = 0.7": _experiment_2(0.7),
    "Experiment 2, mu = 0.6": _experiment_2(0.6),
    "48 and 12 samples": _unequal,
    "three groups beside a factor": _beside_factor,
    "two latent classes in ten binary items": lambda rng: _latent(rng, True),
    "two latent classes in ten Likert items": lambda rng: _latent(rng, False),
    "groups in the zeros of 8 of 60 features": _in_zeros,
}


def _count_design(rng, n_clusters: int, modules: bool) -> tuple[np.ndarray, np.ndarray]:
    """Draw clusters in 100 of 500 features; five modules of 40 others share a factor each."""
    labels, X = np.arange(120) % n_clusters, rng.standard_normal((120, 500))
    for first in range(200, 400, 40) if modules else ():
        X[:, first : first + 40] += 1.2 * rng.standard_normal((120, 1))
    X[:, :100] += rng.standard_normal((n_clusters, 100))[labels]
    return X, labels


def benchmark() -> pd.DataFrame:
    """Draw every design, and tabulate what was found."""
    rows = []
    for number, (name, draw) in enumerate((WITHOUT | WITH | FEW | DONORS | TYPES).items()):
        found = []
        for index in range(DRAWS):
            drawn = draw(np.random.default_rng([number, index]))
            X, labels, groups = (
                (*drawn, None)[:3] if isinstance(drawn, tuple) else (drawn, None, None)
            )
            labels = labels if name in WITH or name in TYPES else None
            n_clusters = 3 if name in WITHOUT else 2 if labels is None else len(np.unique(labels))
            fit = SparseKMeans(n_clusters, random_state=index).fit(X, groups=groups)
            cer = np.nan if labels is None else classification_error_rate(labels, fit.labels_)
            found.append((fit.has_clusters_, fit.signature_ is not None, cer))
        separated, signature, cer = np.mean(np.array(found, float), axis=0)
        row = {"design": name, "separated": separated, "signature": signature, "cer": cer}
        rows.append(row)
        print(f"{name} done", flush=True)
    for n_clusters, modules in product(COUNTS, (False, True)):
        right = []
        for index in range(COUNT_DRAWS):
            X, _ = _count_design(np.random.default_rng([n_clusters, index]), n_clusters, modules)
            fit = SparseKMeans("auto", random_state=index).fit(X)
            right.append(fit.n_clusters_ == n_clusters)
        name = f"{n_clusters} clusters{' beside five modules' if modules else ''}"
        rows.append({"design": name, "right_count": np.mean(right)})
        print(f"{name} done", flush=True)
    return pd.DataFrame(rows).assign(draws=DRAWS)
