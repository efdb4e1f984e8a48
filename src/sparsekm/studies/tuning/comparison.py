"""The choices of all rules on one data set, based on the same paths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from sparsekm.cluster.estimators import L0KMeans
from sparsekm.cluster.screening import (
    higher_criticism_threshold,
    marginal_p_values,
    marginal_scores,
)
from sparsekm.cluster.sparsity_path import SparsityPath
from sparsekm.metrics.partition_metrics import classification_error_rate
from sparsekm.metrics.support_metrics import proper_nonzero_weights, proper_zero_weights
from sparsekm.studies.tuning.study_data import StudyData
from sparsekm.tuning.conclusion import conclude
from sparsekm.tuning.consensus import agreement
from sparsekm.tuning.feature_limit import FeatureLimit, feature_limit, share_of
from sparsekm.tuning.gap_search import GapSearch
from sparsekm.tuning.grid import default_sparsities
from sparsekm.tuning.noise_correlation import fair_reference
from sparsekm.tuning.resampled_paths import FAMILIES, consensus_sparsities, resample_paths
from sparsekm.tuning.resampling import SUBSAMPLE
from sparsekm.tuning.selection import RULES, select_sparsity
from sparsekm.tuning.sparse_kmeans import N_RESAMPLINGS
from sparsekm.tuning.stability import STABILITY_RULES, select_stable
from sparsekm.tuning.stability_search import StabilitySearch


@dataclass(frozen=True)
class StudyEffort:
    """The effort per data set."""

    n_init: int
    n_sparsities: int
    n_references: int
    n_splits: int
    min_cluster_size: int


# Rules that read a gap curve, by reference, and that read a stability curve, by scheme.
GAP_RULES = [
    (f"{reference}, {rule}", reference, rule)
    for reference in ("permutation", "gaussian", "shrunk")
    for rule in RULES
]
STABLE_RULES = [
    (f"{scheme}, {rule}", scheme, rule)
    for scheme in ("halves", "subsample")
    for rule in STABILITY_RULES
]
# Rules that make fits of their own: the default of `SparseKMeans`; the same at the consensus of a
# single family of starts; Algorithm 1 from a screened start, at the number of features that Higher
# Criticism counts.
CONSENSUS = "consensus"
CONSENSUS_OF = {f"consensus, {family}": family for family in FAMILIES}
SCREENED = "screened, higher criticism"
# The fit of the path that agrees most with the others.
SELF_AGREEMENT = "self-agreement"
# What they are compared with: all features, the lowest CER anywhere on the path, and the lowest on
# the part of it that keeps no more than may be kept of correlated features.
YARDSTICKS = ["k-means", "best on path", "best of few"]


def compare_rules(data: StudyData, effort: StudyEffort, *, seed: int) -> pd.DataFrame:
    """Apply every rule to a data set.

    There is a row per rule and yardstick: rule, sparsity, n_features, cer, proper_zero and
    proper_nonzero (shares), stability (of halves), fits (paths fitted, in units of one on all
    samples); and of the data set evidence_permutation, evidence_gaussian, evidence (by the fair
    reference), noise_correlation and by how many standard errors it is beyond_chance. What is not
    known is NaN.
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
    rows = _score_rows(data, path)
    chosen = {
        **_choose_by_searches(searches, limit),
        SELF_AGREEMENT: np.argmax([agreement(own, path.labels).mean() for own in path.labels]),
        **_find_yardsticks(data, rows),
    }
    rows["stability"] = searches["halves"].results_["stability"].to_numpy()
    table = rows.iloc[list(chosen.values())].reset_index(drop=True)
    table.insert(0, "rule", list(chosen))
    table = pd.concat([table, _fit_by_consensus(estimator, data, seed)], ignore_index=True)
    table["fits"] = table["rule"].map(rule_costs(effort))
    strengths = _evidence(searches["subsample"], data.X, effort)
    strengths["evidence"] = strengths[f"evidence_{fair_reference(limit.correlation)}"]
    return table.assign(
        **strengths,
        noise_correlation=limit.correlation.mean,
        beyond_chance=limit.correlation.standard_errors,
    )


def rule_costs(effort: StudyEffort) -> dict[str, float]:
    """Count the paths that each rule needs, in units of a path on all samples and features.

    Paths on subsets of the samples count by their share.
    """
    stable = {"halves": 1.0, "subsample": SUBSAMPLE}
    return {
        **{name: 1.0 + effort.n_references for name, *_ in GAP_RULES},
        **{name: 1.0 + stable[scheme] * effort.n_splits for name, scheme, _ in STABLE_RULES},
        SELF_AGREEMENT: 1.0,
        # Resamplings: half of them have four fifths of the samples, half have half of the features.
        **dict.fromkeys([CONSENSUS, *CONSENSUS_OF], 0.65 * N_RESAMPLINGS),
        SCREENED: 0.0,
        **dict.fromkeys(YARDSTICKS, 1.0),
    }


def _fit_searches(estimator, X, effort: StudyEffort, seed: int) -> dict[str, Any]:
    sparsities = default_sparsities("l0", X.shape[1], effort.n_sparsities)
    shared = {"sparsities": sparsities, "random_state": seed}
    searches: dict[str, Any] = {}
    for reference in dict.fromkeys(reference for _, reference, _ in GAP_RULES):
        searches[reference] = GapSearch(
            estimator, reference=reference, n_references=effort.n_references, **shared
        ).fit(X)
    for scheme in dict.fromkeys(scheme for _, scheme, _ in STABLE_RULES):
        searches[scheme] = StabilitySearch(
            estimator, scheme=scheme, n_splits=effort.n_splits, n_references=0, **shared
        ).fit(X)
    return searches


def _choose_by_searches(searches: dict[str, Any], limit: FeatureLimit) -> dict[str, int]:
    gaps = {
        name: select_sparsity(searches[reference].results_, rule, limit)
        for name, reference, rule in GAP_RULES
    }
    stable = {
        name: select_stable(searches[scheme].results_, rule) for name, scheme, rule in STABLE_RULES
    }
    return {**gaps, **stable}


def _fit_by_consensus(estimator: L0KMeans, data: StudyData, seed: int) -> pd.DataFrame:
    """Score the fits of the rules that do not choose from the common path."""
    X, sparsities = data.X, consensus_sparsities("l0", data.X.shape[1])
    resamplings = [
        resample_paths(estimator, X, sparsities, index=index, seed=seed)
        for index in range(N_RESAMPLINGS)
    ]
    paths = {}
    for name, family in {CONSENSUS: None, **CONSENSUS_OF}.items():
        found = conclude(estimator, X, sparsities, resamplings, seed=seed, family=family)
        paths[name] = found.fit
    scores = marginal_scores(X)
    p_values = marginal_p_values(scores, len(X))
    count = higher_criticism_threshold(p_values, len(X))
    screened = clone(estimator).set_params(init="screened")
    paths[SCREENED] = screened.path(X, [count])
    return _score_rows(data, SparsityPath.join(list(paths.values()))).assign(rule=list(paths))


def _find_yardsticks(data: StudyData, rows: pd.DataFrame) -> dict[str, int]:
    """Find the row of all features, and of the lowest CER; the first where it is not known."""
    known = data.labels is not None
    few = rows["sparsity"] <= share_of(data.X.shape[1])
    places = [
        len(rows) - 1,
        int(rows["cer"].argmin()) if known else 0,
        int(rows["cer"][few].argmin()) if known and few.any() else 0,
    ]
    return dict(zip(YARDSTICKS, places, strict=True))


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


def _evidence(search: StabilitySearch, X, effort: StudyEffort) -> dict[str, float]:
    return {
        f"evidence_{reference}": search.weigh_evidence(
            X, reference=reference, n_references=effort.n_references
        ).strength
        for reference in ("permutation", "gaussian")
    }
