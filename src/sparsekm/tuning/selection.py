"""The rules that read a gap curve."""

from __future__ import annotations

import numpy as np
import pandas as pd

from sparsekm.cluster.validation import check_choice
from sparsekm.tuning.feature_limit import FeatureLimit

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
