"""The table of clusters with the kept features that mark them, up and down."""

from __future__ import annotations

import numpy as np

from sparsekm.reporting.cluster_colors import class_colors
from sparsekm.reporting.results import DatasetResult
from sparsekm.reporting.table_view import Cell, Column, TableView
from sparsekm.reporting.tables import nouns

_SHOWN = 5


def view_markers(result: DatasetResult, file: str) -> TableView | None:
    """Make a row for each cluster of the answer: the kept features highest, and lowest, in it.

    Features are sorted by how far the mean of the cluster is from that of the next one. `file`
    has those of all features.
    """
    words, method = nouns(result), result.primary
    numbers, sizes = np.unique(method.labels, return_counts=True)
    if method.centers is None or len(numbers) < 2:
        return None
    kept = np.flatnonzero(method.weights)
    means = method.centers[numbers][:, kept]
    names = [str(result.var.index[feature]) for feature in kept]
    best, colors = result.majorities, class_colors(result)
    rows = []
    for place, (number, size) in enumerate(zip(numbers, sizes, strict=True)):
        others = np.delete(means, place, axis=0)
        up, down = means[place] - others.max(axis=0), others.min(axis=0) - means[place]
        label = best.get(int(number), "")
        rows.append(
            [
                Cell(str(number)),
                Cell(f"{size:,}"),
                *([Cell(label, color=colors.get(label, ""))] if best else []),
                Cell(_name_leads(names, up)),
                Cell(_name_leads(names, -down, "−")),
            ]
        )
    columns = [Column("cluster"), Column(words.samples)]
    columns += [Column("majority", kind="text")] if best else []
    columns += [Column("higher than in all others", kind="text")]
    columns += [Column("lower than in all others", kind="text")]
    caption = (
        f"Kept {words.features} with the largest lead of a cluster on the next one, in standard "
        f"deviations of the {words.features}. Optimistic: they were chosen because they differ; do "
        f"not test them again on the same {words.samples}. All: {file}"
    )
    return TableView(caption, columns, rows, result.is_simulated, kind="numbers markers")


def _name_leads(names: list[str], leads: np.ndarray, sign: str = "+") -> str:
    sizes = np.abs(leads) if sign == "+" else -leads
    of_this = leads > 0 if sign == "+" else leads < 0
    ranked = np.argsort(np.where(of_this, -sizes, np.inf), kind="stable")[: of_this.sum()]
    return ", ".join(f"{names[at]} {sign}{sizes[at]:.1f}" for at in ranked[:_SHOWN]) or "none"
