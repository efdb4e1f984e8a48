r"""The gap curve: sparsities, how much better they split the data than references, and the rules.

.. math:: \mathrm{gap}(s) = \log O(s) - \frac1B \sum_b \log O^*_b(s) ,

with O(s) the objective on the data and O*_b on reference b (Tibshirani, Walther & Hastie 2001,
doi:10.1111/1467-9868.00293; for sparse k-means Witten & Tibshirani 2010,
doi:10.1198/jasa.2010.tm09415), and the rules that read it. The default sparsities are a geometric
grid between a handful of features and all of them.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from sparsekm.cluster.validation import check_choice
from sparsekm.cluster.weight_step import PENALTIES, resolve_sparsities
from sparsekm.tuning.feature_limit import FeatureLimit


def gap_curve(
    sparsities: np.ndarray,
    n_selected: np.ndarray,
    objectives: np.ndarray,
    reference_objectives: np.ndarray,
) -> pd.DataFrame:
    """Compute the gap at every sparsity.

    All objectives are > 0 and found by the same search: those of the data are
    `SparsityPath.first_objectives`, those of at least two references have the shape (n_references,
    n_sparsities). `n_selected` is the number of features that each fit on the data keeps.

    The table is ascending in sparsity: sparsity, n_selected, objective, log_objective,
    reference_mean and reference_sd (of the log objective, ddof = 1), gap, se = sd * sqrt(1 + 1 /
    B).
    """
    reference_objectives = np.asarray(reference_objectives, dtype=np.float64)
    objectives = np.asarray(objectives, dtype=np.float64)
    if reference_objectives.ndim != 2 or reference_objectives.shape[0] < 2:
        raise ValueError(
            f"reference_objectives of shape {reference_objectives.shape} should have "
            "n_references >= 2 rows: one says nothing about the spread."
        )
    if reference_objectives.shape[1] != len(objectives):
        raise ValueError(
            f"reference_objectives has {reference_objectives.shape[1]} columns; should be "
            f"n_sparsities={len(objectives)}."
        )
    if not (np.all(objectives > 0) and np.all(reference_objectives > 0)):
        raise ValueError(
            "Every objective should be > 0, since the gap takes its logarithm. With one cluster it "
            "is 0: n_clusters should be >= 2."
        )
    log_references = np.log(reference_objectives)
    log_objective = np.log(objectives)
    mean = log_references.mean(axis=0)
    sd = log_references.std(axis=0, ddof=1)
    table = pd.DataFrame(
        {
            "sparsity": np.asarray(sparsities, dtype=np.float64),
            "n_selected": np.asarray(n_selected, dtype=np.int64),
            "objective": objectives,
            "log_objective": log_objective,
            "reference_mean": mean,
            "reference_sd": sd,
            "gap": log_objective - mean,
            "se": sd * np.sqrt(1 + 1 / len(reference_objectives)),
        }
    )
    return table.sort_values("sparsity", kind="stable", ignore_index=True)


def default_sparsities(penalty: str, n_features: int, n_sparsities: int = 10) -> np.ndarray:
    """Return a geometric grid of sparsities, ascending and distinct.

    For "l0" the grid runs from about sqrt(n_features) / 2 features to all of them, in whole
    numbers; for "l1" from a bound of 1.2 to sqrt(n_features), where the bound stops binding. It has
    `n_sparsities` values, or fewer if there are not as many distinct whole numbers.
    """
    step = PENALTIES[check_choice("penalty", penalty, PENALTIES)]
    grid = np.geomspace(*step.grid_range(n_features), n_sparsities)
    return np.unique(np.rint(grid) if step.counts_features else grid)


def search_grid(penalty: str, sparsities, n_features: int, n_constant: int) -> np.ndarray:
    """Return the ascending grid of a search among the features that vary; None is the default.

    There constant features are left out, so more features than vary are those that vary.
    """
    step = PENALTIES[check_choice("penalty", penalty, PENALTIES)]
    n_varying = n_features - n_constant
    if sparsities is None:
        sparsities = default_sparsities(penalty, n_varying)
    grid = resolve_sparsities(penalty, sparsities, n_features, n_constant)
    return np.unique(np.minimum(grid, n_varying) if step.counts_features else grid)


def refined_sparsities(
    penalty: str, sparsities: np.ndarray, peak: int, n_refined: int
) -> np.ndarray:
    """Add `n_refined` sparsities between the neighbours of one of an ascending grid.

    They are fewer where they agree with others; numbers of features are whole.

    Examples
    --------
    >>> refined_sparsities("l0", np.array([100, 165, 272, 448]), 2, 4)
    array([100., 165., 201., 246., 272., 300., 367., 448.])
    """
    low, high = sparsities[max(peak - 1, 0)], sparsities[min(peak + 1, len(sparsities) - 1)]
    finer = np.geomspace(low, high, n_refined + 2)[1:-1]
    if PENALTIES[penalty].counts_features:
        finer = np.rint(finer)
    known = np.isclose(finer[:, None], sparsities).any(axis=1)
    return np.union1d(sparsities, finer[~known])


RULES = ["max", "one-se", "auto"]


def select_sparsity(
    gap_table: pd.DataFrame, rule: str = "max", limit: FeatureLimit | None = None
) -> int:
    """Choose a row of a curve of `sparsekm.tuning.gap.gap_curve`; return its position.

    "max" takes the largest gap (the paper's rule), the smallest sparsity if several are equal;
    "one-se" the smallest sparsity whose gap is within one standard error, that of the largest gap,
    of the largest; "auto" is "max" among the sparsities that keep no more features than `limit`, or
    the sparsest if all keep more.
    """
    check_choice("rule", rule, RULES)
    gap = gap_table["gap"].to_numpy()
    if rule == "auto":
        if limit is None:
            raise ValueError("rule='auto' should come with the limit of the data (feature_limit).")
        allowed = gap_table["n_selected"].to_numpy() <= limit.most
        allowed[0] = True
        return int(np.where(allowed, gap, -np.inf).argmax())
    best = int(gap.argmax())
    if rule == "max":
        return best
    return int((gap >= gap[best] - gap_table["se"].iloc[best]).argmax())
