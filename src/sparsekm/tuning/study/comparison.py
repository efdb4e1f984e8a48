"""Every rule's choice on one data set, read off the same paths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sparsekm.cluster.estimators import L0KMeans
from sparsekm.metrics.partition_metrics import classification_error_rate
from sparsekm.metrics.support_metrics import proper_nonzero_weights, proper_zero_weights
from sparsekm.tuning.feature_limit import feature_limit, share_of
from sparsekm.tuning.gap_search import GapSearch
from sparsekm.tuning.grid import default_sparsities
from sparsekm.tuning.noise_correlation import fair_reference
from sparsekm.tuning.resampling import SUBSAMPLE
from sparsekm.tuning.selection import RULES, select_sparsity
from sparsekm.tuning.stability import STABILITY_RULES, select_stable
from sparsekm.tuning.stability_search import StabilitySearch
from sparsekm.tuning.study.study_data import StudyData


@dataclass(frozen=True)
class StudyEffort:
    """What is spent on a data set.

    Attributes
    ----------
    n_init : int
    n_sparsities : int
    n_references : int
    n_splits : int
    min_cluster_size : int
    """

    n_init: int
    n_sparsities: int
    n_references: int
    n_splits: int
    min_cluster_size: int


# Rules that read a gap curve, by reference; those that read a stability curve, by scheme.
GAP_RULES = [
    (f"{reference}, {rule}", reference, rule)
    for reference in ("permutation", "gaussian")
    for rule in RULES
]
STABLE_RULES = [
    (f"{scheme}, {rule}", scheme, rule)
    for scheme in ("halves", "subsample")
    for rule in STABILITY_RULES
]
# What they are compared with: all features, the lowest CER anywhere on the path, and the lowest on
# the part of it that keeps no more than may be kept of correlated features.
YARDSTICKS = ["k-means", "best on path", "best of few"]


def compare_rules(data: StudyData, effort: StudyEffort, *, seed: int) -> pd.DataFrame:
    """Let every rule choose on a data set.

    Parameters
    ----------
    data : StudyData
    effort : StudyEffort
    seed : int

    Returns
    -------
    pandas.DataFrame
        A row per rule and yardstick: rule, sparsity, n_features, cer, proper_zero and
        proper_nonzero (shares), stability (of halves), fits (paths fitted, in units of one on all
        samples); and of the data set evidence_permutation, evidence_gaussian, evidence (by
        the fair reference), noise_correlation and by how many standard errors it is beyond_chance.
        What is not known is NaN.
    """
    estimator = L0KMeans(
        data.n_clusters,
        n_init=effort.n_init,
        min_cluster_size=effort.min_cluster_size,
        random_state=seed,
    )
    searches = _fit_searches(estimator, data.X, effort, seed)
    path = searches["subsample"].path_
    limit = feature_limit(data.X, path)
    chosen = {
        **{
            name: select_sparsity(searches[reference].results_, rule, limit)
            for name, reference, rule in GAP_RULES
        },
        **{
            name: select_stable(searches[scheme].results_, rule)
            for name, scheme, rule in STABLE_RULES
        },
    }
    rows = _score_rows(data, path)
    chosen["k-means"] = len(rows) - 1
    known = data.labels is not None
    few = rows["sparsity"] <= share_of(data.X.shape[1])
    chosen["best on path"] = int(rows["cer"].argmin()) if known else 0
    chosen["best of few"] = int(rows["cer"][few].argmin()) if known and few.any() else 0
    table = rows.iloc[list(chosen.values())].reset_index(drop=True)
    table.insert(0, "rule", list(chosen))
    stability = searches["halves"].results_["stability"].to_numpy()
    table["stability"] = stability[list(chosen.values())]
    table["fits"] = [_cost(name, effort) for name in chosen]
    strengths = _evidence(searches["subsample"], data.X, effort)
    strengths["evidence"] = strengths[f"evidence_{fair_reference(limit.correlation)}"]
    return table.assign(
        **strengths,
        noise_correlation=limit.correlation.mean,
        beyond_chance=limit.correlation.standard_errors,
    )


def _fit_searches(estimator, X, effort: StudyEffort, seed: int) -> dict[str, Any]:
    sparsities = default_sparsities("l0", X.shape[1], effort.n_sparsities)
    shared = {"sparsities": sparsities, "random_state": seed}
    searches: dict[str, Any] = {}
    for reference in ("permutation", "gaussian"):
        searches[reference] = GapSearch(
            estimator, reference=reference, n_references=effort.n_references, **shared
        ).fit(X)
    for scheme in ("halves", "subsample"):
        searches[scheme] = StabilitySearch(
            estimator, scheme=scheme, n_splits=effort.n_splits, n_references=0, **shared
        ).fit(X)
    return searches


def _score_rows(data: StudyData, path) -> pd.DataFrame:
    """Score every fit of a path against what is known."""
    rows = []
    for labels, weights in zip(path.labels, path.weights, strict=True):
        row = {
            "sparsity": np.count_nonzero(weights),
            "n_features": len(weights),
            "cer": np.nan,
            "proper_zero": np.nan,
            "proper_nonzero": np.nan,
        }
        if data.labels is not None:
            row["cer"] = classification_error_rate(data.labels, labels)
        if data.relevant is not None:
            noise = np.count_nonzero(~data.relevant)
            row["proper_zero"] = proper_zero_weights(data.relevant, weights) / noise
            row["proper_nonzero"] = proper_nonzero_weights(data.relevant, weights) / (
                len(weights) - noise
            )
        rows.append(row)
    return pd.DataFrame(rows)


def _cost(rule: str, effort: StudyEffort) -> float:
    """Count the paths that a rule needs, those on parts of the samples by their share."""
    if rule.startswith("subsample"):
        return 1 + SUBSAMPLE * effort.n_splits
    if rule.startswith("halves"):
        return 1 + effort.n_splits
    return 1 if rule in YARDSTICKS else 1 + effort.n_references


def _evidence(search: StabilitySearch, X, effort: StudyEffort) -> dict[str, float]:
    return {
        f"evidence_{reference}": search.weigh_evidence(
            X, reference=reference, n_references=effort.n_references
        ).strength
        for reference in ("permutation", "gaussian")
    }
