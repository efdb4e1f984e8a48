"""Comparison of rules for the number of clusters on data sets with a known number."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from sparsekm.cluster.estimators import L0KMeans
from sparsekm.studies.tuning.study_data import StudyData
from sparsekm.tuning.grid import default_sparsities
from sparsekm.tuning.number_of_clusters import (
    COUNT_RULES,
    compare_cluster_counts,
    largest_count,
    select_cluster_count,
)


def compare_count_rules(
    data: StudyData,
    *,
    values: Sequence[int],
    n_init: int,
    min_cluster_size: int,
    n_sparsities: int,
    seed: int,
    **effort: int,
) -> pd.DataFrame:
    """Apply every rule for the number of clusters to a data set with clusters.

    Those `values` that are too large for a subsample are left out. `effort` is
    ``n_references`` and ``n_splits``, as in `compare_cluster_counts`. There is a row per rule:
    rule, chosen, known.
    """
    if data.labels is None:
        raise ValueError("labels=None: the number of clusters should be known.")
    n_samples, n_features = data.X.shape
    most = largest_count(n_samples, min_cluster_size)
    table = compare_cluster_counts(
        L0KMeans(n_init=n_init, min_cluster_size=min_cluster_size),
        data.X,
        [count for count in values if count <= most],
        sparsities=default_sparsities("l0", n_features, n_sparsities),
        random_state=seed,
        **effort,
    )
    chosen = [select_cluster_count(table, rule) for rule in COUNT_RULES]
    return pd.DataFrame({"rule": COUNT_RULES, "chosen": chosen, "known": data.n_clusters})


def summarise_counts(table: pd.DataFrame) -> pd.DataFrame:
    """Count how often every rule chose the known number.

    `table` has rows of `compare_count_rules` with data_set, kind and replicate. The result has a
    row per data set and rule: data_set, kind, rule, known, replicates, share_known (of the
    repetitions in which the known number was chosen), mean_chosen.
    """
    # A subsample can miss a rare class, so the known number can differ between repetitions.
    table = table.assign(found=table["chosen"] == table["known"])
    groups = table.groupby(["data_set", "kind", "rule"], sort=False)
    return groups.agg(
        known=("known", "mean"),
        replicates=("known", "size"),
        share_known=("found", "mean"),
        mean_chosen=("chosen", "mean"),
    ).reset_index()
