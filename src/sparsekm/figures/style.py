r"""The common style of all figures: fonts, sizes, colours, texts from data, saving.

matplotlib treats text between dollar signs as a formula, and ``$\frac$`` would stop the report with
an error. A name with thousands of letters would make a figure that does not fit into memory, and
SVG does not allow control characters. Therefore figures show shortened names without formulas;
tables show full names.

Readers with any of the common colour-vision deficiencies can tell the colours apart: they are those
of Okabe and Ito (2008, https://jfly.uni-koeln.de/color/), except their yellow, and, for methods,
three of Tol (2021, SRON/EPS/TN/09-002, https://sronpersonalpages.nl/~pault/).
"""

from __future__ import annotations

import colorsys
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import FixedFormatter, Formatter, FuncFormatter

from sparsekm.io.input_error import escape_unprintable

ORANGE, SKY, GREEN = "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE = "#0072B2", "#D55E00", "#CC79A7"
PLUM = "#AA4499"
GREY = "#555555"
DROPPED = "#B4B4B4"
INK = "#222222"
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

MOST_LETTERS = 40
# The limit of any text, also of the figures' own texts.
_MOST_OF_A_LINE = 72
_MOST_LINES = 3
_LETTERS = 11  # of a legend in an inch


def short_name(name: object, most: int = MOST_LETTERS) -> str:
    """Return a name as figures show it: in one line, with a limit on its letters."""
    text = escape_unprintable(str(name))
    return text if len(text) <= most else f"{text[: most - 4].rstrip()} ..."


def name_legend(figure: Figure, handles: Sequence[tuple[str, Artist]], **look: Any) -> None:
    """Add a legend of names from data, of which matplotlib leaves out those with an underscore."""
    legend = figure.legend(
        [handle for _, handle in handles], ["-"] * len(handles), loc="outside lower center", **look
    )
    for text, (name, _) in zip(legend.get_texts(), handles, strict=True):
        text.set_text(short_name(name))


def add_legend(figure: Figure, entries: Sequence[tuple[str, str, str]]) -> None:
    """Add a legend of names, markers and colours, if there are any."""
    handles = [
        (name, Line2D([], [], linestyle="none", marker=marker, color=color))
        for name, marker, color in entries
    ]
    if handles:
        longest = max(len(short_name(name)) for name, _ in handles) + 6
        columns = int(_LETTERS * figure.get_figwidth() / longest)
        name_legend(figure, handles, ncols=max(1, min(len(handles), columns)), handletextpad=0.2)


def tame_texts(figure: Figure) -> None:
    """Shorten all texts of a figure, and disable formulas except in the tick labels of numbers."""
    numbers: list[Text] = []
    for axis in figure.findobj(Axis):
        numbers += axis.get_minorticklabels()
        formatter = axis.get_major_formatter()
        if isinstance(formatter, FixedFormatter | FuncFormatter):
            # The formatter is replaced, because drawing asks it for labels again.
            axis.set_major_formatter(_shorten_labels(formatter))
        else:
            # On logarithmic axes matplotlib writes these as formulas, such as 10 to the power of 2.
            numbers += [*axis.get_majorticklabels(), axis.get_offset_text()]
    for text in set(figure.findobj(Text)).difference(numbers):
        text.set_parse_math(False)
        text.set_text(_short_lines(text.get_text()))


def _short_lines(text: str) -> str:
    lines = text.split("\n")
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 2], "...", lines[-1]]
    return "\n".join(short_name(line, _MOST_OF_A_LINE) for line in lines)


def _shorten_labels(formatter: Formatter) -> FuncFormatter:
    return FuncFormatter(lambda value, place: _short_lines(formatter(value, place)))


_PLACES = re.compile(r' d="[^"]*"|translate\([^)]*\)')
_INDENTATION = re.compile(r"\n\s+")
_DECIMALS = re.compile(r"(\.\d\d)\d+")
_KINSHIP = 0.3  # penalty for a shade far from its colour
_STYLE = Path(__file__).with_name("sparsekm.mplstyle")


@contextmanager
def figure_style() -> Iterator[None]:
    """Use the common style inside this context, for any matplotlibrc of the user."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.style.use(_STYLE)
        yield


def new_figure(width: float, height: float, *, has_formulas: bool = False) -> Figure:
    """Make a figure of the given size in inches, outside pyplot, so that it need not be closed.

    Its texts may be formulas only if it `has_formulas`; names from data may not.
    """
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.has_formulas = has_formulas
    FigureCanvasAgg(figure)
    return figure


def write_near(
    axes: Axes, text: str, place: tuple, shift: tuple[float, float], *, size: float = 7, **look: Any
) -> None:
    """Write a small text near a position, shifted right and up by points."""
    axes.annotate(text, place, xytext=shift, textcoords="offset points", fontsize=size, **look)


def remove_frame(axes: Axes) -> None:
    """Remove the frame and the marks of ticks."""
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)


CHOICE_LINE = {"color": INK, "linewidth": 0.8, "linestyle": (0, (4, 2))}
"""The look of a line at what was chosen."""


def draw_gap(
    axes: Axes,
    curve: pd.DataFrame,
    x: str,
    *,
    chosen: int | None = None,
    label: str = "",
    color: str = BLUE,
    marker: str = "o",
    linestyle: str | tuple = "-",
) -> None:
    """Draw gaps over the column `x` with a band of one standard error, and the row chosen."""
    at, gap, se = (curve[name].to_numpy() for name in (x, "gap", "se"))
    axes.set_xscale("log")
    band = axes.fill_between(at, gap - se, gap + se, color=color, alpha=0.22, linewidth=0)
    look = {"color": color, "linestyle": linestyle, "markersize": 4, "markerfacecolor": "white"}
    (line,) = axes.plot(at, gap, marker=marker, **look)
    if chosen is None:
        line.set_label(label)
        return
    band.set_label("± 1 standard error")
    look = {"color": color, "markersize": 8, "markeredgecolor": INK, "zorder": 3}
    axes.plot(at[chosen], gap[chosen], marker, label=label, **look)


_METADATA = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None},
    "png": {"Software": None},
}


def render_figure(figure: Figure, kind: str) -> bytes:
    """Render a figure as "svg", "pdf" or "png"; later formats reuse the layout of the first."""
    stream = io.BytesIO()
    with figure_style():
        if figure.get_layout_engine() is not None and not getattr(figure, "has_formulas", False):
            tame_texts(figure)
        figure.savefig(stream, format=kind, metadata=_METADATA[kind])
        figure.set_layout_engine(None)
    return stream.getvalue()


def figure_svg(figure: Figure) -> str:
    """Render a figure as SVG text, with equal bytes for equal figures.

    Places are rounded to a hundredth of a point: more would be a third of the file.
    """
    text = render_figure(figure, "svg").decode()
    text = _PLACES.sub(lambda place: _DECIMALS.sub(r"\1", place[0]), text)
    return _INDENTATION.sub("\n", text)


def categorical_colors(n_colors: int, avoid: Sequence[str] = ()) -> list[str]:
    """Return colours for categories: seven hues, then shades of them, far from all previous.

    None is one of those to `avoid`, and shades are far from these, too.
    """
    hues = [hue.lower() for hue in (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION, GREY)]
    colors = [hue for hue in hues if hue not in avoid][:n_colors]
    while len(colors) < n_colors:
        hue = hues[len(colors) % len(hues)]
        colors.append(shades(hue, 2, avoid=[*avoid, *colors])[1])
    return colors


def shift_lightness(color: str, shift: float) -> str:
    """Move a colour towards white (shift up to 1) or black (shift down to -1)."""
    target = 1.0 if shift > 0 else 0.0
    rgb = np.asarray(to_rgb(color))
    return to_hex(rgb + (target - rgb) * abs(shift))


def shades(color: str, n_shades: int, avoid: Sequence[str] = ()) -> list[str]:
    """Return distinct shades of a colour: first the colour itself, then shades far from all others.

    Each has a similar hue, and is far from the previous shades and the colours to avoid, but no
    farther from the colour itself than necessary.
    """
    hue, _, saturation = colorsys.rgb_to_hls(*to_rgb(color))
    candidates = [
        colorsys.hls_to_rgb((hue + turn) % 1, lightness, saturation * strength)
        for turn in (0, -0.025, 0.025)
        for lightness in np.linspace(0.27, 0.85, 15)
        for strength in (1, 0.6)
    ]
    # Rounding, which differs between versions of Python, can put one outside the range.
    candidates = np.clip(candidates, 0, 1)
    chosen = [to_rgb(color)]
    taken = [*chosen, *map(to_rgb, avoid)]
    kinship = np.linalg.norm(candidates - chosen[0], axis=1)
    while len(chosen) < n_shades:
        nearest = np.linalg.norm(candidates[:, None] - np.array(taken), axis=2).min(axis=1)
        chosen.append(candidates[(nearest - _KINSHIP * kinship).argmax()])
        taken.append(chosen[-1])
    return [to_hex(rgb) for rgb in chosen[:n_shades]]


def text_color_on(color: str) -> str:
    """Tell whether black or white text is more legible on a colour (relative luminance)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)]
    return "black" if np.dot([0.2126, 0.7152, 0.0722], linear) > 0.25 else "white"
