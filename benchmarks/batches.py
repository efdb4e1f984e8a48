"""Clusters and batches: how often independent ones, and ones that nearly agree, coincide."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from sparsekm.cluster.batches import COINCIDE, association, clusters_of_batches

ROUNDS, SEED = 60, 1
SIZES: dict[str, Callable[[int], np.ndarray]] = {
    "equal": lambda number: np.full(number, 1 / number),
    "one of 70 %": lambda number: np.r_[0.7, np.full(number - 1, 0.3 / (number - 1))],
    "halving": lambda number: 0.5 ** np.arange(number) / np.sum(0.5 ** np.arange(number)),
}


def benchmark() -> pd.DataFrame:
    """Draw classes and batches of several numbers and sizes; give shares that coincide.

    `exchanged` is the share of the samples whose batch is not the one of their class; None are
    independent batches. `together` is how often the table of all reaches the limit, `any` how often
    any cluster is said to coincide with batches.
    """
    rng, rows = np.random.default_rng(SEED), []
    for exchanged in (None, 0.0, 0.1, 0.2):
        for n_samples in (40, 60, 100, 300):
            for _ in range(ROUNDS):
                rows += [
                    (exchanged, n_samples, association(counts), bool(clusters_of_batches(counts)))
                    for counts in _draw_tables(rng, n_samples, exchanged)
                ]
    names = ["exchanged", "n_samples", "association", "any"]
    table = pd.DataFrame(rows, columns=names).assign(tables=1)
    table["together"] = table["association"] >= COINCIDE
    groups = table.groupby(["exchanged", "n_samples"], dropna=False, sort=False)
    found = groups.agg(
        tables=("tables", "sum"),
        together=("together", "mean"),
        any=("any", "mean"),
        median=("association", "median"),
        largest=("association", "max"),
    )
    return found.reset_index()


def _draw_tables(rng: np.random.Generator, n_samples: int, exchanged: float | None):
    """Yield a table of counts for each number and sizes of classes and batches."""
    for n_classes in (2, 3, 5):
        for sizes in SIZES.values():
            classes = rng.choice(n_classes, n_samples, p=sizes(n_classes))
            if exchanged is None:
                drawn = [
                    rng.choice(number, n_samples, p=others(number))
                    for number in (2, 3, 4, 5)
                    for others in SIZES.values()
                ]
            else:
                other = (classes + rng.integers(1, n_classes, n_samples)) % n_classes
                drawn = [np.where(rng.random(n_samples) < exchanged, other, classes)]
            for batches in drawn:
                counts = np.zeros((n_classes, batches.max() + 1), np.int64)
                np.add.at(counts, (classes, batches), 1)
                # A batch of one sample is refused.
                if counts.sum(axis=0).min() >= 2 and np.count_nonzero(counts.any(axis=1)) > 1:
                    yield counts
