"""Agreement curves, which show how resampled fits determine the number of kept features."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sparsekm.figures.palette import method_look
from sparsekm.figures.style import figure_style, new_figure
from sparsekm.reporting.gap_figure import (
    CHOICE_LINE,
    PANEL_WIDTH,
    add_legend,
    curve_marks,
    label_sparsities,
    sparsity_label,
)
from sparsekm.reporting.results import DatasetResult, MethodResult
from sparsekm.reporting.tables import nouns


def consensus_figure(result: DatasetResult) -> Figure | None:
    """Draw the agreement of each fit from a consensus, if any, with the resampled fits."""
    feature_noun = nouns(result).features
    methods = [method for method in result.methods.values() if method.consensus is not None]
    if not methods:
        return None
    with figure_style():
        figure = new_figure(PANEL_WIDTH * max(len(methods), 1.25), 2.9)
        panels = figure.subplots(1, len(methods), squeeze=False)[0]
        for axes, method in zip(panels, methods, strict=True):
            _draw_agreement(axes, method, feature_noun)
            axes.set_xlabel(sparsity_label(method.name, feature_noun))
        panels[0].set_ylabel("agreement with resampled fits")
    return figure


def _draw_agreement(axes: Axes, method: MethodResult, feature_noun: str) -> None:
    table, look = method.consensus, method_look(method.name)
    sparsity, mean, se = (table[name] for name in ("sparsity", "agreement", "agreement_se"))
    admissible = table[table["admissible"]]
    axes.set_xscale("log")
    marks = curve_marks(look) | {"markersize": 6}
    axes.errorbar(sparsity, mean, yerr=se, **marks, elinewidth=0.8, label="± 1 standard error")
    # Not always neighbours.
    marks = {"color": look.color, "marker": look.marker, "linestyle": "none"}
    axes.plot(
        admissible["sparsity"],
        admissible["agreement"],
        **marks,
        markersize=6,
        label="agrees as well as the best",
        zorder=2.5,
    )
    chosen = table[table["chosen"]].iloc[0]
    axes.axvline(chosen["sparsity"], **CHOICE_LINE)
    kept = f"chosen: {int(chosen['n_selected']):,} {feature_noun} kept"
    axes.plot(chosen["sparsity"], chosen["agreement"], **marks, markersize=11, label=kept, zorder=3)
    axes.set_title(method.title, loc="left")
    axes.margins(y=0.16)
    add_legend(axes)
    label_sparsities(axes, table)
