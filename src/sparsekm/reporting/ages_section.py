"""The section that compares ages: genes that enter and leave, and clusters that correspond."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pandas as pd
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from sparsekm.annotation.gene_table import DROPPED, KEPT, VERDICTS
from sparsekm.figures.style import BLUE, INK, ORANGE, SKY, figure_style, new_figure
from sparsekm.reporting.clusters import region_colors
from sparsekm.reporting.figures import CaptionedFigure, caption_figure
from sparsekm.reporting.page_tables import (
    MISSING,
    Cell,
    Column,
    TableView,
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
    listed = (result.regions["acronym"].astype(str) for result in results)
    order = [label for label in dict.fromkeys(chain(*listed)) if label in colors]
    titles = dict.fromkeys(result.primary.title for result in results)
    caption = (
        f"Which clusters of {' and '.join(titles)} correspond across ages: those with most of "
        "their voxels in the same region, and in brackets the share of the region that each "
        f"covers. {MISSING}: the region is not in the data of that age"
    )
    return make_table(
        caption,
        {"region": "", **dict.fromkeys(tables, "text")},
        (
            [
                Cell(label, color=colors[label]),
                *(_list_clusters(table[table["label"] == label]) for table in tables.values()),
            ]
            for label in [*order, *sorted(set(colors) - set(order))]
        ),
        simulated=all(result.is_simulated for result in results),
    )


def _list_clusters(overlap: pd.DataFrame) -> str:
    """Write the clusters that lie mostly in one region, the largest part of it first."""
    if overlap.empty:
        return MISSING
    own = overlap[overlap["is_best"]].sort_values(["n_shared", "cluster"], ascending=[False, True])
    if own.empty:
        return "no cluster"
    return ", ".join(f"{row.cluster} ({row.share_of_label:.0%})" for row in own.itertuples())


_EVERYWHERE = "needed everywhere|housekeeping"
"""How terms are named whose genes are needed in all cells."""


def describe_needed(results: Sequence[DatasetResult], source: str) -> str:
    """Say how many genes are dropped of those that a gene set calls needed everywhere.

    `source` names the gene sets, whose tests are those of ``result.enrichment``. Where the real
    atlas was tested without such a set, a source is named that has one.
    """
    ages = [result for result in results if result.is_atlas and "verdict" in result.genes]
    found = []
    for age in ages:
        table = age.enrichment
        if table is not None:
            named = table["name"].astype(str).str.contains(_EVERYWHERE, case=False)
            lines = table[named & (table["group"] == "dropped")].itertuples(index=False)
            found += [(age, line) for line in lines]
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


@dataclass(frozen=True)
class AgesView:
    """The heat map, the genes that enter and leave, and those kept at every age.

    `needed` tells of genes that all cells need, and `clusters` lists those of each region: these
    take the tested terms and the clusters, which tables of verdicts do not have.
    """

    sentence: str
    figure: CaptionedFigure
    changes: TableView
    file: str
    needed: str = ""
    clusters: TableView | None = None


def view_ages(
    kept: pd.DataFrame, ages: Sequence[str], changes: pd.DataFrame, *, simulated: bool
) -> AgesView:
    """Prepare the section from the tables of `sparsekm.annotation.gene_table`."""
    everywhere = int(((kept["n_kept"] == len(ages)) & (kept["n_analysed"] == len(ages))).sum())
    analysed = int((kept["n_analysed"] == len(ages)).sum())
    never = int((kept["n_kept"] == 0).sum())
    figure = caption_figure(
        "kept_by_age",
        "Which genes are kept at which ages",
        ("Simulated data. " if simulated else "")
        + "Left: each row is a gene that some method keeps at some age, coloured by the sparse "
        "methods that keep it; genes are sorted by the number of ages at which they are kept, then "
        "by the first of these. Right: number of genes by the number of ages at which they are "
        "kept (by ℓ₀, or by ℓ₁ if ℓ₀ was not run).",
        age_figure(kept, ages),
    )
    return AgesView(
        sentence=(
            f"Of {analysed:,} genes analysed at all {len(ages)} ages, {everywhere:,} are kept at "
            f"every age; {never:,} of all {len(kept):,} genes are kept at none."
        ),
        figure=figure,
        changes=_view_changes(changes),
        file="genes/kept_by_age.csv",
    )


def _view_changes(changes: pd.DataFrame) -> TableView:
    """Make a row for each pair of ages: number and names of genes that enter, leave and stay."""
    kinds = ("enter", "leave", "stay")
    rows = []
    for row in changes.to_dict("records"):
        cells = [f"{row['earlier']} to {row['later']}"]
        for kind in kinds:
            names = row[kind].split(";") if row[kind] else []
            cells += [f"{row[f'n_{kind}']:,}", name_some(names, _NAMES_SHOWN)]
        rows.append(cells)
    heads = [Column("ages", kind="text")]
    for kind in kinds:
        heads += [Column(kind, kind="text"), Column("which", kind="wide")]
    caption = (
        "Genes that enter, leave and stay from one age to the next, among those analysed at both; "
        "genes/changes.csv lists all of them"
    )
    return make_table(caption, heads, rows, kind="genes changes")


def age_figure(table: pd.DataFrame, ages: Sequence[str]) -> Figure:
    """Draw a heat map of genes by ages, and the number of genes by number of ages.

    The table is that of `tabulate_ages`. Genes that no method keeps at any age are left out.
    """
    ages = list(ages)
    said = list(LOOKS)
    shown = table[~table[ages].isin(["", VERDICTS[3], DROPPED]).all(axis=1)]
    codes = shown[ages].apply(lambda column: column.map(said.index)).to_numpy(dtype=int)
    if shown.empty:
        codes = np.full((1, len(ages)), said.index(""))
    named = 0 < len(shown) <= _NAMED_ROWS
    height = max(2.6, _ROW_HEIGHT * len(shown)) if named else 5.5
    with figure_style():
        figure = new_figure(7.2, height + 1.0)
        left, right = figure.subplots(1, 2, width_ratios=[2.2, 1])
        left.imshow(
            codes,
            aspect="auto",
            interpolation="nearest",
            cmap=ListedColormap(list(LOOKS.values())),
            norm=BoundaryNorm(np.arange(len(said) + 1) - 0.5, len(said)),
        )
        left.set_xticks(range(len(ages)), ages)
        left.xaxis.tick_top()
        left.tick_params(length=0)
        left.set_xticks(np.arange(len(ages) - 1) + 0.5, minor=True)
        left.grid(which="minor", axis="x", color="white", linewidth=1.5)
        left.tick_params(which="minor", length=0)
        if named:
            left.set_yticks(range(len(shown)), shown["symbol"], fontsize=6)
        else:
            left.set_yticks([])
            left.set_ylabel(
                f"{len(shown):,} genes, sorted by the number of ages at which they are kept"
            )
        left.spines[:].set_visible(False)
        _draw_counts(right, table["n_kept"].to_numpy(), len(ages))
        present = [word for word in said if (shown[ages] == word).any(axis=None)]
        figure.legend(
            handles=[
                Patch(facecolor=LOOKS[w], edgecolor=INK, lw=0.4, label=_TITLES.get(w, w))
                for w in present
            ],
            loc="outside lower left",
            ncols=len(present) or 1,
        )
    return figure


def _draw_counts(axes, n_kept: np.ndarray, n_ages: int) -> None:
    numbers = np.bincount(n_kept, minlength=n_ages + 1)
    bars = axes.barh(range(n_ages + 1), numbers, color=[LOOKS[DROPPED], *[BLUE] * n_ages])
    axes.bar_label(bars, labels=[f"{n:,}" for n in numbers], padding=2, fontsize=7)
    axes.set_yticks(range(n_ages + 1))
    axes.set_ylabel("number of ages at which a gene is kept")
    axes.set_xlabel("genes")
    axes.margins(x=0.18)
