"""How the page is written: its templates, and the common form of all its tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

TEMPLATES = Path(__file__).with_name("templates")
WORDS = json.loads((TEMPLATES / "words.json").read_text("utf-8"))
"""Captions, and what the values of settings mean, where braces hold keys of the literature."""


def _environment(autoescape: bool) -> Environment:
    environment = Environment(
        loader=PackageLoader("sparsekm.reporting"),
        autoescape=autoescape,
        # A name that the content lacks is an error.
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Tables of genes are most of the page, so their values are not separated by blanks.
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    environment.globals |= {"joined": joined, "name_some": name_some}
    environment.filters["count"] = "{:,}".format
    return environment


def render_page(content: Mapping[str, Any], template: str = "report.html") -> str:
    """Fill in a template of HTML, a file in ``templates``; what comes from data is escaped."""
    return _environment(autoescape=True).get_template(template).render(content)


def write_text(template: str, **content: Any) -> str:
    """Fill in a template of plain text, which the page escapes where it shows it."""
    return _environment(autoescape=False).get_template(template).render(content).strip()


def caption(*names: str, **facts: Any) -> str:
    """Fill in captions of ``words.json``, and join them."""
    return ". ".join(WORDS["captions"][name].format(**facts) for name in names)


def joined(values: Iterable[Any]) -> str:
    """Join words as a sentence does: "a", "a and b", "a, b and c"."""
    words = [str(value) for value in values]
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def name_some(names: Sequence[str], most: int) -> str:
    """List the first `most` names, and the number of further ones."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def write_range(values: pd.Series) -> str:
    """Write the least and the largest value, or one if they are the same as written."""
    least, most = (f"{value:.2f}" for value in (values.min(), values.max()))
    return least if least == most else f"{least} to {most}"


MISSING = "–"
COUNT, RATE = ",.0f", ".4f"
"""How counts and, with four decimals as in the paper, rates are written."""
_TEXTS = ("text", "wide")


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
    """The heading of a column, and whether its numbers are simulated.

    `kind` is "text", "wide" for long text, or the format of its numbers.
    """

    kind: str = ""
    simulated: bool = False

    @property
    def look(self) -> str:
        """The CSS class of its cells."""
        return self.kind if self.kind in _TEXTS else ""


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


def make_table(
    caption: str,
    columns: Mapping[str, str] | Iterable[Column],
    rows: Iterable[Iterable[Any]],
    simulated: bool = False,
    kind: str = "numbers",
) -> TableView:
    """Make a table of cells, texts and numbers; `columns` are headings with their kinds."""
    if isinstance(columns, Mapping):
        columns = [Column(head, kind=kind) for head, kind in columns.items()]
    heads = list(columns)
    cells = [[_cell(value, head) for value, head in zip(row, heads, strict=True)] for row in rows]
    return TableView(caption, heads, cells, simulated, kind)


def _cell(value: Any, column: Column) -> Cell | list[Cell]:
    if isinstance(value, Cell | list):
        return value
    if isinstance(value, str):
        return Cell(value)
    return Cell(MISSING if pd.isna(value) else format(value, "" if column.look else column.kind))


def view_table(
    table: pd.DataFrame,
    caption: str,
    *,
    kind: str,
    corner: str = "",
    simulated: Mapping[str, bool] | None = None,
) -> TableView:
    """Show a table of numbers of one kind; `corner` is the heading of the row names."""
    marked = [bool((simulated or {}).get(column, False)) for column in table.columns]
    heads = [
        Column(str(column), kind=kind, simulated=mark and not all(marked))
        for column, mark in zip(table.columns, marked, strict=True)
    ]
    return make_table(caption, [Column(corner), *heads], table.itertuples(), all(marked))
