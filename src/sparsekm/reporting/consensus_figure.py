"""Agreement curves: how the number of kept features follows from resampled fits."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sparsekm.reporting.gap_figure import (
    PANEL_WIDTH,
    add_legend,
    draw_cer,
    label_sparsities,
    name_plain_rate,
    sparsity_label,
)
from sparsekm.reporting.results import DatasetResult, MethodResult
from sparsekm.reporting.style import DROPPED, INK, figure_style, method_look, new_figure


def consensus_figure(result: DatasetResult, feature_noun: str = "features") -> Figure | None:
    """Draw how well each fit agrees with the resampled ones, and below it the CER.

    Parameters
    ----------
    result : DatasetResult
    feature_noun : str
        What the features are, in the plural.

    Returns
    -------
    figure : Figure or None
        None where no method resamples.
    """
    methods = [method for method in result.methods.values() if method.consensus is not None]
    if not methods:
        return None
    with_cer = result.labels is not None and any(method.path is not None for method in methods)
    with figure_style():
        figure = new_figure(PANEL_WIDTH * max(len(methods), 1.25), 4.6 if with_cer else 2.9)
        grid = figure.subplots(1 + with_cer, len(methods), squeeze=False, sharex="col")
        for column, method in enumerate(methods):
            _draw_agreement(grid[0, column], method, feature_noun)
            if with_cer:
                draw_cer(grid[1, column], method, result)
            grid[-1, column].set_xlabel(sparsity_label(method.name, feature_noun))
        grid[0, 0].set_ylabel("agreement with\nresampled fits")
        if with_cer:
            grid[1, 0].set_ylabel("CER (not seen\nby the choice)")
            name_plain_rate(grid[1, -1], result)
    return figure


def _draw_agreement(axes: Axes, method: MethodResult, feature_noun: str) -> None:
    table, look = method.consensus, method_look(method.name)
    sparsity, mean, se = (table[name] for name in ("sparsity", "agreement", "agreement_se"))
    admissible = table[table["admissible"]]
    axes.set_xscale("log")
    axes.axvspan(
        admissible["sparsity"].min(),
        admissible["sparsity"].max(),
        color=DROPPED,
        alpha=0.3,
        linewidth=0,
        label="agree as well as the best",
    )
    axes.errorbar(
        sparsity,
        mean,
        yerr=se,
        color=look.color,
        marker="o",
        markersize=4,
        markerfacecolor="white",
        linestyle=look.linestyle,
        elinewidth=0.8,
        label="± 1 standard error",
    )
    chosen = table[table["chosen"]].iloc[0]
    axes.axvline(chosen["sparsity"], color=INK, linewidth=0.8, linestyle=(0, (4, 2)))
    axes.plot(
        chosen["sparsity"],
        chosen["agreement"],
        marker=look.marker,
        markersize=11,
        color=look.color,
        linestyle="none",
        label=f"chosen: {int(chosen['n_selected']):,} {feature_noun} kept",
        zorder=3,
    )
    axes.set_title(method.title, loc="left")
    axes.margins(y=0.16)
    add_legend(axes)
    label_sparsities(axes, table)
