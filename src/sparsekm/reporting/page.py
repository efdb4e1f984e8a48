"""Writing the page: its templates, and the common form of all its tables and figures."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib.figure import Figure

from sparsekm.figures.style import figure_svg, render_figure
from sparsekm.io.readers.messages import name_some

TEMPLATES = Path(__file__).with_name("templates")
WORDS = json.loads((TEMPLATES / "words.json").read_text("utf-8"))
"""Captions, and the meanings of settings' values; braces hold keys of the literature."""


# Characters that turn the direction of text, and could make one name look like another; in the
# tables of scripts they are escaped.
_DIRECTIONS = re.compile(r"[\u202a-\u202e\u2066-\u2069]|(?<!\\)\\u(?:202[a-e]|206[6-9])")


@cache
def _environment(autoescape: bool) -> Environment:
    environment = Environment(
        loader=PackageLoader("sparsekm.reporting"),
        autoescape=autoescape,
        # A name that the content lacks is an error.
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Tables of genes make up most of the page, so their values are not separated by blanks.
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    own = (caption, joined, name_some, write_range)
    environment.globals |= {function.__name__: function for function in own}
    environment.filters["count"] = "{:,}".format
    # Adding 0 avoids -0.00.
    environment.filters["rate"] = lambda value: f"{round(value, 2) + 0.0:.2f}"
    return environment


def render_page(content: Mapping[str, Any], template: str = "report.html") -> str:
    """Fill in a template of HTML, a file in ``templates``; values from data are escaped."""
    text = _environment(autoescape=True).get_template(template).render(content)
    return _DIRECTIONS.sub("\ufffd", text)


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


def write_range(values: pd.Series) -> str:
    """Write the smallest and the largest value, or one of them if they look the same."""
    least, most = (f"{value:.2f}" for value in (values.min(), values.max()))
    return least if least == most else f"{least} to {most}"


MISSING = "–"
COUNT, RATE = ",.0f", ".4f"
"""How counts and, with four decimals as in the paper, rates are written."""


class Bars(NamedTuple):
    """A small histogram, with a colour for each half."""

    counts: Sequence[int]
    colors: Sequence[str]
    title: str


@dataclass(frozen=True)
class Cell:
    """A text, with an optional link, swatch, note and shade (in hundredths)."""

    text: str
    url: str = ""
    color: str = ""
    note: str = ""
    note_bold: bool = False
    shade: int = 0
    bars: Bars | None = None


@dataclass(frozen=True)
class TableView:
    """A table on the page.

    Each entry of a row is a `Cell`, or a list of cells in one place. `looks` are the CSS classes of
    the columns and `kind` those of the table, which `simulated` marks.
    """

    caption: str
    heads: list[Cell]
    looks: list[str]
    rows: list[list[Cell | list[Cell]]]
    simulated: bool = False
    kind: str = "numbers"


def make_table(
    caption: str,
    table: pd.DataFrame,
    kinds: Mapping[Any, str] | None = None,
    simulated: bool = False,
    kind: str = "numbers",
) -> TableView:
    """Make a table of a frame of cells, texts and numbers, whose headings may be cells.

    `kinds` has for each heading the format of its numbers (whole numbers need none), "text", or
    "wide" for long text.
    """
    forms = [(kinds or {}).get(head, ",") for head in table]
    looks = [form if form in ("text", "wide") else "" for form in forms]
    rows = [
        [_cell(value, form) for value, form in zip(row, forms, strict=True)]
        for row in table.itertuples(index=False, name=None)
    ]
    heads = [head if isinstance(head, Cell) else Cell(str(head)) for head in table]
    return TableView(caption, heads, looks, rows, simulated, kind)


def _cell(value: Any, form: str) -> Cell | list[Cell]:
    if isinstance(value, Cell | list):
        return value
    if isinstance(value, str):
        return Cell(value)
    return Cell(MISSING if pd.isna(value) else format(value, form))


_PLACES = {
    **dict.fromkeys(("slices", "answer", "samples"), "answer"),
    **dict.fromkeys(("count", "divisions"), "number"),
    "dots": "features",
}


@dataclass(frozen=True)
class CaptionedFigure:
    """A figure as SVG text for the page, as PNG and as PDF; `name` is part of its files' names."""

    name: str
    title: str
    caption: str
    svg: str
    png: bytes
    pdf: bytes

    @property
    def place(self) -> str:
        """The part of a data set's section where the figure stands, or "end", folded away."""
        return _PLACES.get(self.name, "end")

    @property
    def inline(self) -> str:
        """The figure as an element of the page."""
        return re.sub(r"^.*?(?=<svg)|<metadata>.*?</metadata>", "", self.svg, flags=re.DOTALL)

    @property
    def data_uri(self) -> str:
        """The figure as a data URI, so that the page needs no other file."""
        return f"data:image/svg+xml;base64,{base64.b64encode(self.svg.encode()).decode()}"

    def files(self, folder: str | Path, prefix: str = "") -> dict[Path, bytes]:
        """Return all formats under the paths of their files in a folder."""
        formats = {"svg": self.svg.encode(), "png": self.png, "pdf": self.pdf}
        return {Path(folder) / f"{prefix}{self.name}.{kind}": c for kind, c in formats.items()}


def caption_figure(name: str, title: str, caption: str, figure: Figure) -> CaptionedFigure:
    """Render a figure in all formats."""
    caption, svg = re.sub("[ \n]+", " ", caption), figure_svg(figure)
    png, pdf = (render_figure(figure, kind) for kind in ("png", "pdf"))
    return CaptionedFigure(name, title, caption, svg, png, pdf)
