"""The section that compares ages: genes that enter and leave, and clusters that correspond."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from sparsekm.annotation.gene_table import DROPPED, KEPT, VERDICTS
from sparsekm.figures.style import BLUE, INK, ORANGE, SKY, figure_style, new_figure
from sparsekm.reporting.clusters import region_colors
from sparsekm.reporting.figures import caption_figure
from sparsekm.reporting.page_tables import (
    Cell,
    Column,
    TableView,
    caption,
    make_table,
    name_some,
    write_text,
)
from sparsekm.reporting.results import DatasetResult


def view_corresponding(results: Sequence[DatasetResult]) -> TableView | None:
    """List the clusters of each region (row) at each age (column), by the primary methods.

    A cluster belongs to the region with most of its voxels; clusters in one row correspond.
    """
    results = [result for result in results if result.is_atlas]
    tables = {result.name: result.overlap for result in results if result.overlap is not None}
    if len(tables) < 2:
        return None
    colors = {label: c for result in results for label, c in region_colors(result).items()}
    listed = [name for result in results for name in result.regions["acronym"].astype(str)]
    order = [label for label in dict.fromkeys(listed) if label in colors]
    titles = dict.fromkeys(result.primary.title for result in results)
    columns = [_list_clusters(table) for table in tables.values()]
    return make_table(
        caption("corresponding", titles=" and ".join(titles)),
        {"region": "", **dict.fromkeys(tables, "text")},
        (
            [Cell(label, color=colors[label]), *(column.get(label) for column in columns)]
            for label in [*order, *sorted(set(colors) - set(order))]
        ),
        simulated=all(result.is_simulated for result in results),
    )


def _list_clusters(overlap: pd.DataFrame) -> dict[str, str]:
    """Write the clusters that lie mostly in each region, the largest part of it first."""
    own = overlap[overlap["is_best"]].sort_values(["n_shared", "cluster"], ascending=[False, True])
    texts = own["cluster"].astype(str) + own["share_of_label"].map(" ({:.0%})".format)
    found = texts.groupby(own["label"]).agg(", ".join)
    return dict.fromkeys(overlap["label"], "no cluster") | found.to_dict()


_EVERYWHERE = "needed everywhere|housekeeping"
"""How terms are named whose genes are needed in all cells."""


def describe_needed(results: Sequence[DatasetResult], sets: Mapping[str, Any]) -> str:
    """Say how many genes are dropped of those that a gene set calls needed everywhere.

    `sets` is the setting of the gene sets, whose tests are those of ``result.enrichment``. Where
    the real atlas was tested without such a set, a source is named that has one.
    """
    ages = [result for result in results if result.is_atlas and "verdict" in result.genes]
    found = []
    for age in ages:
        if age.enrichment is not None:
            named = age.enrichment["name"].astype(str).str.contains(_EVERYWHERE, case=False)
            lines = age.enrichment[named & (age.enrichment["group"] == "dropped")]
            found += [(age, line) for line in lines.itertuples(index=False)]
    source = Path(str(sets.get("path") or "gene sets")).name
    if not sets.get("path") and sets.get("source") == "phantom":
        source = "the phantom’s invented terms"
    is_real = bool(ages) and not any(age.is_simulated for age in ages)
    return write_text("needed_text.html", found=found, source=source, is_real=is_real)


_NAMES_SHOWN = 15
LOOKS = {
    VERDICTS[0]: BLUE,
    VERDICTS[1]: SKY,
    VERDICTS[2]: ORANGE,
    VERDICTS[3]: "#e4e4e4",
    KEPT: BLUE,
    DROPPED: "#e4e4e4",
    "": "#ffffff",
}
_TITLES = {"": "not analysed", VERDICTS[1]: "only ℓ₀", VERDICTS[2]: "only ℓ₁"}
_NAMED_ROWS = 64
_ROW_HEIGHT = 0.125  # inches, of a row with a name


def view_ages(
    kept: pd.DataFrame, ages: Sequence[str], changes: pd.DataFrame, *, simulated: bool
) -> dict[str, Any]:
    """Prepare the section from the tables of `sparsekm.annotation.gene_table`.

    It has a sentence, a heat map, and a table of the genes that enter and leave. Terms and clusters
    are no part of these tables: `describe_needed` and `view_corresponding` tell of them.
    """
    is_whole = kept["n_analysed"] == len(ages)
    everywhere = int((is_whole & (kept["n_kept"] == len(ages))).sum())
    text = ("Simulated data. " if simulated else "") + caption("kept_by_age")
    title = "Which genes are kept at which ages"
    return {
        "sentence": caption(
            "ages",
            n_whole=is_whole.sum(),
            n_ages=len(ages),
            everywhere=everywhere,
            never=(kept["n_kept"] == 0).sum(),
            n=len(kept),
        ),
        "figure": caption_figure("kept_by_age", title, text, age_figure(kept, ages)),
        "changes": _view_changes(changes),
    }


def _view_changes(changes: pd.DataFrame) -> TableView:
    """Make a row for each pair of ages: number and names of genes that enter, leave and stay."""
    kinds = ("enter", "leave", "stay")
    heads = [Column("ages", kind="text")]
    rows = [[f"{row.earlier} to {row.later}"] for row in changes.itertuples()]
    for kind in kinds:
        heads += [Column(kind, kind="text"), Column("which", kind="wide")]
        for row, number, names in zip(rows, changes[f"n_{kind}"], changes[kind], strict=True):
            row += [f"{number:,}", name_some(names.split(";"), _NAMES_SHOWN)]
    return make_table(caption("changes"), heads, rows, kind="genes changes")


def age_figure(table: pd.DataFrame, ages: Sequence[str]) -> Figure:
    """Draw a heat map of genes by ages, and the number of genes by number of ages.

    The table is that of `tabulate_ages`. Genes that no method keeps at any age are left out.
    """
    ages, words = list(ages), list(LOOKS)
    shown = table[~table[ages].isin(["", VERDICTS[3], DROPPED]).all(axis=1)]
    codes = shown[ages].apply(lambda column: column.map(words.index)).to_numpy(dtype=int)
    if shown.empty:
        codes = np.full((1, len(ages)), words.index(""))
    named = 0 < len(shown) <= _NAMED_ROWS
    height = max(2.6, _ROW_HEIGHT * len(shown)) if named else 5.5
    with figure_style():
        figure = new_figure(7.2, height + 1.0)
        left, right = figure.subplots(1, 2, width_ratios=[2.2, 1])
        norm = BoundaryNorm(np.arange(len(words) + 1) - 0.5, len(words))
        look = {"cmap": ListedColormap(list(LOOKS.values())), "norm": norm}
        left.imshow(codes, aspect="auto", interpolation="nearest", **look)
        left.set_xticks(range(len(ages)), ages)
        left.xaxis.tick_top()
        left.set_xticks(np.arange(len(ages) - 1) + 0.5, minor=True)
        left.grid(which="minor", axis="x", color="white", linewidth=1.5)
        left.tick_params(which="both", length=0)
        left.set_yticks([])
        if named:
            left.set_yticks(range(len(shown)), shown["symbol"], fontsize=6)
        else:
            sorted_by = "sorted by the number of ages at which they are kept"
            left.set_ylabel(f"{len(shown):,} genes, {sorted_by}")
        left.spines[:].set_visible(False)
        numbers = np.bincount(table["n_kept"], minlength=len(ages) + 1)
        colors = [LOOKS[DROPPED], *[BLUE] * len(ages)]
        bars = right.barh(range(len(numbers)), numbers, color=colors)
        right.bar_label(bars, labels=[f"{n:,}" for n in numbers], padding=2, fontsize=7)
        right.set_yticks(range(len(numbers)))
        right.set(xlabel="genes", ylabel="number of ages at which a gene is kept")
        right.margins(x=0.18)
        present = [word for word in words if (shown[ages] == word).any(axis=None)]
        patches = [
            Patch(facecolor=LOOKS[w], edgecolor=INK, lw=0.4, label=_TITLES.get(w, w))
            for w in present
        ]
        figure.legend(handles=patches, loc="outside lower left", ncols=len(present) or 1)
    return figure
