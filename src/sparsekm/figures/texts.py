r"""Text in figures, which may come from data: a gene may have any name, of any length.

matplotlib treats text between dollar signs as a formula: ``$x_1$`` would be shown as a different
name, and ``$\frac$`` would end the report with an error. A name of thousands of letters would make
a figure of more pixels than memory holds, and SVG has no control characters. So figures show names
cut and as they are; tables show them whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedFormatter, Formatter, FuncFormatter

from sparsekm.io.shown_text import escape_unprintable, shorten

MOST_LETTERS = 40
# Of any text, also the figures' own.
_MOST_OF_A_LINE = 72
_MOST_LINES = 3


def short_name(name: object, most: int = MOST_LETTERS) -> str:
    """Return a name as figures show it: in one line of at most so many letters."""
    return shorten(escape_unprintable(str(name)), most)


def name_legend(figure: Figure, handles: Sequence[tuple[str, Artist]], **look: Any) -> None:
    """Add a legend of names from data below a figure.

    matplotlib leaves out labels that start with an underscore, so the names are set afterwards.
    """
    legend = figure.legend(
        [handle for _, handle in handles], ["-"] * len(handles), loc="outside lower center", **look
    )
    for text, (name, _) in zip(legend.get_texts(), handles, strict=True):
        text.set_text(short_name(name))


def tame_texts(figure: Figure) -> None:
    """Shorten all texts of a figure, and disable formulas except in the tick labels of numbers."""
    numbers = set()
    for axis in figure.findobj(Axis):
        numbers |= {id(label) for label in _number_labels(axis)}
        if _is_named(axis):
            # Drawing asks the formatter for its labels again.
            axis.set_major_formatter(_shorten_labels(axis.get_major_formatter()))
    for text in figure.findobj(Text):
        if id(text) not in numbers:
            text.set_parse_math(False)
            text.set_text(_short_lines(text.get_text()))


def _short_lines(text: str) -> str:
    lines = text.split("\n")
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 2], "...", lines[-1]]
    return "\n".join(short_name(line, _MOST_OF_A_LINE) for line in lines)


def _shorten_labels(formatter: Formatter) -> FuncFormatter:
    return FuncFormatter(lambda value, place: _short_lines(formatter(value, place)))


def _is_named(axis: Axis) -> bool:
    """Tell whether the labels of an axis were given, and not written by matplotlib."""
    return isinstance(axis.get_major_formatter(), FixedFormatter | FuncFormatter)


def _number_labels(axis: Axis) -> list[Text]:
    # On logarithmic axes matplotlib writes these as formulas, such as 10 to the power of 2.
    if _is_named(axis):
        return list(axis.get_minorticklabels())
    return [*axis.get_majorticklabels(), *axis.get_minorticklabels(), axis.get_offset_text()]
