"""The section on genes across ages, and its figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from sparsekm.annotation.gene_table import DROPPED, KEPT, VERDICTS
from sparsekm.figures.palette import BLUE, INK, ORANGE, SKY
from sparsekm.figures.style import figure_style, new_figure
from sparsekm.reporting.figures import CaptionedFigure, caption_figure
from sparsekm.reporting.table_view import Cell, Column, TableView, name_some

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

    `chosen` shows the genes of interest, `needed` tells of genes that all cells need, and
    `clusters` lists those of each region: these take the expression, the tested terms and the
    clusters, which tables of verdicts do not have.
    """

    sentence: str
    figure: CaptionedFigure
    changes: TableView
    file: str
    chosen: CaptionedFigure | None = None
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
        cells = [Cell(f"{row['earlier']} to {row['later']}")]
        for kind in kinds:
            names = row[kind].split(";") if row[kind] else []
            cells += [Cell(f"{row[f'n_{kind}']:,}"), Cell(name_some(names, _NAMES_SHOWN))]
        rows.append(cells)
    columns = [Column("ages", kind="text")]
    for kind in kinds:
        columns += [Column(kind, kind="text"), Column("which", kind="wide")]
    caption = (
        "Genes that enter, leave and stay from one age to the next, among those analysed at both; "
        "genes/changes.csv lists all of them"
    )
    return TableView(caption, columns, rows, kind="genes changes")


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
