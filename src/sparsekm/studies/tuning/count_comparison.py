"""Every rule's number of clusters where the number is known, and how often it is the known one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True)
class CountEffort:
    """What is spent on a data set.

    Attributes
    ----------
    values : sequence of int
        Numbers of clusters to choose from.
    """

    values: Sequence[int]
    n_init: int
    n_sparsities: int
    n_references: int
    n_splits: int
    min_cluster_size: int


def compare_count_rules(data: StudyData, effort: CountEffort, *, seed: int) -> pd.DataFrame:
    """Let every rule choose the number of clusters of a data set.

    Parameters
    ----------
    data : StudyData
        With clusters: which rule finds none is not asked.
    effort : CountEffort
        Numbers that a subsample has no room for are left out.

    Returns
    -------
    pandas.DataFrame
        A row per rule: rule, chosen, known.

    Raises
    ------
    ValueError
        If there are no clusters, or room for none of the numbers.
    """
    if data.labels is None:
        raise ValueError("labels=None: the number of clusters should be known.")
    n_samples, n_features = data.X.shape
    most = largest_count(n_samples, effort.min_cluster_size)
    table = compare_cluster_counts(
        L0KMeans(n_init=effort.n_init, min_cluster_size=effort.min_cluster_size),
        data.X,
        [count for count in effort.values if count <= most],
        sparsities=default_sparsities("l0", n_features, effort.n_sparsities),
        n_splits=effort.n_splits,
        n_references=effort.n_references,
        random_state=seed,
    )
    chosen = [select_cluster_count(table, rule) for rule in COUNT_RULES]
    return pd.DataFrame({"rule": COUNT_RULES, "chosen": chosen, "known": data.n_clusters})


def summarise_counts(table: pd.DataFrame) -> pd.DataFrame:
    """Count how often every rule chose the known number.

    Parameters
    ----------
    table : DataFrame
        Rows of `compare_count_rules` with data_set, kind and replicate.

    Returns
    -------
    DataFrame
        A row per data set and rule: data_set, kind, rule, known, replicates, share_known (of the
        repetitions in which the known number was chosen), mean_chosen.
    """
    # A sample of a matrix can miss a rare class: what is known is known of a repetition.
    table = table.assign(found=table["chosen"] == table["known"])
    groups = table.groupby(["data_set", "kind", "rule"], sort=False)
    return groups.agg(
        known=("known", "mean"),
        replicates=("known", "size"),
        share_known=("found", "mean"),
        mean_chosen=("chosen", "mean"),
    ).reset_index()
