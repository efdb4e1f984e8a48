r"""How many features to keep: the gap curve, the rules that read it, and a limit.

.. math:: \mathrm{gap}(s) = \log O(s) - \frac1B \sum_b \log O^*_b(s) ,

with O(s) the objective on the data and O*_b on reference b (Tibshirani, Walther & Hastie 2001,
doi:10.1111/1467-9868.00293; for sparse k-means Witten & Tibshirani 2010,
doi:10.1198/jasa.2010.tm09415), and the rules that read it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from sparsekm.cluster.sparsity_path import SparsityPath
from sparsekm.cluster.validation import check_choice
from sparsekm.cluster.weight_step import PENALTIES, resolve_sparsities
from sparsekm.tuning.feature_ranking import NoiseCorrelation, noise_correlation


def gap_curve(path: SparsityPath, reference_objectives: np.ndarray) -> pd.DataFrame:
    """Compare the first objectives of a path with those (n_references, n_sparsities) of references.

    The table is ascending in sparsity. objective is the objective of the fit. log_objective is the
    logarithm of the first objective, before the fit was refined. reference_mean and reference_sd
    (ddof = 1) describe the same logarithm for B references, and se = sd * sqrt(1 + 1 / B).
    """
    logs = np.log(reference_objectives)
    table = pd.DataFrame(
        {
            "sparsity": path.sparsities,
            "n_selected": path.n_selected,
            "objective": path.objectives,
            "log_objective": np.log(path.first_objectives),
            "reference_mean": logs.mean(axis=0),
            "reference_sd": logs.std(axis=0, ddof=1),
        }
    )
    table["gap"] = table["log_objective"] - table["reference_mean"]
    table["se"] = table["reference_sd"] * np.sqrt(1 + 1 / len(logs))
    return table.sort_values("sparsity", kind="stable", ignore_index=True)


def default_sparsities(penalty: str, n_features: int, n_sparsities: int = 10) -> np.ndarray:
    """Return a geometric grid of at most `n_sparsities`, ascending until nothing is dropped."""
    step = PENALTIES[penalty]
    grid = np.geomspace(*step.grid_range(n_features), n_sparsities)
    return np.unique(np.rint(grid) if step.counts_features else grid)


def search_grid(penalty: str, sparsities, n_features: int, n_constant: int) -> np.ndarray:
    """Return the ascending grid of a search among the features that vary; None is the default."""
    step = PENALTIES[check_choice("penalty", penalty, PENALTIES)]
    n_varying = n_features - n_constant
    if sparsities is None:
        sparsities = default_sparsities(penalty, n_varying)
    grid = resolve_sparsities(penalty, sparsities, n_features, n_constant)
    return np.unique(np.minimum(grid, n_varying) if step.counts_features else grid)


def refined_sparsities(
    penalty: str, sparsities: np.ndarray, peak: int, n_refined: int
) -> np.ndarray:
    """Add `n_refined` sparsities between the neighbours of one value of an ascending grid.

    There are fewer if rounding to whole features makes some of them equal.

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


# The largest share of correlated features that is kept.
LARGEST_SHARE = 0.25
FREE = (
    "The dropped features show no correlation with each other, so the sparsity with the largest "
    "gap is chosen: it keeps {kept}."
)
LIMITED = (
    "The dropped features correlate with each other, so the gap alone cannot decide. At most "
    "{most:,} may be kept"
)
BY_LIMIT = ", and the gap still rises there. This limit, not the data, decides to keep {kept}."
BY_GAP = ". Below this limit the largest gap keeps {kept}."


@dataclass(frozen=True)
class FeatureLimit:
    """The most features that a choice may keep, and why.

    Permuting destroys correlations that real features have even without clusters, so the gap of
    correlated data tends to increase until all features are kept. In this case at most a quarter of
    them may be kept.
    """

    correlation: NoiseCorrelation  # of the features that the fit at the largest gap drops
    n_features: int  # all features

    @property
    def most(self) -> int:
        """The largest number of features to keep: all, if the dropped features do not correlate."""
        limited = self.correlation.is_beyond_chance
        return share_of(self.n_features) if limited else self.n_features

    def decides(self, gap_table: pd.DataFrame, chosen: int) -> bool:
        """Return whether the gap increases after the row `chosen`, where the limit is exceeded."""
        following = gap_table.iloc[chosen + 1 : chosen + 2]
        over = following["n_selected"] > self.most
        return bool((over & (following["gap"] > gap_table["gap"].iloc[chosen])).any())

    def sentence(self, gap_table: pd.DataFrame, chosen: int) -> str:
        """Describe what determined the row `chosen` of a gap curve."""
        text = FREE
        if self.correlation.is_beyond_chance:
            text = LIMITED + (BY_LIMIT if self.decides(gap_table, chosen) else BY_GAP)
        kept = f"{gap_table['n_selected'].iloc[chosen]:,} of {self.n_features:,} features"
        return text.format(kept=kept, most=self.most)


def share_of(n_features: int) -> int:
    """Return the largest number of `n_features` correlated features to keep, at least one."""
    return max(1, int(LARGEST_SHARE * n_features))


def feature_limit(X: np.ndarray, path: SparsityPath, gap_table: pd.DataFrame) -> FeatureLimit:
    """Test whether the features that a path's fit to `X` drops at the largest gap correlate.

    A sparser fit would drop features that make the clusters. If it splits them differently, the
    dropped features correlate within its clusters.
    """
    peak = np.argsort(path.sparsities, kind="stable")[int(gap_table["gap"].argmax())]
    correlation = noise_correlation(X, path.labels[peak], path.weights[peak])
    return FeatureLimit(correlation, X.shape[1])


RULES = ["max", "one-se", "auto"]


def select_sparsity(
    gap_table: pd.DataFrame, rule: str = "max", limit: FeatureLimit | None = None
) -> int:
    """Choose a row of a gap curve; return its position.

    "max" takes the largest gap (the paper's rule), with the smallest sparsity if several are equal.
    "one-se" takes the smallest sparsity whose gap is within one standard error of the largest gap.
    "auto" is "max" among the sparsities within `limit`, or the sparsest if there is none.
    """
    check_choice("rule", rule, RULES)
    gap = gap_table["gap"].to_numpy()
    if rule == "auto":
        if limit is None:
            raise ValueError("rule='auto' requires the argument limit, from feature_limit.")
        allowed = gap_table["n_selected"].to_numpy() <= limit.most
        allowed[0] = True
        return int(np.where(allowed, gap, -np.inf).argmax())
    best = int(gap.argmax())
    if rule == "max":
        return best
    return int((gap >= gap[best] - gap_table["se"].iloc[best]).argmax())
