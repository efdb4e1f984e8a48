"""The data that searches are compared on: seven designs, from 60 to 28,455 samples."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.many_samples import simulate
from sparsekm.pipeline.scales import standardise
from sparsekm.simulation import draw_replicate

ATLAS_SIZE = (28_455, 1_724)


Draw = Callable[[int], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class SearchDesign:
    """One design."""

    n_clusters: int
    n_sparsities: int  # length of the default grid
    draw: Draw  # takes a seed, returns data and labels


def few_weak(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw Experiment 2: 60 x 1,000, three clusters, 50 relevant features, mu = .6."""
    setting = {"n_features": 1000, "mu": 0.6}
    data = draw_replicate("experiment_2", setting, root=1, replicate=seed)
    return data.X, data.labels


def read_real(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Read one of the real sets of the tests: values and classes."""
    folder = Path(os.environ.get("SPARSEKM_TEST_DATA", "../shared/data"))
    with np.load(folder / "expression" / f"{name}.npz", allow_pickle=False) as file:
        return file["X"], file["y"]


def real(name: str) -> Draw:
    """Return a reader of a real set, standardised; every seed gives the same data."""

    def read(seed: int) -> tuple[np.ndarray, np.ndarray]:
        X, labels = read_real(name)
        X = X.astype(np.float32)
        standardise(X)
        return X, labels

    return read


def drawn(n_samples: int, n_features: int, n_clusters: int) -> Draw:
    """Return a generator of the benchmark's own clusters; every seed gives the same data."""
    return lambda seed: simulate(n_samples, n_features, n_clusters, with_labels=True)


def easy(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw regions of space that mark 300 features, and smooth factors in all of them."""
    rng = np.random.default_rng(seed)
    n, p = ATLAS_SIZE
    n_clusters, n_marking, n_factors = 19, 300, 8
    positions = rng.random((n, 3)) * [2.0, 1.0, 1.0]
    seeds = rng.random((n_clusters, 3)) * [2.0, 1.0, 1.0]
    labels = np.argmin(((positions[:, None] - seeds) ** 2).sum(axis=2), axis=1)
    waves = rng.normal(scale=3.0, size=(3, n_factors))
    factors = np.sqrt(2) * np.sin(positions @ waves + rng.uniform(0, 6.3, n_factors))
    X = rng.standard_normal((n, p), dtype=np.float32)
    X += factors.astype(np.float32) @ rng.normal(scale=0.25, size=(n_factors, p)).astype("f4")
    marks = (rng.random((n_clusters, n_marking)) < 0.15) * np.float32(1.5)
    X[:, :n_marking] += marks.astype(np.float32)[labels]
    X -= X.mean(axis=0)
    X /= X.std(axis=0, ddof=1)
    return X, labels


DESIGNS = {
    "60 x 1,000": SearchDesign(3, 10, few_weak),
    "85 x 456": SearchDesign(5, 10, real("sorlie_85x456")),
    "700 x 765": SearchDesign(10, 10, real("pbmc68k_reduced_700x765")),
    "2,000 x 400": SearchDesign(10, 10, drawn(2_000, 400, 10)),
    "14,185 x 351": SearchDesign(23, 10, real("seqfish_embryo_14185x351")),
    "28,455 x 1,724, easy": SearchDesign(19, 15, easy),
    "28,455 x 1,724, hard": SearchDesign(19, 15, drawn(*ATLAS_SIZE, 19)),
}
