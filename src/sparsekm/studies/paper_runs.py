"""One repetition: drawn, fitted, compared with the planted truth, kept on disk, tabulated."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

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
from sparsekm.simulation import EXPERIMENTS, SimulatedData, replicate_seed
from sparsekm.studies import MethodRow, Setting, published_searches
from sparsekm.tuning.gap import default_sparsities
from sparsekm.tuning.gap_search import GapSearch

METRICS = (
    *("cer", "cer_chance", "ari", "ami", "ecr"),
    *("nw", "pzw", "pnw", "sparsity", "objective", "rounds"),
)
"""What is measured in every repetition: the CER of chance is the mean over random partitions into
clusters of these sizes; the sparsity is NaN where the method has none; the objective is what the
method maximises; rounds are those of the search that ended in the fit."""
GAP_COLUMNS = ["sparsity", "gap", "se"]
KEYS = ("experiment", "setting", "method")


Effort = Mapping[str, int]
"""Starts, ``n_init``, and the size of the gap statistic, ``n_sparsities``, ``n_references`` and
``n_refined``: how hard the rows search that do not define their own effort."""


class Repetition(NamedTuple):
    """The results of one repetition."""

    metrics: np.ndarray  # (n_metrics,): `METRICS`
    weights: np.ndarray  # (n_features,): 0 for those that a row does not see
    gap: np.ndarray  # (n_sparsities, 3): `GAP_COLUMNS`; no rows where nothing was tuned


def draw_data(setting: Setting, *, root: int, replicate: int, standardise: bool) -> SimulatedData:
    """Draw the data of a repetition: the same for every row, z-scored or not."""
    # As draw_replicate seeds them; `standardise` among its arguments would change the seed.
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
    fitted = make_estimator(row, effort, data, seed).fit(np.ascontiguousarray(data.X[:, seen]))
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


def make_estimator(row: MethodRow, effort: Effort, data: SimulatedData, seed: int) -> Any:
    """Make the estimator of a row for a data set, inside a `GapSearch` where it is tuned."""
    kind = METHODS[row.method].estimator
    if row.searcher:
        kind = getattr(published_searches, row.searcher)
    options = {"n_init": effort["n_init"], **row.options}
    options = {name: options[name] for name in options.keys() & kind().get_params().keys()}
    estimator = kind(data.n_clusters, random_state=seed, **options)
    if METHODS[row.method].tuning != "gap":
        return estimator
    size = {**effort, **row.tuning}
    grid = default_sparsities(row.method, data.X.shape[1], size["n_sparsities"])
    size = {name: size[name] for name in ("n_references", "n_refined")}
    return GapSearch(estimator, sparsities=grid, rule="max", random_state=seed, **size)


class RepetitionStore:
    """Finished repetitions of one setting and row: a job that was killed continues from them.

    The folder has one file per repetition, with a digest of the `parameters`, all plain values that
    a repetition depends on besides its number. A file with another digest counts as absent.
    """

    def __init__(self, folder: str | Path, parameters: Mapping[str, Any]) -> None:
        self.folder = Path(folder)
        text = json.dumps(parameters, sort_keys=True)
        self.digest = hashlib.sha256(text.encode()).hexdigest()[:32]

    def load(self, replicate: int) -> Repetition | None:
        """Read a repetition; None where it is absent, damaged or of other parameters."""
        try:
            # NumPy does not close a damaged file that it opened itself.
            with (
                self._file(replicate).open("rb") as opened,
                np.load(opened, allow_pickle=False) as archive,
            ):
                found = Repetition(*(archive[name] for name in Repetition._fields))
                return found if str(archive["digest"]) == self.digest else None
        # A damaged file can fail anywhere inside zipfile or NumPy, with almost any error.
        except Exception:
            return None

    def keep(self, replicate: int, repetition: Repetition) -> None:
        """Write a repetition."""
        with atomic_path(self._file(replicate)) as temporary:
            np.savez_compressed(temporary, digest=np.array(self.digest), **repetition._asdict())

    def _file(self, replicate: int) -> Path:
        return self.folder / f"{replicate}.npz"


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
    """Run all repetitions that are not in the store yet, and keep each as soon as it is done."""
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
