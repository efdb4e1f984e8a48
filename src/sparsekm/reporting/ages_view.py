"""Genes across ages as the page shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from sparsekm.reporting.age_figure import age_figure
from sparsekm.reporting.figures import CaptionedFigure, caption_figure
from sparsekm.reporting.table_view import Cell, Column, TableView, name_some

_NAMES_SHOWN = 15


@dataclass(frozen=True)
class AgesView:
    """The heat map, who enters and leaves, and the genes kept at every age."""

    sentence: str
    figure: CaptionedFigure
    changes: TableView
    file: str


def view_ages(
    kept: pd.DataFrame, ages: Sequence[str], changes: pd.DataFrame, *, simulated: bool
) -> AgesView:
    """Prepare what is kept from age to age, as `sparsekm.annotation.kept_by_age` reads it."""
    everywhere = int(((kept["n_kept"] == len(ages)) & (kept["n_analysed"] == len(ages))).sum())
    analysed = int((kept["n_analysed"] == len(ages)).sum())
    never = int((kept["n_kept"] == 0).sum())
    figure = caption_figure(
        "kept_by_age",
        "Which genes are kept at which ages",
        ("Simulated data. " if simulated else "")
        + "Left: a row per gene that some method keeps at some age, coloured by the sparse methods "
        "that keep it there; genes kept at most ages stand on top, of these those kept earliest. "
        "Right: how many genes are kept at how many ages (by ℓ₀, or by ℓ₁ where ℓ₀ was not run).",
        age_figure(kept, ages),
    )
    return AgesView(
        sentence=(
            f"Of {analysed:,} genes analysed at all {len(ages)} ages, {everywhere:,} are kept at "
            f"every one; {never:,} of all {len(kept):,} genes are kept at none."
        ),
        figure=figure,
        changes=_view_changes(changes),
        file="genes/kept_by_age.csv",
    )


def _view_changes(changes: pd.DataFrame) -> TableView:
    """Make a row of each pair of ages: for those that enter, leave and stay number and names."""
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
        "Who enters and leaves from one age to the next, among the genes analysed at both; "
        "genes/changes.csv has all names"
    )
    return TableView(caption, columns, rows, kind="genes changes")
