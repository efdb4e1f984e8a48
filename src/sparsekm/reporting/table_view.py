"""The common form of all tables on the page: a caption, columns, and rows with names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

MISSING = "–"


@dataclass(frozen=True)
class Cell:
    """A text and its markup.

    `url` is a link, `color` that of a swatch before the text, `hover` a tooltip, `note` a small
    text on a line below, and `shade` the background in hundredths.
    """

    text: str
    url: str = ""
    color: str = ""
    hover: str = ""
    note: str = ""
    note_bold: bool = False
    shade: int = 0


@dataclass(frozen=True)
class Column(Cell):
    """The heading of a column.

    `kind` is "" for numbers, "text", or "wide" for long text; `simulated` marks the column as
    simulated.
    """

    kind: str = ""
    simulated: bool = False


@dataclass(frozen=True)
class TableView:
    """A table on the page.

    Each entry of a row is a `Cell`, or a list of cells in one place; the first is the name of the
    row. `simulated` marks the whole table, and `kind` are CSS classes.
    """

    caption: str
    columns: list[Column]
    rows: list[list[Cell | list[Cell]]] = field(default_factory=list)
    simulated: bool = False
    kind: str = "numbers"


def view_table(
    table: pd.DataFrame,
    caption: str,
    *,
    write: Callable[[Any], str],
    corner: str = "",
    simulated: Mapping[str, bool] | None = None,
    notes: pd.DataFrame | None = None,
) -> TableView:
    """Format a table of numbers with `write`; `corner` is the heading of the row names.

    `notes`, of the same shape, are the small texts below the numbers.
    """
    simulated = simulated or {}
    throughout = all(simulated.get(column, False) for column in table.columns)
    rows = [
        [
            Cell(str(name)),
            *(
                Cell(write(row[column]), note="" if notes is None else notes.loc[name, column])
                for column in table.columns
            ),
        ]
        for name, row in table.iterrows()
    ]
    columns = [
        Column(str(column), simulated=bool(simulated.get(column, False)) and not throughout)
        for column in table.columns
    ]
    return TableView(caption, [Column(corner), *columns], rows, simulated=throughout)


def format_count(value: Any) -> str:
    """Format a count with separators."""
    return MISSING if pd.isna(value) else f"{int(value):,}"


def format_rate(value: Any) -> str:
    """Format a rate with four decimals, as in the paper."""
    return MISSING if pd.isna(value) else f"{value:.4f}"


def name_some(names: list[str], most: int) -> str:
    """List the first `most` names, and the number of further ones."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
