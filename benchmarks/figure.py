"""One figure of the benchmarks' tables: search quality against time, and scaling."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.ticker import FuncFormatter, NullLocator

from sparsekm.figures.style import categorical_colors, figure_style, new_figure

COLOURS = categorical_colors(3)
PLAIN = FuncFormatter(lambda value, _: f"{value:,g}")

TITLES = {
    "n_samples": "samples",
    "n_features": "features",
    "n_sparsities": "sparsities of the path",
}


def draw_benchmarks(folder: Path, file: Path) -> None:
    """Draw the tables search_effort and scaling, if both are in `folder`."""
    if not all((folder / f"{name}.csv").exists() for name in ("search_effort", "scaling")):
        return
    with figure_style():
        figure = new_figure(11, 2.9)
        axes = figure.subplots(1, 4)
        _draw_effort(axes[0], pd.read_csv(folder / "search_effort.csv"))
        _draw_scaling(axes[1:], pd.read_csv(folder / "scaling.csv"))
        figure.savefig(file, dpi=130)


def _draw_effort(axes, table: pd.DataFrame) -> None:
    for search, colour in zip(("alternate", "global"), COLOURS, strict=False):
        part = table[table["search"] == search]
        axes.errorbar(
            part["cpu"],
            100 * part["shortfall"],
            yerr=100 * part["shortfall_se"],
            marker="o",
            markersize=3,
            color=colour,
            label=search,
        )
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(PLAIN)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("CPU seconds")
    axes.set_ylabel("below the best found (%)")
    axes.set_title("l0, 60 x 1,000, s = 50")
    axes.legend()


def _draw_scaling(panels, table: pd.DataFrame) -> None:
    colours = dict(zip(table["fit"].unique(), COLOURS, strict=False))
    for axes, (varied, title) in zip(panels, TITLES.items(), strict=True):
        for fit, part in table[table["varied"] == varied].groupby("fit", sort=False):
            axes.plot(
                part["value"], part["cpu"], marker="o", markersize=3, color=colours[fit], label=fit
            )
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(part["value"], [f"{value:,}" for value in part["value"]])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(PLAIN)
        axes.set_xlabel(title)
        axes.set_ylabel("CPU seconds")
    panels[0].legend(fontsize=6)
