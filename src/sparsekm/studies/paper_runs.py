"""One repetition: drawn, fitted, compared with the planted truth, stored, and tabulated.

The module also has the searches of the paper and the authors' scripts: Lloyd's k-means and single
starts. On the same data, they show how much of a difference from published numbers is due to the
search.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from sparsekm.cluster.alternation import Fit, alternate, weigh_partition
from sparsekm.cluster.estimators import KMeans, L0KMeans, L1KMeans
from sparsekm.cluster.partition_step import KMeansPartition, canonical_labels, nearest_seeds
from sparsekm.io.atomic import atomic_path
from sparsekm.metrics import (
    chance_corrected_rates,
    error_clustering_rate,
    n_nonzero_weights,
    proper_nonzero_weights,
    proper_zero_weights,
)
from sparsekm.pipeline.provenance import derive_seed
from sparsekm.pipeline.registry import METHODS
from sparsekm.runtime.random_state import seed_sequence
from sparsekm.runtime.threads import one_blas_thread
from sparsekm.simulation import EXPERIMENTS, SimulatedData, replicate_seed
from sparsekm.studies import MethodRow, Setting
from sparsekm.tuning.gap import default_sparsities
from sparsekm.tuning.gap_search import GapSearch

METRICS = (
    *("cer", "cer_chance", "ari", "ami", "ecr"),
    *("nw", "pzw", "pnw", "sparsity", "objective", "rounds"),
)
"""The measures of every repetition.

The CER of chance is the mean over random partitions into clusters of these sizes. The sparsity is
NaN if the method has none. The objective is the quantity that the method maximises. Rounds are
counted in the search that ended in the fit.
"""
GAP_COLUMNS = ["sparsity", "gap", "se"]
KEYS = ("experiment", "setting", "method")

# Starts, ``n_init``, and the size of the gap statistic, ``n_sparsities``, ``n_references`` and
# ``n_refined``: the effort of rows that do not define their own.
Effort = Mapping[str, int]


class Repetition(NamedTuple):
    """The results of one repetition."""

    metrics: np.ndarray  # (n_metrics,): `METRICS`
    weights: np.ndarray  # (n_features,): 0 for features that a row does not see
    gap: np.ndarray  # (n_sparsities, 3): `GAP_COLUMNS`; no rows if nothing was tuned


def draw_data(setting: Setting, *, root: int, replicate: int, standardise: bool) -> SimulatedData:
    """Draw the data of a repetition, the same for every row, standardised or not."""
    # The seed is that of draw_replicate; `standardise` among its arguments would change it.
    seed = replicate_seed(root, setting.experiment, setting.arguments, replicate)
    draw = EXPERIMENTS[setting.experiment]
    return draw(**setting.arguments, standardise=standardise, random_state=seed)


def run_repetition(
    setting: Setting, row: MethodRow, effort: Effort, *, root: int, replicate: int
) -> Repetition:
    """Draw, fit and compare once; no draw or start depends on the row."""
    data = draw_data(setting, root=root, replicate=replicate, standardise=row.standardise)
    seen = data.relevant if row.features == "relevant" else np.ones(data.X.shape[1], dtype=bool)
    seed = derive_seed(root, "simulation", setting.experiment, setting.name, replicate)
    kind = SEARCHERS[row.searcher] if row.searcher else METHODS[row.method].estimator
    options = {**effort, **row.options}
    options = {name: options[name] for name in options.keys() & kind().get_params().keys()}
    estimator = kind(data.n_clusters, random_state=seed, **options)
    if METHODS[row.method].tuning == "gap":
        size = {**effort, **row.tuning}
        grid = default_sparsities(row.method, data.X.shape[1], size["n_sparsities"])
        size = {name: size[name] for name in ("n_references", "n_refined")}
        estimator = GapSearch(estimator, sparsities=grid, rule="max", random_state=seed, **size)
    fitted = estimator.fit(np.ascontiguousarray(data.X[:, seen]))
    weights = np.zeros(len(seen))
    weights[seen] = fitted.feature_weights_
    best = getattr(fitted, "best_estimator_", fitted)
    sparsity, gap = best.get_params().get("sparsity"), np.empty((0, len(GAP_COLUMNS)))
    if hasattr(fitted, "results_"):
        gap = fitted.results_[GAP_COLUMNS].to_numpy(dtype=np.float64)
    metrics = {
        **chance_corrected_rates(data.labels, fitted.labels_),
        "ecr": error_clustering_rate(data.labels, fitted.labels_),
        "nw": n_nonzero_weights(weights),
        "pzw": proper_zero_weights(data.relevant, weights),
        "pnw": proper_nonzero_weights(data.relevant, weights),
        "sparsity": np.nan if sparsity is None else sparsity,
        "objective": best.objective_,
        "rounds": best.n_iter_,
    }
    return Repetition(np.array([metrics[name] for name in METRICS], dtype=float), weights, gap)


class RepetitionStore:
    """Finished repetitions of one setting and row, from which a killed job continues.

    The folder has one file per repetition, with a digest of the `parameters`: all plain values,
    besides its number, on which a repetition depends. A file with another digest counts as absent.
    """

    def __init__(self, folder: str | Path, parameters: Mapping[str, Any]) -> None:
        self.folder = Path(folder)
        text = json.dumps(parameters, sort_keys=True)
        self.digest = hashlib.sha256(text.encode()).hexdigest()[:32]

    def load(self, replicate: int) -> Repetition | None:
        """Read a repetition; None if it is absent, damaged or has other parameters."""
        try:
            # The file is opened here, because NumPy does not close a damaged file that it opened
            # itself.
            file = self.folder / f"{replicate}.npz"
            with file.open("rb") as opened, np.load(opened, allow_pickle=False) as archive:
                repetition = Repetition(*(archive[name] for name in Repetition._fields))
                return repetition if str(archive["digest"]) == self.digest else None
        # A damaged file can fail anywhere inside zipfile or NumPy, with almost any error.
        except Exception:
            return None

    def keep(self, replicate: int, repetition: Repetition) -> None:
        """Write a repetition."""
        with atomic_path(self.folder / f"{replicate}.npz") as temporary:
            np.savez_compressed(temporary, digest=np.array(self.digest), **repetition._asdict())


def run_repetitions(
    setting: Setting,
    row: MethodRow,
    effort: Effort,
    *,
    root: int,
    replicates: int,
    store: RepetitionStore,
    progress: Callable[[int, int], None],
) -> list[Repetition]:
    """Run all repetitions that are not in the store, and store each as soon as it is finished."""
    repetitions: list[Repetition] = []
    for replicate in range(replicates):
        repetition = store.load(replicate)
        if repetition is None:
            repetition = run_repetition(setting, row, effort, root=root, replicate=replicate)
            store.keep(replicate, repetition)
        repetitions.append(repetition)
        progress(replicate + 1, replicates)
    return repetitions


def tabulate(
    setting: Setting, row: MethodRow, data: SimulatedData, repetitions: Sequence[Repetition]
) -> dict[str, pd.DataFrame]:
    """Tabulate repetitions, with `KEYS` as first columns; `data` is any draw of the setting.

    ``table`` has the `METRICS` of every repetition; ``gap`` the gap curves, a row per repetition
    and sparsity, none where nothing is tuned; ``weights`` the mean of every feature.
    """
    table = pd.DataFrame([found.metrics for found in repetitions], columns=list(METRICS))
    table = table.astype(dict.fromkeys(("nw", "pzw", "pnw"), np.int64))
    table.insert(0, "replicate", np.arange(len(table)))
    gaps = [found.gap for found in repetitions]
    gap = pd.DataFrame(np.concatenate(gaps), columns=GAP_COLUMNS)
    gap.insert(0, "replicate", np.repeat(np.arange(len(gaps)), [len(curve) for curve in gaps]))
    weights = np.array([found.weights for found in repetitions])
    of_features = {
        "feature": np.arange(1, weights.shape[1] + 1),
        "relevant": data.relevant.astype(np.int64),
        "mean_weight": weights.mean(axis=0),
    }
    tables = {"table": table, "gap": gap, "weights": pd.DataFrame(of_features)}
    for found in tables.values():
        for place, name in enumerate((setting.experiment, setting.name, row.name)):
            found.insert(place, KEYS[place], name)
    return tables


@dataclass(frozen=True)
class LloydPartition(KMeansPartition):
    """k-means by Lloyd's iteration from k-means++ only, for any number of samples."""

    def start(self, X, weights, rng):
        """Iterate from k-means++ seeds among all samples."""
        labels = np.zeros(X.n_samples, np.int32)
        draws = rng.random(self.n_clusters)
        rows = _weighted_rows(X, weights)
        nearest_seeds(rows, self.n_clusters, draws, labels)
        return self.iterate(rows, labels)[0]

    def refine_counted(self, X, weights, labels):
        """Iterate from `labels` to a fixed point, without exchange moves."""
        return self.iterate(_weighted_rows(X, weights), labels)

    def iterate(self, rows, labels):
        """Iterate; an empty cluster takes the sample farthest from its own centre."""
        rounds = 0
        while rounds < self.max_iter:
            rounds += 1
            members = np.equal(labels, np.arange(self.n_clusters)[:, None]).astype(np.float64)
            sizes = members.sum(axis=1)
            centers = members @ rows / np.maximum(sizes, 1)[:, None]
            distances = (centers**2).sum(axis=1) - 2 * rows @ centers.T
            empty = np.flatnonzero(sizes == 0)
            if empty.size:
                own = distances[np.arange(len(labels)), labels] + (rows**2).sum(axis=1)
                labels = labels.copy()
                labels[np.argsort(-own, kind="stable")[: empty.size]] = empty
                continue
            moved = distances.argmin(axis=1).astype(np.int32)
            if np.array_equal(moved, labels):
                break
            labels = moved
        return canonical_labels(labels, self.n_clusters), rounds


def _weighted_rows(X, weights):
    support = np.flatnonzero(weights)
    return np.ascontiguousarray(X.columns[support].T * np.sqrt(weights[support]), np.float64)


def run_as_printed(X, partition, weight_step, rng, *, max_iter, tol, overwrite=False) -> Fit:
    """Run the paper's Algorithm 1 literally, with `partition.start` for "standard k-means".

    Every round finds new clusters under the dissimilarities w_j d; the objective may fall. With
    `overwrite`, "transform d <- w_j d" is applied to the result of the last round and not to the
    data's own dissimilarities, so that a dropped feature never returns. `max_iter` is our addition.
    """
    weights = np.full(X.n_features, 1.0 / np.sqrt(X.n_features))
    scale = np.ones(X.n_features)
    n_iter, settled = 0, False
    while not settled and n_iter < max_iter:
        n_iter, old = n_iter + 1, weights
        if overwrite:
            scale = scale * old
        labels = partition.start(X, scale if overwrite else old, rng)
        scores = partition.scores(X, labels)
        weights = weight_step.weigh(scale * scores)
        settled = np.abs(weights - old).sum() < tol * old.sum()
    return Fit(labels, weights, scores, float(weights @ scores), n_iter)


class _WithLloyd:
    """Replace the partition step of an estimator by Lloyd's iteration."""

    def _read(self, X):
        matrix, features, partition = super()._read(X)
        return matrix, features, LloydPartition(**vars(partition))

    @one_blas_thread
    def _fit_path(self, *args, **kwargs):
        return super()._fit_path(*args, **kwargs)


class _Unshared:
    """Fit every sparsity of a path by one alternation from one k-means on all features.

    A fit does not use labels of other fits, except with `_carried`: then every sparsity starts from
    the labels of the next smaller one. Neither this class nor `_AsPrinted` uses `n_init`.
    """

    _carried = False
    independent_fits = True

    def _fit_path(self, matrix, partition, weight_steps, *asked):
        effort, (seed,) = self._effort(), seed_sequence(self.random_state).spawn(1)
        labels = partition.start(matrix, np.ones(matrix.n_features), np.random.default_rng(seed))
        limits, fits = {"max_iter": effort.max_iter, "tol": effort.tol}, []
        for weight_step in weight_steps:
            problem = matrix, partition, weight_step
            fits.append(alternate(*problem, start=weigh_partition(*problem, labels), **limits))
            if self._carried:
                labels = fits[-1].labels
        return fits, np.array([fit.objective for fit in fits])


class _AsPrinted(_WithLloyd):
    """Fit every sparsity by one run of Algorithm 1 as printed."""

    _overwrites = False
    independent_fits = True

    @one_blas_thread
    def _fit_path(self, matrix, partition, weight_steps, *asked):
        effort, seeds = self._effort(), seed_sequence(self.random_state)
        limits = {"max_iter": effort.max_iter, "tol": effort.tol, "overwrite": self._overwrites}
        fits = [
            run_as_printed(matrix, partition, step, np.random.default_rng(seeds), **limits)
            for step in weight_steps
        ]
        return fits, np.array([fit.objective for fit in fits])


# The parameters are the same as for the package's own estimators.
LloydKMeans = type("LloydKMeans", (_WithLloyd, KMeans), {})
_CARRIED = {"_carried": True, "independent_fits": False}
CarriedL0KMeans = type("CarriedL0KMeans", (_Unshared, L0KMeans), _CARRIED)
CarriedL1KMeans = type("CarriedL1KMeans", (_Unshared, L1KMeans), _CARRIED)
LloydL0KMeans = type("LloydL0KMeans", (_WithLloyd, _Unshared, L0KMeans), {})
LloydL1KMeans = type("LloydL1KMeans", (_WithLloyd, _Unshared, L1KMeans), {})
PrintedL0KMeans = type("PrintedL0KMeans", (_AsPrinted, L0KMeans), {})
OverwritingL0KMeans = type("OverwritingL0KMeans", (PrintedL0KMeans,), {"_overwrites": True})

LLOYD = LloydKMeans, LloydL0KMeans, LloydL1KMeans
CARRIED = CarriedL0KMeans, CarriedL1KMeans
SEARCHERS = {
    kind.__name__: kind for kind in (*LLOYD, *CARRIED, PrintedL0KMeans, OverwritingL0KMeans)
}
"""The classes that rows of `paper_rows.json` name."""
