"""What else the clusters mean: their association with what is known of the samples."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy.stats import chi2_contingency, false_discovery_control, kruskal
from scipy.stats.contingency import association

STRONG = 0.5
"""Cramer's V above which a column and the clusters are nearly the same."""
CATEGORY_EFFECT = "V"


def associate(labels: np.ndarray, columns: Mapping[str, pd.Series]) -> pd.DataFrame:
    """Test for each column whether it differs between clusters.

    Numbers are compared by the test of Kruskal and Wallis, whose effect size is the share of the
    variance of ranks between the clusters (epsilon squared); categories by the chi-square test,
    whose effect size is Cramer's V. Samples whose value is missing are left out.

    Parameters
    ----------
    labels : ndarray of shape (n_samples,)
        Clusters.
    columns : mapping of str to Series of shape (n_samples,)

    Returns
    -------
    DataFrame
        A row per column, the largest effect first: column, test, n (samples with a value), effect,
        effect_name, p, and q, the false discovery rate over the columns. A column that is the same
        for all samples has p 1 and effect 0.

    Examples
    --------
    >>> batch = pd.Series(["a", "a", "a", "b", "b", "b"])
    >>> associate(np.array([0, 0, 0, 1, 1, 1]), {"batch": batch})["effect"].tolist()
    [1.0]
    """
    rows = [_test(str(name), labels, values) for name, values in columns.items()]
    names = ["column", "test", "n", "effect", "effect_name", "p"]
    table = pd.DataFrame(rows, columns=names)
    table["q"] = false_discovery_control(table["p"]) if len(table) else table["p"]
    return table.sort_values(["effect", "column"], ascending=[False, True], ignore_index=True)


def _test(name: str, labels: np.ndarray, values: pd.Series) -> tuple:
    known = values.notna().to_numpy()
    values, labels = values[known], labels[known]
    is_numeric = pd.api.types.is_numeric_dtype(values) and values.dtype != bool
    about = ("Kruskal-Wallis", "ε²") if is_numeric else ("chi-square", CATEGORY_EFFECT)
    n, effect, p = len(values), 0.0, 1.0
    if values.nunique() > 1 and len(np.unique(labels)) > 1:
        if is_numeric:
            parts = [values[labels == cluster] for cluster in np.unique(labels)]
            statistic, p = kruskal(*parts)
            effect = statistic / (n - 1)
        else:
            table = pd.crosstab(labels, values.astype(str).to_numpy()).to_numpy()
            p = chi2_contingency(table, correction=False).pvalue
            effect = association(table, method="cramer")
    return name, about[0], n, float(effect), about[1], float(p)
