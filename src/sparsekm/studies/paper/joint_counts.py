"""Which of the paper's counts of features cannot have come from the design together.

Where every relevant feature scores above every noise feature, a fit that keeps any noise keeps all
relevant features. Noise kept on average then tells in how many repetitions at least none was
dropped, and the others, which drop all that are missing, spread the number dropped.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from sparsekm.studies.paper.settings import Setting, get_setting
from sparsekm.studies.paper.study_values import StudyValues, runs_of
from sparsekm.studies.paper.versus_paper import PAPER_REPETITIONS, half_unit

_COUNTS = ("pnw", "pzw")


def explain_counts(line, comparison: pd.DataFrame, study: StudyValues) -> str:
    """Say why no fits of the design give both counts as the paper prints them; "" if some may.

    `line` is a row of what `compare_rows` made, as `itertuples` gives it. That no fit keeps noise
    in place of a relevant feature is taken from all our runs of the method in the setting.
    """
    keys = ["experiment", "setting", "row"]
    of_row = (comparison[keys] == [getattr(line, key) for key in keys]).all(axis=1)
    counts = {count.metric: count for count in comparison[of_row].itertuples()}
    setting = get_setting(line.experiment, line.setting)
    # k-means keeps them all.
    n_relevant = study.printed(setting, "kmeans", "pnw")
    if line.metric not in _COUNTS or not set(_COUNTS) <= set(counts) or np.isnan(n_relevant):
        return ""
    n_fits, n_noise, separate = _separate(setting, line.method, n_relevant, study)
    pnw, pzw = (counts[metric] for metric in _COUNTS)
    if not separate or np.isnan([pnw.paper_bracket, pzw.paper_bracket]).any():
        return ""
    dropped = n_relevant - pnw.paper - half_unit(pnw.paper)
    kept = n_noise - pzw.paper - half_unit(pzw.paper)
    kept_sd = pzw.paper_bracket + half_unit(pzw.paper_bracket)
    n_none, least = least_sd_dropped(dropped, kept, kept_sd, PAPER_REPETITIONS)
    if least <= pnw.paper_bracket + half_unit(pnw.paper_bracket):
        return ""
    return (
        f"the paper's counts cannot both be of this design: in none of {n_fits} fits of the method "
        "is a noise feature kept where a relevant one is dropped. Its PZW then asks for at least "
        f"{n_none} of {PAPER_REPETITIONS} repetitions that keep all {n_relevant:g}, and PNW has a "
        f"standard deviation of at least {least:.0f}, where {pnw.paper_bracket:g} is printed"
    )


def _separate(
    setting: Setting, method: str, n_relevant: float, study: StudyValues
) -> tuple[int, int, bool]:
    """Give the number of our fits, of noise features, and whether none keeps noise too early."""
    ran = [
        [study.of_row(setting, name, metric) for metric in ("nw", *_COUNTS)]
        for name in runs_of(method)
    ]
    ran = [values for values in ran if all(value is not None for value in values)]
    nw, pnw, pzw = (np.concatenate(values) for values in zip(*ran, strict=True))
    too_early = (pnw < n_relevant) & (nw > pnw)
    return len(nw), int((nw - pnw + pzw)[0]), not too_early.any()


def least_sd_dropped(dropped: float, kept: float, kept_sd: float, n: int) -> tuple[int, float]:
    r"""Bound the spread of the relevant features dropped where fits that keep noise drop none.

    Over `n` repetitions `dropped` relevant and `kept` noise features are dropped and kept on
    average, the latter with a standard deviation `kept_sd`. Returned are the least number of
    repetitions that keep noise, and the least standard deviation of the number dropped (ddof = 1).

    By the inequality of Cauchy and Schwarz, a share :math:`q \ge k^2 / (k^2 + v)` of repetitions
    keeps noise, where it has mean k and variance v. These drop none, so that the others drop
    :math:`d / (1 - q)` on average, and the variance of the number dropped is at least
    :math:`d^2 q / (1 - q)`.

    Examples
    --------
    One of two repetitions drops four features; the other keeps six of noise.

    >>> least_sd_dropped(2, 3, 18**0.5, 2)
    (1, 2.8284271247461903)
    """
    if dropped <= 0 or kept <= 0:
        return 0, 0.0
    variance = kept_sd**2 * (n - 1) / n
    # Less than a rounding error above a whole number is that number.
    n_none = int(np.ceil(n * kept**2 / (kept**2 + variance) - 1e-9))
    if n_none == n:
        return n, np.inf
    return n_none, float(dropped * np.sqrt(n_none / (n - n_none) * n / (n - 1)))
