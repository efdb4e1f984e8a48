"""The section that compares ages: the genes that enter, leave and stay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from sparsekm.annotation.gene_table import DROPPED, KEPT, VERDICTS
from sparsekm.figures.style import (
    BLUE,
    INK,
    ORANGE,
    SKY,
    figure_style,
    new_figure,
    remove_frame,
)
from sparsekm.reporting.figures import caption_figure
from sparsekm.reporting.page_tables import TableView, caption, make_table, name_some

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

    It has a sentence, a heat map, and a table of the genes that enter and leave.
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
    columns, heads = [changes["earlier"] + " to " + changes["later"]], ["ages"]
    for kind in ("enter", "leave", "stay"):
        names = [name_some(genes.split(";"), _NAMES_SHOWN) for genes in changes[kind]]
        columns += [changes[f"n_{kind}"], pd.Series(names, changes.index)]
        heads += [kind, "which"]
    table = pd.concat(columns, axis=1).set_axis(heads, axis=1)
    return make_table(caption("changes"), table, {"which": "wide"}, kind="genes changes")


def age_figure(table: pd.DataFrame, ages: Sequence[str]) -> Figure:
    """Draw a heat map of genes by ages, and the number of genes by number of ages.

    The table is that of `tabulate_ages`. Genes that no method keeps at any age are left out.
    """
    shown = table[~table[list(ages)].isin(["", VERDICTS[3], DROPPED]).all(axis=1)]
    verdicts = shown[list(ages)].to_numpy() if len(shown) else np.full((1, len(ages)), "")
    named = 0 < len(shown) <= _NAMED_ROWS
    height = max(2.6, _ROW_HEIGHT * len(shown)) if named else 5.5
    with figure_style():
        figure = new_figure(7.2, height + 1.0)
        left, right = figure.subplots(1, 2, width_ratios=[2.2, 1])
        pixels = [[to_rgb(LOOKS[verdict]) for verdict in row] for row in verdicts]
        left.imshow(pixels, aspect="auto", interpolation="nearest")
        left.set_xticks(range(len(ages)), ages)
        left.xaxis.tick_top()
        for border in range(1, len(ages)):
            left.axvline(border - 0.5, color="white", linewidth=1.5)
        left.set_yticks([])
        if named:
            left.set_yticks(range(len(shown)), shown["symbol"], fontsize=6)
        else:
            sorted_by = "sorted by the number of ages at which they are kept"
            left.set_ylabel(f"{len(shown):,} genes, {sorted_by}")
        remove_frame(left)
        numbers = np.bincount(table["n_kept"], minlength=len(ages) + 1)
        colors = [LOOKS[DROPPED], *[BLUE] * len(ages)]
        bars = right.barh(range(len(numbers)), numbers, color=colors)
        right.bar_label(bars, labels=[f"{n:,}" for n in numbers], padding=2, fontsize=7)
        right.set_yticks(range(len(numbers)))
        right.set(xlabel="genes", ylabel="number of ages at which a gene is kept")
        right.margins(x=0.18)
        patches = [
            Patch(facecolor=color, edgecolor=INK, lw=0.4, label=_TITLES.get(verdict, verdict))
            for verdict, color in LOOKS.items()
            if verdict in verdicts
        ]
        figure.legend(handles=patches, loc="outside lower left", ncols=len(patches))
    return figure
