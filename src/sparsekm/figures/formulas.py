r"""Names in figures as they are: to matplotlib, what stands between dollar signs is a formula.

A gene may be called anything. Where matplotlib sets formulas, ``$x_1$`` would be shown as another
name, and ``$\frac$`` would end the report with an error about a figure.
"""

from __future__ import annotations

from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedFormatter


def disable_formulas(figure: Figure) -> None:
    """Keep matplotlib from setting formulas in a figure, except in the numbers along axes."""
    numbers = {id(label) for axis in figure.findobj(Axis) for label in _number_labels(axis)}
    for text in figure.findobj(Text):
        if id(text) not in numbers:
            text.set_parse_math(False)


def _number_labels(axis: Axis) -> list[Text]:
    # On logarithmic axes these are formulas of matplotlib's own, such as 10 to the power of 2.
    if isinstance(axis.get_major_formatter(), FixedFormatter):
        return list(axis.get_minorticklabels())
    return [*axis.get_majorticklabels(), *axis.get_minorticklabels(), axis.get_offset_text()]
