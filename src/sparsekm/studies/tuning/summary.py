"""Summary of the comparison by data set and rule, and the requirements for a default."""

from __future__ import annotations

import pandas as pd

# The requirements for a default: on independent features a CER within a tenth of that of the
# permutation gap; on other data at most a quarter of the features, and a CER that exceeds that of
# k-means by at most this much.
RELATIVE_LOSS = 0.1
LARGEST_SHARE = 0.25
LARGEST_LOSS = 0.01

_MEANS = [
    "sparsity",
    "share",
    "cer",
    "cer_kmeans",
    "cer_best",
    "cer_permutation",
    "proper_zero",
    "proper_nonzero",
    "stability",
    "fits",
    "noise_correlation",
    "beyond_chance",
]


def summarise_study(table: pd.DataFrame) -> pd.DataFrame:
    """Average the repetitions of every data set and rule.

    `table` has rows of `compare_rules` with data_set, kind ("independent", "correlated",
    "no_clusters" or "real") and replicate. The result has data_set, kind, rule, replicates; means
    of sparsity, share (of the features kept), cer, cer_kmeans, cer_best and cer_permutation (the
    permutation gap's), proper_zero, proper_nonzero, stability, fits, noise_correlation,
    beyond_chance; cer_se; evidence_permutation, evidence_gaussian and evidence: in what share of
    the repetitions there was evidence of clusters; meets: whether what is asked of a default is
    met, empty for data without clusters.
    """
    table = table.assign(share=table["sparsity"] / table["n_features"])
    for column, rule in (
        ("cer_kmeans", "k-means"),
        ("cer_best", "best on path"),
        ("cer_permutation", "permutation, max"),
    ):
        own = table[table["rule"] == rule].set_index(["data_set", "replicate"])["cer"]
        table = table.join(own.rename(column), on=["data_set", "replicate"])
    evidence = [column for column in table if column.startswith("evidence")]
    table[evidence] = (table[evidence] > 1).astype(float)
    groups = table.groupby(["data_set", "kind", "rule"], sort=False)
    summary = groups[[*_MEANS, *evidence]].mean()
    summary.insert(3, "cer_se", groups["cer"].sem())
    summary.insert(0, "replicates", groups.size())
    summary = summary.reset_index()
    summary["meets"] = [_meets(row) for row in summary.itertuples()]
    return summary


def _meets(row) -> bool | None:
    if row.kind == "no_clusters":
        return None
    if row.kind == "independent":
        return bool(row.cer <= row.cer_permutation * (1 + RELATIVE_LOSS) + 1e-12)
    return bool(row.share <= LARGEST_SHARE and row.cer <= row.cer_kmeans + LARGEST_LOSS)


def rules_overview(summary: pd.DataFrame) -> pd.DataFrame:
    """Count, per rule and kind of data, the data sets on which it meets the requirements.

    The columns are rule, kind, data_sets, met, cer (mean), share (mean).
    """
    asked = summary[summary["kind"] != "no_clusters"]
    groups = asked.groupby(["rule", "kind"], sort=False)
    overview = groups[["cer", "share"]].mean()
    overview.insert(0, "met", groups["meets"].apply(lambda meets: int(sum(meets))))
    overview.insert(0, "data_sets", groups.size())
    return overview.reset_index()
