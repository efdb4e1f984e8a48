"""The one form of every table on the page: a caption, columns, and rows that begin with a name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

MISSING = "–"


@dataclass(frozen=True)
class Cell:
    """A piece of text and how it is marked.

    Attributes
    ----------
    url : str
        Where it leads.
    color : str
        Of a swatch before it.
    hover : str
        Shown when the pointer rests on it.
    note : str
        Small, on a line below.
    shade : int
        Of its background, in hundredths.
    """

    text: str
    bold: bool = False
    url: str = ""
    color: str = ""
    hover: str = ""
    note: str = ""
    note_bold: bool = False
    shade: int = 0


@dataclass(frozen=True)
class Column(Cell):
    """The head of a column.

    Attributes
    ----------
    kind : {"", "text", "wide"}
        Numbers, text, or long text.
    simulated : bool
        Whether the column alone is to be marked as simulated.
    """

    kind: str = ""
    simulated: bool = False


@dataclass(frozen=True)
class TableView:
    """A table as the page shows it.

    Attributes
    ----------
    rows : list of list
        Each entry is a Cell, or a list of those that share one place; the first names the row.
    simulated : bool
        Whether the table as a whole is: then no column is marked.
    kind : str
        Classes that the page's style knows.
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
    mark_lowest: bool = False,
) -> TableView:
    """Turn a table of numbers into text with `write`; `corner` is the head of the rows' names.

    `mark_lowest` marks the lowest value of every column, ties included.
    """
    simulated = simulated or {}
    throughout = all(simulated.get(column, False) for column in table.columns)
    lowest = {
        # A single method is not the best of anything.
        column: write(table[column].min()) if mark_lowest and table[column].count() > 1 else None
        for column in table.columns
    }
    rows = []
    for name, row in table.iterrows():
        texts = {column: write(row[column]) for column in table.columns}
        # Texts are compared, so that numbers that look the same are marked the same.
        cells = [Cell(text, bold=text == lowest[column]) for column, text in texts.items()]
        rows.append([Cell(str(name)), *cells])
    columns = [
        Column(str(column), simulated=bool(simulated.get(column, False)) and not throughout)
        for column in table.columns
    ]
    return TableView(caption, [Column(corner), *columns], rows, simulated=throughout)


def format_count(value: Any) -> str:
    """Write a count with separators."""
    return MISSING if pd.isna(value) else f"{int(value):,}"


def format_rate(value: Any) -> str:
    """Write a rate with four decimals, as the paper does."""
    return MISSING if pd.isna(value) else f"{value:.4f}"


def name_some(names: list[str], most: int) -> str:
    """Name the first few, and say how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
