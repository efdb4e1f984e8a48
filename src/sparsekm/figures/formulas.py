r"""Turning off formulas in figures, since matplotlib treats text between dollar signs as a formula.

A gene may have any name. With formulas, ``$x_1$`` would be shown as a different name, and
``$\frac$`` would end the report with an error.
"""

from __future__ import annotations

from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedFormatter


def disable_formulas(figure: Figure) -> None:
    """Disable formulas in a figure, except in the tick labels of numbers."""
    numbers = {id(label) for axis in figure.findobj(Axis) for label in _number_labels(axis)}
    for text in figure.findobj(Text):
        if id(text) not in numbers:
            text.set_parse_math(False)


def _number_labels(axis: Axis) -> list[Text]:
    # On logarithmic axes matplotlib writes these as formulas, such as 10 to the power of 2.
    if isinstance(axis.get_major_formatter(), FixedFormatter):
        return list(axis.get_minorticklabels())
    return [*axis.get_majorticklabels(), *axis.get_minorticklabels(), axis.get_offset_text()]
