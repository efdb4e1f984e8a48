"""Clusters against anatomy, or against known classes, as the page shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from sparsekm.annotation.gene_table import primary_method
from sparsekm.reporting.results import DatasetResult, method_title
from sparsekm.reporting.slice_figure import region_colors
from sparsekm.reporting.tables import nouns

_OTHERS_NAMED = 3


@dataclass(frozen=True)
class Share:
    """A class and how much of something lies in it."""

    label: str
    name: str
    color: str
    text: str


@dataclass(frozen=True)
class ClusterRow:
    """One cluster: its size, its best class, and the next ones."""

    cluster: int
    n_samples: str
    best: Share
    purity: str
    coverage: str
    others: list[Share]


@dataclass(frozen=True)
class AnatomyView:
    """Clusters of one method against known classes.

    ``counts`` has a row per cluster: its number, then the samples in each of ``labels``, empty
    where there are none, each with its share of the cluster in hundredths.
    """

    method: str
    sentence: str
    rows: list[ClusterRow]
    labels: list[Share]
    counts: list[tuple[int, list[tuple[str, int]]]]
    label_noun: str
    sample_noun: str
    file: str


def view_anatomy(result: DatasetResult, file: str) -> AnatomyView | None:
    """Prepare clusters against known classes, for the method that the genes are judged by.

    Parameters
    ----------
    result : DatasetResult
    file : str
        Where all methods stand.

    Returns
    -------
    view : AnatomyView, or None
        None where no classes are known.
    """
    if result.contingency is None or result.contingency.empty:
        return None
    method = primary_method(result.methods)
    table = result.contingency[result.contingency["method"] == method]
    colors = region_colors(result) if result.is_atlas else {}
    order = [label for label in colors if label in set(table["label"])]
    order += sorted(set(table["label"]) - set(order))
    words = nouns(result)
    names = dict(zip(table["label"], table["name"], strict=True))
    rows = [_view_cluster(cluster, group, colors) for cluster, group in table.groupby("cluster")]
    return AnatomyView(
        method=method_title(method),
        sentence=_summarise(table, order, words.samples, words.labels)
        + _tell_unlabelled(result.n_unlabelled, words.samples),
        rows=rows,
        labels=[Share(a, names[a], colors.get(a, ""), "") for a in order],
        counts=[_view_counts(cluster, group, order) for cluster, group in table.groupby("cluster")],
        label_noun=words.labels,
        sample_noun=words.samples,
        file=file,
    )


def _view_cluster(cluster: int, group: pd.DataFrame, colors: Mapping[str, str]) -> ClusterRow:
    best = group[group["is_best"]].iloc[0]
    others = group[~group["is_best"]].head(_OTHERS_NAMED)
    return ClusterRow(
        cluster=int(cluster),
        n_samples=f"{int(best['n_cluster']):,}",
        best=Share(best["label"], best["name"], colors.get(best["label"], ""), ""),
        purity=f"{best['share_of_cluster']:.0%}",
        coverage=f"{best['share_of_label']:.0%}",
        others=[
            Share(o.label, o.name, colors.get(o.label, ""), f"{o.share_of_cluster:.0%}")
            for o in others.itertuples(index=False)
        ],
    )


def _view_counts(
    cluster: int, group: pd.DataFrame, order: list[str]
) -> tuple[int, list[tuple[str, int]]]:
    counts = group.set_index("label")["n_shared"].reindex(order).fillna(0).astype(int)
    whole = int(counts.sum())
    return int(cluster), [(f"{n:,}" if n else "", round(100 * n / whole)) for n in counts]


def _summarise(table: pd.DataFrame, order: list[str], samples: str, labels: str) -> str:
    best = table[table["is_best"]]
    share = best["n_shared"].sum() / table["n_shared"].sum()
    matched = set(best["label"])
    unmatched = [label for label in order if label not in matched]
    text = (
        f"{share:.0%} of the {samples} lie in the best of the {labels} of their cluster; "
        f"{len(matched)} of {len(order)} {labels} are the best of some cluster"
    )
    return f"{text}, {', '.join(unmatched)} of none." if unmatched else f"{text}."


def _tell_unlabelled(number: int, samples: str) -> str:
    if not number:
        return ""
    return f" Left out of all this and of the CER: {number:,} {samples} without a known label."
