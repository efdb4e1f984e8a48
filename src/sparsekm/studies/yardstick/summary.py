"""Summary of the methods: mean and spread over seeds, and wins and losses over data sets."""

from __future__ import annotations

import pandas as pd

_MEASURES = ["error", "cer", "ari", "n_kept"]
_SIZES = ["n_available", "n_samples", "n_features", "n_clusters"]
# The method with which all others are compared.
BASELINE = "kmeans"


def summarise(table: pd.DataFrame) -> pd.DataFrame:
    """Average the results of `run_seeds` over seeds, for every data set and method.

    The columns are data_set, method, seeds; n_available, n_samples, n_features and n_clusters (the
    maximum over seeds: they differ only if samples are drawn); mean and standard deviation
    (ddof = 1, NaN for a single seed) of error, cer, ari and n_kept; and the median of seconds,
    since the first fit of a job also loads or compiles code.
    """
    groups = table.groupby(["data_set", "method"], sort=False)
    summary = groups[_SIZES].max()
    summary.insert(0, "seeds", groups.size())
    for name in _MEASURES:
        summary[name] = groups[name].mean()
        summary[f"{name}_sd"] = groups[name].std()
    summary["seconds"] = groups["seconds"].median()
    return summary.reset_index()


def count_wins(summary: pd.DataFrame) -> pd.DataFrame:
    """Average every method over the data sets, and count its wins and losses against k-means.

    The columns are method, sets; means of error, cer, ari, and share (of features kept); better,
    same and worse: on how many data sets the mean error is lower than that of k-means by at least
    half a sample, within half a sample, or higher. Without k-means these are empty.
    """
    baseline = summary[summary["method"] == BASELINE].set_index("data_set")["error"]
    half = 0.5 / summary["n_samples"]
    # The tolerance below allows for rounding.
    margin = summary["error"] - summary["data_set"].map(baseline)
    judged = summary.assign(
        share=summary["n_kept"] / summary["n_features"],
        better=margin <= -half + 1e-12,
        same=margin.abs() < half - 1e-12,
        worse=margin >= half - 1e-12,
    )
    groups = judged.groupby("method", sort=False)
    overview = groups[["error", "cer", "ari", "share"]].mean()
    overview.insert(0, "sets", groups.size())
    counts = groups[["better", "same", "worse"]].sum()
    if baseline.empty:
        counts = counts.astype(object).assign(better=None, same=None, worse=None)
    return overview.join(counts).reset_index()
