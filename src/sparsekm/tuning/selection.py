"""The rules that read a gap curve."""

from __future__ import annotations

import pandas as pd

from sparsekm.cluster.validation import check_choice

RULES = ["max", "one-se"]


def select_sparsity(gap_table: pd.DataFrame, rule: str = "max") -> int:
    """Choose a row of a gap curve.

    Parameters
    ----------
    gap_table : pandas.DataFrame
        As `sparsekm.tuning.gap.gap_curve` returns it, ascending in sparsity.
    rule : {"max", "one-se"}
        "max" takes the largest gap (the paper's rule), the smallest sparsity among equals;
        "one-se" the smallest sparsity whose gap is within one standard error, that of the largest
        gap, of the largest.

    Returns
    -------
    int
        Position of the row.
    """
    check_choice("rule", rule, RULES)
    gap = gap_table["gap"].to_numpy()
    best = int(gap.argmax())
    if rule == "max":
        return best
    return int((gap >= gap[best] - gap_table["se"].iloc[best]).argmax())
