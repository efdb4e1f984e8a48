"""The paper's statements about theory, each held against a computation of a few seconds."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product

import numpy as np
import pandas as pd
from scipy.special import gammaln

from sparsekm.cluster.estimators import KMeans
from sparsekm.cluster.matrices.matrix import CentredMatrix
from sparsekm.cluster.matrices.scatter import feature_scores
from sparsekm.cluster.weight_step import TopFeatures
from sparsekm.simulation.replicate_seed import replicate_seed
from sparsekm.studies.theory.cost_checks import COST_CHECKS
from sparsekm.studies.theory.expected_scores import expected_score, simulate_scores
from sparsekm.studies.theory.level_model import three_levels
from sparsekm.studies.theory.limit_checks import LIMIT_CHECKS
from sparsekm.studies.theory.partition_bound import ecr_bound, impurity_curve
from sparsekm.studies.theory.repeated_draws import (
    STRONG,
    average,
    count_share,
    draw_setting,
    partition_errors,
    selects_exactly,
)
from sparsekm.studies.theory.support_recovery import least_features

COLUMNS = ("check", "holds", "ours", "se", "low", "high", "theirs", "reason")
_SAID = "At mu = 8, n = 90, p* = 10 and p = 200 all conditions hold but p >= M."


def run_checks(root: int) -> pd.DataFrame:
    """Run every check: columns `COLUMNS`; ours and theirs are what `reason` or the claim names.

    A mean over data sets has the standard error se, a share of them the 95 % interval low to high.
    """
    lines = [{"check": name, "reason": ""} | check(root) for name, check in CHECKS.items()]
    return pd.DataFrame(lines, columns=list(COLUMNS))


def _check_lemma_1(root: int) -> dict:
    rng = np.random.default_rng(replicate_seed(root, "theory_checks", {"check": "lemma_1"}, 0))
    x, labels = rng.standard_normal(12), np.repeat([0, 1, 2], 4).astype(np.int32)
    squares = (x[:, None] - x[None, :]) ** 2
    within = sum(squares[np.ix_(labels == k, labels == k)].sum() / 4 for k in range(3))
    ratio = (squares.sum() / 12 - within) / feature_scores(CentredMatrix(x[:, None]), labels, 3)[0]
    return {
        "holds": bool(np.isclose(ratio, 1)),
        "ours": ratio,
        "theirs": 1.0,
        "reason": "The double sums of Eq. (4) count every pair twice; the lemma's proof begins "
        "with half of them. Theorem 1's K - 1 is true of the lemma's a_j.",
    }


def _check_criteria(root: int) -> dict:
    draws = {"check": "criteria"}
    x = np.random.default_rng(replicate_seed(root, "theory_checks", draws, 0)).standard_normal(6)
    within, between = {}, {}
    for labels in product(range(3), repeat=6):
        if set(labels) == {0, 1, 2}:
            codes = np.array(labels, np.int32)
            clusters = [x[codes == k] for k in range(3)]
            within[labels] = sum(((c - c.mean()) ** 2).sum() for c in clusters)
            between[labels] = feature_scores(CentredMatrix(x[:, None]), codes, 3)[0]
    ours, theirs = within[max(between, key=between.get)], min(within.values())
    return {"holds": bool(np.isclose(ours, theirs)), "ours": ours, "theirs": theirs}


def _scores_at_truth(root: int) -> pd.DataFrame:
    table = simulate_scores(
        three_levels(0.6), 20, [0.0, 0.3], n_features=50, repetitions=100, root=root
    )
    return table[table["distribution"] == "exponential"].set_index(["feature", "mislabelled"])


def _check_noise(root: int) -> dict:
    line = _scores_at_truth(root).loc[("noise", 0.3)]
    ours, se = line["score"], line["standard_error"]
    return {"holds": bool(abs(ours - 2) < 3 * se), "ours": ours, "se": se, "theirs": 2.0}


def _check_relevant(root: int) -> dict:
    line = _scores_at_truth(root).loc[("relevant", 0.0)]
    ours, se = line["score"], line["standard_error"]
    return {"holds": bool(ours - 2 > 3 * se), "ours": ours, "se": se, "theirs": 2.0}


def _check_optimal_partition(root: int) -> dict:
    levels = np.repeat([1.0, -1.0, 0.0], 2)
    values = {
        labels: expected_score(levels, np.array(labels), 3)
        for labels in product(range(3), repeat=6)
        if set(labels) == {0, 1, 2}
    }
    best = max(values.values())
    found = [labels for labels, value in values.items() if np.isclose(value, best)]
    natural = all(a == b and c == d and e == f for a, b, c, d, e, f in found)
    return {"holds": natural and len(found) == 6, "ours": best, "theirs": values[0, 0, 1, 1, 2, 2]}


def _check_hard_thresholding(root: int) -> dict:
    scores = np.array([3.0, 0.5, 2.0, 2.5, 0.1])
    # A linear function over the box is largest at a corner of it.
    best = max(sum(scores[list(kept)]) for kept in combinations(range(5), 2))
    ours = float(TopFeatures(2.7).weigh(scores) @ scores)
    return {"holds": bool(np.isclose(ours, best)), "ours": ours, "theirs": best}


def _check_l2_and_l0(root: int) -> dict:
    """Compare, for the l2 and l0 constraints, a closed form with the best of all supports."""
    scores = np.array([3.0, 0.5, 2.0, 2.5, 0.1])
    best = max(np.linalg.norm(scores[list(kept)]) for kept in combinations(range(5), 2))
    top = np.sort(scores)[-2:]
    closed = float(top @ top / np.linalg.norm(top))
    return {
        "holds": not np.isclose(closed, best),
        "ours": closed,
        "theirs": best,
        "reason": "With fixed clusters its solution is as easy: the s largest a_j, divided by "
        "their Euclidean norm, reach the best of all supports.",
    }


def _check_l2_and_l0_support(root: int) -> dict:
    """Compare the supports of the best solutions under the l2 and l0 and the l-inf and l0 norms."""
    scores = np.array([3.0, 0.5, 2.0, 2.5, 0.1])
    best = max(combinations(range(5), 2), key=lambda kept: np.linalg.norm(scores[list(kept)]))
    kept = tuple(np.flatnonzero(TopFeatures(2).weigh(scores)))
    return {
        "holds": best != kept,
        "reason": "With fixed clusters it keeps the same features, weighted in proportion to a_j.",
    }


def _check_ball(root: int) -> dict:
    """Compare the mean of |x_1| in the unit ball with the paper's centroid, at p = 5."""
    rng = np.random.default_rng(replicate_seed(root, "theory_checks", {"check": "ball"}, 0))
    points, p = rng.standard_normal((100_000, 5)), 5
    points *= (rng.random(100_000) ** (1 / p) / np.linalg.norm(points, axis=1))[:, None]
    values = np.abs(points[:, 0])
    ours, se = average(values).values()
    ratio = np.exp(gammaln(p / 2 + 1) - gammaln((p + 1) / 2) - gammaln(0.5))
    theirs = 2 / (p + 1) * ratio
    return {"holds": bool(abs(ours - theirs) < 3 * se), "ours": ours, "se": se, "theirs": theirs}


def _check_partition_bound(root: int) -> dict:
    """Count data sets whose best partition's ECR exceeds F(p*), at mu = 3 and p* = 40."""
    setting = {"mu": 3.0, "n_relevant": 40, "cluster_size": 20, "n_features": 160}
    model = three_levels(3.0)
    bound = ecr_bound(model, 40, impurity_curve(model, 11))
    return count_share(partition_errors(setting, "partition_bound", root) >= bound, wanted=0.0)


def _check_kappa(root: int) -> dict:
    model = three_levels(0.6)
    return {
        "holds": bool(np.isclose(model.kappa, model.stated_kappa)),
        "ours": model.kappa,
        "theirs": model.stated_kappa,
        "reason": "The proof needs ln K times as many relevant features as the theorem states. "
        "Either is far beyond the 50 of Experiment 2 (here mu = 0.6).",
    }


def _check_score_gap(root: int) -> dict:
    found = []
    for data, start in draw_setting(STRONG, "score_gap", root):
        scores = KMeans(3, random_state=start).fit(data.X).feature_scores_
        found.append(scores[data.relevant].min() > scores[~data.relevant].max())
    return count_share(found, wanted=1.0) | {"reason": _SAID}


def _check_selection(root: int) -> dict:
    return count_share(selects_exactly(STRONG, "selection", root), wanted=1.0) | {"reason": _SAID}


def _check_conditions(root: int) -> dict:
    model = three_levels(STRONG["mu"])
    return {
        "holds": False,
        "ours": least_features(model),
        "reason": "Theorem 4 also asks for p >= M, which Theorem 5 needs and does not repeat. The "
        "proof of Theorem 4 asks for more: for p* >= M. At mu = 8 it goes through from p* = "
        f"{least_features(model):.0e} on, which is the value given here.",
    }


CHECKS: dict[str, Callable[[int], dict]] = {
    "lemma_1": _check_lemma_1,
    "criteria": _check_criteria,
    "noise": _check_noise,
    "relevant": _check_relevant,
    "optimal_partition": _check_optimal_partition,
    "hard_thresholding": _check_hard_thresholding,
    "l2_and_l0": _check_l2_and_l0,
    "l2_and_l0_support": _check_l2_and_l0_support,
    "ball": _check_ball,
    "partition_bound": _check_partition_bound,
    "kappa": _check_kappa,
    "score_gap": _check_score_gap,
    "selection": _check_selection,
    "conditions": _check_conditions,
    **LIMIT_CHECKS,
    **COST_CHECKS,
}
"""By the names that ``data/paper/claims.csv`` gives them."""
