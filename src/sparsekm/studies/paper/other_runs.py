"""Which other runs of a method explain why our number differs from the paper's.

A run that is not told apart from the paper's number may only be noisy. It explains a difference if
it also moved from our number towards the paper's: means by a paired test over the same data sets,
standard deviations by their jackknife errors, at 5 % over all runs compared (Bonferroni).
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import norm

from sparsekm.studies.paper.settings import get_setting
from sparsekm.studies.paper.study_values import StudyValues
from sparsekm.studies.paper.value_text import write_value
from sparsekm.studies.paper.versus_paper import (
    CELL,
    ERROR,
    describe_run,
    list_some,
    mean_p,
    name_run,
    paired_below,
    spread_p,
)


def explain_difference(line, comparison: pd.DataFrame, study: StudyValues) -> tuple[bool, str]:
    """Say whether other runs of the same method explain a mean that differs, and which.

    `line` is a row of what `compare_rows` made, as `itertuples` gives it.
    """
    others = _order_others(line, comparison)
    same = _say_that_nothing_varies(line, others)
    met = [other for other in others if mean_p(other) >= ERROR]
    moved = [other for other in met if _mean_moved(line, other, study, len(others))]
    if moved:
        return True, f"{same}the paper's value is met by {_list_means(moved)}"
    if not others:
        return False, f"{same}no other run of this method to compare with"
    if met:
        return False, f"{same}nearer to the paper's value, but within noise, is {_list_means(met)}"
    return False, (
        f"{same}none of {len(others)} other runs meets the paper's value; nearest is "
        f"{_describe(others[0])}"
    )


def explain_bracket(line, comparison: pd.DataFrame) -> tuple[bool, str]:
    """Say whether a bracket agrees as a variance, or with other runs that meet the mean too."""
    if spread_p(line, as_variance=True) >= ERROR:
        return True, f"as a variance the bracket agrees: ours is {line.sd**2:.4f}"
    # A spread around another mean is no reason.
    others = [other for other in _order_others(line, comparison) if mean_p(other) >= ERROR]
    for as_variance, noun in ((False, "bracket"), (True, "bracket, as a variance,")):
        met = [
            other
            for other in others
            if spread_p(other, as_variance=as_variance) >= ERROR
            and _spread_moved(line, other, as_variance, len(others))
        ]
        if met:
            written = {
                o.row: f"{o.sd**2:.4f}" if as_variance else write_value(o.metric, o.sd) for o in met
            }
            named = [f"{name_run(row)}: {value}" for row, value in written.items()]
            return True, f"the {noun} is met by {list_some(named)}"
    return False, "no other run meets both the mean and its bracket"


def _order_others(line, comparison: pd.DataFrame) -> list:
    """Give the other runs that can be judged, those nearest to the paper's value first."""
    same = (comparison[CELL] == [getattr(line, key) for key in CELL]).all(axis=1)
    others = comparison[same & (comparison["row"] != line.row) & comparison["units"].notna()]
    distances = others.assign(units=others["units"].abs(), difference=others["difference"].abs())
    # Where nothing varies every difference is infinite in units.
    ordered = distances.sort_values(["units", "difference"], kind="stable").index
    return list(others.loc[ordered].itertuples())


def _mean_moved(line, other, study: StudyValues, n_tests: int) -> bool:
    """Test by pairs whether another run's mean lies from ours towards the paper's."""
    setting = get_setting(line.experiment, line.setting)
    ours, theirs = (study.of_row(setting, one.row, line.metric) for one in (line, other))
    lower, upper = (theirs, ours) if line.paper < line.mean else (ours, theirs)
    return paired_below(lower, upper)[2] * n_tests < ERROR


def _spread_moved(line, other, as_variance: bool, n_tests: int) -> bool:
    """Test whether another run's spread lies from ours towards the paper's."""
    bracket = np.sqrt(line.paper_bracket) if as_variance else line.paper_bracket
    towards = np.sign(bracket - line.sd) * (other.sd - line.sd)
    if towards <= 0 or 0 in (line.sd, other.sd):
        return bool(towards > 0)
    error = np.hypot(line.log_sd_se, other.log_sd_se)
    return bool(norm.sf(abs(np.log(other.sd / line.sd)) / error) * n_tests < ERROR)


def _say_that_nothing_varies(line, others: list) -> str:
    """Say so where every repetition gave the same; and which runs always give something else.

    A value that never varies is often one of the grid's: the other runs show what it hangs on.
    """
    if line.se != 0:
        return ""
    said = ", ".join(
        f"every one of {name_run(other.row)} {write_value(line.metric, other.mean)}"
        for other in others
        if other.se == 0 and other.mean != line.mean
    )
    return "every repetition gave our value" + (f", {said}; " if said else "; ")


def _list_means(runs: list) -> str:
    return list_some([_describe(run) for run in runs])


def _describe(line) -> str:
    units = f"{line.units:+.1f} units".replace("-", "−").replace("inf", "∞")
    return f"{describe_run(line.row, line.metric, line.mean, line.se)}, {units}"
