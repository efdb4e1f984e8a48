"""One repetition: draw a data set, fit a method, compare with the planted truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sparsekm.metrics.partition_metrics import chance_corrected_rates, error_clustering_rate
from sparsekm.metrics.support_metrics import (
    n_nonzero_weights,
    proper_nonzero_weights,
    proper_zero_weights,
)
from sparsekm.pipeline.seeds import derive_seed
from sparsekm.simulation.designs import EXPERIMENTS
from sparsekm.simulation.gaussian_clusters import SimulatedData
from sparsekm.simulation.replicate_seed import replicate_seed
from sparsekm.studies.paper.method_rows import MethodRow
from sparsekm.studies.paper.settings import Setting
from sparsekm.tuning.gap_search import GapSearch
from sparsekm.tuning.grid import default_sparsities

METRICS = (
    *("cer", "cer_chance", "ari", "ami", "ecr"),
    *("nw", "pzw", "pnw", "sparsity", "objective", "rounds"),
)
"""What is told of every repetition."""

GAP_COLUMNS = ("sparsity", "n_selected", "gap", "se", "chosen")


@dataclass(frozen=True)
class Effort:
    """How hard the rows search, where they do not say so themselves."""

    n_init: int = 10  # starts
    n_sparsities: int = 10  # of the gap statistic's grid
    n_references: int = 10
    n_refined: int = 0  # further sparsities around the largest gap


@dataclass(frozen=True)
class Repetition:
    """What one repetition found.

    The CER of chance is what clusters of these sizes would have on average if samples fell into
    them at random. The sparsity is the one that was chosen, NaN where the method has none; the
    objective is what the method maximises, in its own units; rounds are those of the search that
    ended in the fit.
    """

    metrics: dict[str, float]  # a value for each of `METRICS`
    weights: np.ndarray  # (n_features,): 0 for those that a row does not see
    # (n_sparsities, 5): `GAP_COLUMNS`, ascending in sparsity; no rows where nothing was tuned
    gap: np.ndarray


def draw_data(setting: Setting, *, root: int, replicate: int, standardise: bool) -> SimulatedData:
    """Draw the data of a repetition: the same for every row, z-scored or not."""
    # As draw_replicate seeds them; `standardise` among its arguments would change the seed.
    seed = replicate_seed(root, setting.experiment, setting.arguments, replicate)
    draw = EXPERIMENTS[setting.experiment]
    return draw(**setting.arguments, standardise=standardise, random_state=seed)


def run_repetition(
    setting: Setting, row: MethodRow, effort: Effort, *, root: int, replicate: int
) -> Repetition:
    """Draw, fit and compare once.

    Data, references and starts depend on the study's seed `root`, on the setting and on the
    replicate; not on the row.
    """
    data = draw_data(setting, root=root, replicate=replicate, standardise=row.standardise)
    seen = data.relevant if row.features == "relevant" else np.ones(data.X.shape[1], dtype=bool)
    seed = derive_seed(root, "simulation", setting.experiment, setting.name, replicate)
    fitted = make_estimator(row, effort, data, seed).fit(np.ascontiguousarray(data.X[:, seen]))
    weights = np.zeros(len(seen))
    weights[seen] = fitted.feature_weights_
    best = getattr(fitted, "best_estimator_", fitted)
    sparsity = best.get_params().get("sparsity")
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
    return Repetition({name: float(metrics[name]) for name in METRICS}, weights, _gap(fitted))


def make_estimator(row: MethodRow, effort: Effort, data: SimulatedData, seed: int) -> Any:
    """Make the estimator of a row for a data set, inside a `GapSearch` where it is tuned."""
    known = row.estimator().get_params()
    options = {"n_init": effort.n_init, **row.options}
    options = {name: value for name, value in options.items() if name in known}
    estimator = row.estimator(data.n_clusters, random_state=seed, **options)
    if not row.is_tuned:
        return estimator
    n_sparsities = row.tuning.get("n_sparsities", effort.n_sparsities)
    return GapSearch(
        estimator,
        sparsities=default_sparsities(row.method, data.X.shape[1], n_sparsities),
        n_references=row.tuning.get("n_references", effort.n_references),
        n_refined=row.tuning.get("n_refined", effort.n_refined),
        rule=row.tuning.get("rule", "max"),
        random_state=seed,
    )


def _gap(fitted: Any) -> np.ndarray:
    if not hasattr(fitted, "results_"):
        return np.empty((0, len(GAP_COLUMNS)))
    table: pd.DataFrame = fitted.results_.assign(chosen=False)
    table.loc[fitted.best_index_, "chosen"] = True
    return table[list(GAP_COLUMNS)].to_numpy(dtype=np.float64)
