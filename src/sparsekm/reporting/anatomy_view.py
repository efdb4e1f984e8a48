"""The section that compares clusters with anatomy or known classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from sparsekm.reporting.cluster_colors import region_colors
from sparsekm.reporting.results import DatasetResult
from sparsekm.reporting.table_view import Cell, Column, TableView
from sparsekm.reporting.tables import Nouns, nouns

_OTHERS_NAMED = 3
_SINGULAR = {"regions": "region", "classes": "class"}


@dataclass(frozen=True)
class AnatomyView:
    """Clusters of one method against known classes."""

    method: str
    sentence: str
    clusters: TableView  # a row per cluster: its size, its majority class, and the next ones
    contingency: TableView  # samples of each cluster in each class
    label_noun: str
    sample_noun: str
    file: str


def view_anatomy(result: DatasetResult, file: str) -> AnatomyView | None:
    """Compare clusters with known classes, if any, for the method that ranks the genes.

    `file` contains the comparison for all methods.
    """
    table = result.overlap
    if table is None:
        return None
    colors = region_colors(result) if result.is_atlas else {}
    order = [label for label in colors if label in set(table["label"])]
    order += sorted(set(table["label"]) - set(order))
    words = nouns(result)
    return AnatomyView(
        method=result.primary.title,
        sentence=_summarise(table, order, words.samples, words.labels)
        + _tell_unlabelled(result.n_unlabelled, words.samples),
        clusters=_view_clusters(table, colors, words, result.is_simulated),
        contingency=_view_contingency(table, order, colors, words, result.is_simulated),
        label_noun=words.labels,
        sample_noun=words.samples,
        file=file,
    )


def _view_clusters(
    table: pd.DataFrame, colors: Mapping[str, str], words: Nouns, simulated: bool
) -> TableView:
    """Make a row for each cluster."""
    rows = []
    for cluster, group in table.groupby("cluster"):
        best = group[group["is_best"]].iloc[0]
        others = group[~group["is_best"]].head(_OTHERS_NAMED)
        rows.append(
            [
                Cell(str(cluster)),
                Cell(f"{best['n_cluster']:,}"),
                _class_cell(best, colors),
                Cell(best["name"]),
                Cell(f"{best['share_of_cluster']:.0%}"),
                Cell(f"{best['share_of_label']:.0%}"),
                [_class_cell(other, colors, share=True) for _, other in others.iterrows()],
            ]
        )
    caption = (
        f"Each cluster with its majority {_SINGULAR[words.labels]}, the share of the cluster that "
        "belongs to it (purity) and the share of it that the cluster covers (covered)"
    )
    columns = [Column("cluster"), Column(words.samples)]
    columns += [Column("majority", kind="text"), Column("name", kind="text")]
    columns += [Column("purity"), Column("covered"), Column("next", kind="text")]
    return TableView(caption, columns, rows, simulated)


def _class_cell(row: pd.Series, colors: Mapping[str, str], share: bool = False) -> Cell:
    text = f"{row['label']} {row['share_of_cluster']:.0%}" if share else row["label"]
    return Cell(text, color=colors.get(row["label"], ""), hover=row["name"])


def _view_contingency(
    table: pd.DataFrame, order: list[str], colors: Mapping[str, str], words: Nouns, simulated: bool
) -> TableView:
    """Count the samples of each cluster in each class, shaded by share of the cluster."""
    names = dict(zip(table["label"], table["name"], strict=True))
    rows = []
    for cluster, group in table.groupby("cluster"):
        counts = group.set_index("label")["n_shared"].reindex(order).fillna(0).astype(int)
        whole = int(counts.sum())
        cells = [Cell(f"{n:,}" if n else "", shade=round(100 * n / whole)) for n in counts]
        rows.append([Cell(str(cluster)), *cells])
    caption = (
        f"{words.samples.capitalize()} of each cluster (row) in each {_SINGULAR[words.labels]} "
        "(column); darker cells are larger shares of the cluster"
    )
    heads = [Column(label, color=colors.get(label, ""), hover=names[label]) for label in order]
    return TableView(
        caption, [Column("cluster"), *heads], rows, simulated, kind="numbers contingency"
    )


def _summarise(table: pd.DataFrame, order: list[str], samples: str, labels: str) -> str:
    label = _SINGULAR[labels]
    best = table[table["is_best"]]
    share = best["n_shared"].sum() / table["n_shared"].sum()
    matched = set(best["label"])
    unmatched = [label for label in order if label not in matched]
    text = (
        f"{share:.0%} of the {samples} belong to the majority {label} of their cluster; "
        f"{len(matched)} of {len(order)} {labels} are the majority {label} of at least one cluster"
    )
    text += f" (not {', '.join(unmatched)})" if unmatched else ""
    return f"{text}."


def _tell_unlabelled(number: int, samples: str) -> str:
    if not number:
        return ""
    return f" These counts, CER and ARI leave out {number:,} {samples} without a known label."
