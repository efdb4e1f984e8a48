"""The three pictures of the theorems, each drawn with its caption from one table."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import cycle
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from sparsekm.figures.style import (
    BLUE,
    GREY,
    INK,
    MARKERS,
    ORANGE,
    VERMILION,
    categorical_colors,
    figure_style,
    new_figure,
    write_near,
)
from sparsekm.studies.theorems import (
    FITS,
    kappa,
    second_moment,
    simulate_partitions,
    simulate_recovery,
    simulate_scores,
    stated_kappa,
)

_SHADES = LinearSegmentedColormap.from_list("recovery", ["#FFFFFF", "#9CC8E5", BLUE, "#00304F"])
_AXES = {
    "n_samples": "samples $n$",
    "n_features": "features $p$",
    "n_relevant": "relevant features $p^*$",
    "mu": r"level $\mu$",
}
_POINTS = {"markersize": 3.7, "elinewidth": 1, "capsize": 2, "clip_on": False, "zorder": 3}
_NOISE = {"normal": (BLUE, "o", -0.6), "exponential": (ORANGE, "s", 0.6)}
_CAPTIONS = json.loads(Path(__file__).with_name("theorem_captions.json").read_text("utf-8"))
_IN_PAPER = 50  # relevant features of Experiment 2


@figure_style()
def draw_scores(scores: pd.DataFrame) -> tuple[Figure, str]:
    """Draw Theorem 1: scores against the share of mislabelled samples, of `simulate_scores`."""
    figure = new_figure(6.6, 2.7, has_formulas=True)
    panels = zip(figure.subplots(1, 2), scores.groupby("feature", sort=False), strict=True)
    for axes, (feature, panel) in panels:
        closed = panel.groupby("mislabelled")["expected"].mean()
        axes.plot(100 * closed.index, closed, color=INK, linewidth=1.1, label="closed form")
        for name, points in panel.groupby("distribution", sort=False):
            color, marker, shift = _NOISE[name]
            x, bars = 100 * points["mislabelled"] + shift, 2 * points["standard_error"]
            look = {"color": color, "fmt": marker, **_POINTS}
            axes.errorbar(x, points["score"], bars, label=f"simulated, {name} noise", **look)
        axes.set_title(f"{feature} features", loc="left")
        axes.set_xlabel("samples mislabelled (%)")
    relevant, noise = figure.axes
    relevant.set_ylim(bottom=0)
    relevant.axhline(2, color=GREY, linewidth=0.8, linestyle=":")
    write_near(relevant, "$K-1$", (0, 2), (0, 2))
    relevant.set_ylabel("score $a_j$, mean")
    relevant.legend(loc="upper right")
    noise.set_ylim(1.7, 2.3)
    return figure, _CAPTIONS["expected_scores"].format(repetitions=scores["repetitions"].iloc[0])


@figure_style()
def draw_bound(partitions: pd.DataFrame) -> tuple[Figure, str]:
    """Draw Theorem 3: the error of k-means and the bound, if there is one."""
    mus = list(dict.fromkeys(partitions["mu"]))
    seen = partitions.dropna(subset="ecr")
    figure = new_figure(6.4, 3.2, has_formulas=True)
    axes, handles = figure.subplots(), []
    for mu, color, marker in zip(mus, categorical_colors(len(mus)), cycle(MARKERS)):
        points = seen[seen["mu"] == mu]
        bound = partitions[partitions["mu"] == mu].dropna(subset="bound")
        drawn = points["n_relevant"], points["ecr"], 2 * points["standard_error"]
        look = {"color": color, "label": f"μ = {mu:g}: observed", **_POINTS}
        handles.append(axes.errorbar(*drawn, marker=marker, linewidth=1, **look))
        look = {"color": color, "label": f"μ = {mu:g}: bound, κ = {kappa(mu):,.0f}"}
        handles += axes.plot(bound["n_relevant"], bound["bound"], "--", **look)
        axes.plot(*bound[["n_relevant", "bound"]].iloc[0], color=color, marker="|")
    axes.axvline(_IN_PAPER, color=GREY, linewidth=0.8, linestyle=":")
    text = f"$p^*$ = {_IN_PAPER} in\nExperiment 2"
    write_near(axes, text, (_IN_PAPER, 0.72), (3, 0), va="top")
    axes.set(xscale="log", ylim=(0, 0.72), xlabel="relevant features $p^*$ (log scale)")
    axes.set_ylabel("error clustering rate")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    # The legend is filled by columns, with the observed error above the bound.
    figure.legend(handles=handles, loc="outside lower center", ncols=len(mus))
    kappas = "; ".join(f"{stated_kappa(mu):,.0f} and {kappa(mu):,.0f} at μ = {mu:g}" for mu in mus)
    return figure, _CAPTIONS["partition_bound"].format(
        repetitions=seen["repetitions"].iloc[0],
        kappas=kappas,
        in_paper=_IN_PAPER,
        mu=mus[0],
        kappa=kappa(mus[0]),
    )


@figure_style()
def draw_recovery(table: pd.DataFrame) -> tuple[Figure, str]:
    """Draw Theorems 4 and 5: a row of phase diagrams per plane, a column per fit."""
    planes = [cells for _, cells in table.groupby("plane", sort=False)]
    figure = new_figure(8.4, 2.5 * len(planes) + 0.3, has_formulas=True)
    grid = figure.subplots(len(planes), len(FITS), squeeze=False, sharey="row")
    for row, cells in zip(grid, planes, strict=True):
        x, y = (name for name in _AXES if cells[name].nunique() > 1)
        for axes, (fit, title) in zip(row, FITS.items(), strict=True):
            chosen = cells[cells["fit"] == fit]
            mesh = _draw_cells(axes, chosen.pivot(index=y, columns=x, values="recovered"))
            # Where the condition begins to hold that crosses the panel.
            (left, right), ys = axes.get_xlim(), np.geomspace(*axes.get_ylim(), 400)
            is_first = x == "n_samples"
            xs = ys / cells["n_relevant"].iloc[0] if is_first else np.array([*map(kappa, ys)])
            inside, style = (xs >= left) & (xs <= right), "--" if is_first else "-"
            axes.plot(xs[inside], ys[inside], color=VERMILION, linestyle=style, linewidth=1.2)
            axes.set_title(title, loc="left", fontsize=8.5)
            axes.set_xlabel(_AXES[x])
        fixed = {_AXES[n].split()[-1]: cells[n].iloc[0] for n in _AXES if n not in (x, y)}
        said = ", ".join(f"{symbol} = {value:,g}" for symbol, value in fixed.items())
        row[0].set_ylabel(f"{_AXES[y]}\n({said})")
    bar = figure.colorbar(mesh, ax=grid, shrink=0.6, aspect=25, pad=0.01)
    bar.set_label("share of data sets recovered")
    # The rate rho of the theorems is the second moment over 258.
    n_samples = np.log(50) * 258 / second_moment(0.7)
    facts = {"repetitions": table["repetitions"].iloc[0], "n_samples": n_samples}
    return figure, _CAPTIONS["support_recovery"].format(**facts)


def _draw_cells(axes: Axes, shares: pd.DataFrame):
    """Draw a value per cell on logarithmic axes; return the mesh."""
    xs, ys = shares.columns.to_numpy(float), shares.index.to_numpy(float)
    mesh = axes.pcolormesh(_edges(xs), _edges(ys), shares, cmap=_SHADES, vmin=0, vmax=1)
    axes.set(xscale="log", yscale="log", xlim=_edges(xs)[[0, -1]], ylim=_edges(ys)[[0, -1]])
    axes.set_xticks(xs, [f"{x:,g}" for x in xs])
    axes.set_yticks(ys, [f"{y:,g}" for y in ys])
    axes.minorticks_off()
    axes.tick_params(labelsize=6.5)
    return mesh


def _edges(places: np.ndarray) -> np.ndarray:
    """Return the borders of cells around positions, half-way on a log scale."""
    logs = np.log(places)
    middles = (logs[1:] + logs[:-1]) / 2
    return np.exp([2 * logs[0] - middles[0], *middles, 2 * logs[-1] - middles[-1]])


PICTURES: dict[str, tuple[Callable, Callable]] = {
    "expected_scores": (simulate_scores, draw_scores),
    "partition_bound": (simulate_partitions, draw_bound),
    "support_recovery": (simulate_recovery, draw_recovery),
}
"""The pictures by name: a function that makes the table from a seed, and one that draws it."""
