"""The page of the simulations: its figures, results, tables and claims."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from sparsekm.figures import style
from sparsekm.io.tables import infer_table
from sparsekm.pipeline.registry import METHODS, Method, method_look
from sparsekm.reporting.page import (
    MISSING,
    WORDS,
    Cell,
    TableView,
    caption_figure,
    make_table,
    render_page,
    write_text,
)
from sparsekm.studies import METHOD_ROWS, PAPER_SETTINGS, get_setting, stand_ins
from sparsekm.studies import paper_verdicts as verdicts


@dataclass(frozen=True)
class SimulationResult:
    """The tables of a study."""

    repetitions: pd.DataFrame  # metrics: a row per experiment, setting, method and repetition
    summary: pd.DataFrame  # of `summarise`
    versus_paper: pd.DataFrame  # of `compare_rows`
    claims: pd.DataFrame  # of `judge_claims`
    gaps: Sequence[pd.DataFrame] = ()  # of Experiment 1, as the weights
    weights: Sequence[pd.DataFrame] = ()


def load_simulation_result(
    *,
    repetitions: Sequence[str | Path],
    summary: str | Path,
    versus_paper: str | Path,
    claims: str | Path,
    gaps: Sequence[str | Path] = (),
    weights: Sequence[str | Path] = (),
) -> SimulationResult:
    """Read the tables of a study; `repetitions` has one for each setting and method."""
    means = "summarise_simulation"
    compared = infer_table(versus_paper, means, verdicts.COMPARED_COLUMNS)
    judged = infer_table(claims, means, verdicts.CLAIM_COLUMNS)
    ran, curves, averages = (
        [infer_table(file, "simulate") for file in files] for files in (repetitions, gaps, weights)
    )
    ran, judged = pd.concat(ran, ignore_index=True), judged.fillna({"reason": "", "remark": ""})
    return SimulationResult(ran, infer_table(summary, means), compared, judged, curves, averages)


_METRIC_NAMES = WORDS["metrics"]
_RATES = ("cer", "cer_chance", "ari", "ami", "ecr")
_PRINTED = (verdicts.MEAN, verdicts.SPREAD)
_DIFFERS = (verdicts.EXPLAINED, verdicts.UNEXPLAINED)


def _tell(part: str, **facts: Any) -> list[str]:
    """Write the sentences of a part of the page."""
    return write_text("simulation_text.html", part=part, **facts).split("\n")


def view_simulation(result: SimulationResult) -> dict[str, Any]:
    """Prepare the page: sentences, experiments with their figures and tables, verdicts, claims."""
    ran, claims = result.repetitions, result.claims
    number = int(ran["replicate"].max()) + 1
    fewest = int(ran.groupby(["experiment", "setting", "method"]).size().min())
    experiments = [_view_experiment(result, name) for name in result.summary["experiment"].unique()]
    counted = _describe_claims(claims)
    return {
        "sentences": _tell("introduction", number=number, fewest=fewest),
        "experiments": experiments,
        "figures": [figure for experiment in experiments for figure in experiment["figures"]],
        "verdicts": counted,
        "claims": _view_claims(claims) if counted else None,
    }


def render_simulation_page(view: dict[str, Any]) -> str:
    """Write a page of its own about the simulations, as HTML."""
    title = "The paper's experiments on simulated data"
    return render_page({"title": title, "simulation": view}, "simulation.html")


def _describe_claims(claims: pd.DataFrame) -> list[str]:
    """Count the verdicts on comparisons that could fail."""
    tested = claims[~claims["verdict"].isin([verdicts.CANNOT_BE_TESTED, verdicts.NOT_JUDGED])]
    if tested.empty:
        return []
    nouns = {
        verdicts.MEAN: "printed means",
        verdicts.SPREAD: "standard deviations in brackets",
        "text": "statements of the text",
        "theory": "statements of theory",
    }
    kinds = tested["kind"].where(tested["kind"].isin(nouns), "text")
    holds = tested["verdict"].eq(verdicts.REPRODUCED).groupby(kinds).agg(["sum", "size"])
    counted = holds.reindex(list(nouns), fill_value=0)
    counts = claims["verdict"].value_counts()
    n_compared = int((tested["kind"] != "theory").sum())
    return _tell(
        "verdicts",
        parts=[f"{n} of {size} {nouns[kind]}" for kind, n, size in counted.itertuples()],
        n_open=counts.get(verdicts.OPEN, 0),
        n_told=counts.get(verdicts.EXPLAINED, 0),
        n_bare=counts.get(verdicts.UNEXPLAINED, 0),
        n_atlas=counts.get(verdicts.CANNOT_BE_TESTED, 0),
        n_compared=n_compared,
        n_chance=round(0.05 * n_compared),
    )


def _view_claims(claims: pd.DataFrame) -> TableView:
    """Tabulate the text's claims, then the printed numbers that differ."""
    printed = claims["kind"].isin(_PRINTED)
    told, missed = claims[~printed], claims[printed & claims["verdict"].isin(_DIFFERS)]
    told = told.sort_values("claim", key=lambda names: pd.factorize(names)[0], kind="stable")
    # Text that is the same in all settings of a claim is only in the first row.
    repeated = told["claim"].duplicated()
    told = told.assign(remark=told["reason"] + " " + told["remark"].mask(repeated, ""))
    told.loc[repeated, ["statement", "where"]] = ""
    lines = pd.concat([told, missed.assign(remark=missed["reason"])]).itertuples()
    rows = [
        {
            "claim": line.statement,
            "where": line.where,
            "setting": _setting(line),
            "verdict": line.verdict,
            **_numbers(line),
            "reason": line.remark.strip(),
        }
        for line in lines
    ]
    kinds = dict.fromkeys(("claim", "where", "setting", "verdict", "reason"), "text")
    table = pd.DataFrame(rows)
    return make_table(_tell("claims")[0], table, kinds, kind="numbers differences")


def _setting(line: Any) -> str:
    if pd.isna(line.setting) or not line.setting:
        return ""
    number = line.experiment.removeprefix("experiment_")
    title = get_setting(line.experiment, line.setting).title
    # The line may only break after the comma.
    return f"{number}: {title}".replace(" = ", "\u00a0=\u00a0").replace(": ", ":\u00a0")


def _numbers(line: Any) -> dict[str, str]:
    """Write theirs, ours and the difference in errors."""
    if line.kind == "theory":
        error = f" ± {_computed(line.se)}" if line.se > 0 else ""
        if line.low < line.high:
            error = f" ({_computed(line.low)} to {_computed(line.high)})"
        theirs, ours = _computed(line.theirs), _computed(line.ours) + error
    else:
        # The bracket as printed, which may have fewer digits than its kind of value.
        is_bracket = line.kind == verdicts.SPREAD
        theirs = f"{line.theirs:g}" if is_bracket else write_value(line.metric, line.theirs)
        ours = write_value(line.metric, line.ours, line.se)
    return {"theirs": theirs, "ours": ours, "errors": _signed(line.units, ".1f")}


def _signed(value: float, form: str) -> str:
    """Write a number with a true minus sign."""
    return MISSING if np.isnan(value) else f"{value:{form}}".replace("-", "−").replace("inf", "∞")


def _computed(value: float) -> str:
    """Write a value of theory, which may be a share or a large number."""
    return MISSING if np.isnan(value) else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _is_exact(value: float, error: float) -> bool:
    """Tell whether an error is 0 except for rounding, because all repetitions agree."""
    return error <= 1e-9 * max(1.0, abs(value))


def write_value(metric: str, value: float, se: float = np.nan) -> str:
    """Write a value with its standard error: rates to three decimals, counts to one.

    An error that would be rounded to 0 has one more digit. An error that is unknown or 0 is left
    out.
    """
    digits, error = 3 if metric in _RATES else 1, ""
    if not np.isnan(value) and not np.isnan(se) and not _is_exact(value, se):
        if se < 0.5 * 10.0**-digits:
            digits = int(-np.floor(np.log10(se)))
        error = f" ± {se:.{digits}f}"
    return _signed(value, f",.{digits}f") + error


def _view_experiment(result: SimulationResult, name: str) -> dict[str, Any]:
    repetitions = result.repetitions[result.repetitions["experiment"] == name]
    number = name.removeprefix("experiment_")
    drawn = {}
    if name == "experiment_1":
        drawn["overview"] = overview_figure(repetitions, result.gaps, result.weights)
    elif name != "experiment_3":
        drawn["cer"] = rate_figure(repetitions)
    title = f"Experiment {number}"
    figures = [
        caption_figure(f"{name}_{kind}", title, _tell(kind, number=number)[0], figure)
        for kind, figure in drawn.items()
    ]
    table, design = _table(result, name), WORDS["designs"][name]
    return {"title": title, "design": design, "figures": figures, "table": table}


def _table(result: SimulationResult, experiment: str) -> TableView:
    """Make a row for each method in each setting.

    Below our mean are its spread, the CER of chance, and the paper's value, bold if ours misses it.
    """
    summary, paper, claims = (
        table[table["experiment"] == experiment]
        for table in (result.summary, result.versus_paper, result.claims)
    )
    missed = claims[claims["verdict"].isin(_DIFFERS) & (claims["kind"] == verdicts.MEAN)]
    missed = set(missed[["setting", "metric", "method"]].itertuples(index=False, name=None))
    present = set(summary["method"])
    cells: dict[tuple[str, str, str], list[Cell]] = {}
    for ours in summary.itertuples():
        spread = "" if np.isnan(ours.sd) else f"sd {write_value(ours.metric, ours.sd)}"
        spread = f"all {ours.n}" if _is_exact(ours.mean, ours.sd) else spread
        value = write_value(ours.metric, ours.mean, ours.se)
        cells[ours.setting, ours.method, ours.metric] = [Cell(value, note=spread)]
    for chance in summary[summary["metric"] == "cer_chance"].itertuples():
        note = f"chance {write_value('cer', chance.mean, chance.se)}"
        cells[chance.setting, chance.method, "cer"].append(Cell("", note=note))
    for theirs in paper[paper["row"].isin(stand_ins(present).values())].itertuples():
        bracket = "" if np.isnan(theirs.paper_bracket) else f" ({theirs.paper_bracket:g})"
        is_missed = (theirs.setting, theirs.metric, METHOD_ROWS[theirs.row].method) in missed
        cells[theirs.setting, theirs.row, theirs.metric].append(
            Cell("", note=f"paper {theirs.paper:g}{bracket}", note_bold=is_missed)
        )
    rows = []
    for setting, name in product(summary["setting"].unique(), _main_rows(present)):
        row = METHOD_ROWS[name]
        told = {"setting": get_setting(experiment, setting).title, "method": row.title}
        for metric in _METRIC_NAMES:
            # The floor gets its features and does not choose any.
            given = row.features == "relevant" and metric in ("pzw", "pnw")
            told[metric.upper()] = None if given else cells.get((setting, name, metric))
        rows.append(told)
    text, kinds = _tell("table", metrics=_METRIC_NAMES.values())[0], {"method": "text"}
    return make_table(text, pd.DataFrame(rows), kinds, kind="numbers study")


_LOOKS = {
    # The l0 of the workflow; the search that the workflow does not use; and the floor.
    "l0_global": METHODS["l0"],
    "l0_alternate": Method("", style.VERMILION, "X", "--"),
    "l0_printed": Method("", style.PLUM, "d", "-."),
    "relevant": Method("", style.GREEN, "P", ":"),
}
_NAMES = {"relevant": "relevant features\nonly (floor)"}


def row_look(row: str) -> Method:
    """Give a row's colour, marker and line style; variants are grey."""
    return _LOOKS.get(row) or method_look(row)


def row_name(row: str) -> str:
    """Give a row's name on an axis, in two lines if it is long."""
    return _NAMES.get(row, METHOD_ROWS[row].title.replace(", ", ",\n"))


@style.figure_style()
def overview_figure(
    repetitions: pd.DataFrame, gaps: Sequence[pd.DataFrame], weights: Sequence[pd.DataFrame]
) -> Figure:
    """Draw Experiment 1: gap curves, CER, and the average weight of every feature."""
    n_relevant = int(weights[0]["relevant"].sum()) if weights else None
    n_weights = max(len(weights), 1)
    figure = style.new_figure(10.4, 3.3)
    # Two tall panels and, to their right, a column of panels, one per table of weights.
    grid = figure.add_gridspec(n_weights, 3, width_ratios=[1.05, 1, 1.15])
    left, middle = (figure.add_subplot(grid[:, column]) for column in (0, 1))
    right = grid[:, 2].subgridspec(n_weights, 1).subplots(sharex=True, squeeze=False)[:, 0]
    _draw_gaps(left, gaps, n_relevant)
    _draw_rates(middle, repetitions, repetitions)
    middle.set_title("(b) errors of the partition", loc="left")
    for axes, table in zip(right, weights, strict=False):
        _draw_weights(axes, table, n_relevant)
    right[0].set_title("(c) average weight of each feature", loc="left")
    right[-1].set_xlabel("feature")
    return figure


@style.figure_style()
def rate_figure(repetitions: pd.DataFrame) -> Figure:
    """Draw the CER of every method in every setting of an experiment, three side by side."""
    cells = set(zip(repetitions["experiment"], repetitions["setting"], strict=True))
    settings = [s for s in PAPER_SETTINGS if (s.experiment, s.name) in cells]
    n_columns = min(3, len(settings))
    n_lines = -(-len(settings) // n_columns)
    n_rows = len(_main_rows(set(repetitions["method"])))
    figure = style.new_figure(2.7 * n_columns + 1.3, (0.34 * n_rows + 0.75) * n_lines)
    grid = figure.subplots(n_lines, n_columns, squeeze=False, sharex=True, sharey=True)
    for axes in grid.flat[len(settings) :]:
        axes.set_visible(False)
    for axes, setting in zip(grid.flat, settings, strict=False):
        _draw_rates(axes, repetitions[repetitions["setting"] == setting.name], repetitions)
        axes.set_title(setting.title, loc="left")
    for axes in grid[:-1].flat:
        axes.set_xlabel("")
    return figure


def _main_rows(ran: Collection[str]) -> list[str]:
    return [name for name, row in METHOD_ROWS.items() if name in ran and not row.is_variant]


def _draw_rates(axes: Axes, repetitions: pd.DataFrame, whole: pd.DataFrame) -> None:
    """Draw the main rows of one setting; the `whole` experiment sets the axis."""
    rows = _main_rows(set(whole["method"]))
    highest = max(float(whole.loc[whole["method"].isin(rows), "cer"].max()), 0.01)
    for place, row in enumerate(rows):
        rates, look = repetitions.loc[repetitions["method"] == row, "cer"].to_numpy(), row_look(row)
        line = {"color": look.color, "linewidth": 0.8}
        pale = style.shift_lightness(look.color, 0.65)
        axes.boxplot(
            [rates],
            positions=[place],
            orientation="horizontal",
            widths=0.62,
            showfliers=False,
            patch_artist=True,
            boxprops={"edgecolor": look.color, "facecolor": pale, "linewidth": 0.8},
            medianprops={"color": style.INK, "linewidth": 1.4},
            whiskerprops=line,
            capprops=line,
        )
        # Points are spread in a fixed pattern, so that equal rates do not coincide and figures are
        # reproducible.
        offsets = 0.22 * (np.arange(rates.size) * 0.618034 % 1 * 2 - 1)
        points = {"color": look.color, "markersize": 2.8, "markeredgewidth": 0, "alpha": 0.8}
        axes.plot(rates, place + offsets, look.marker, zorder=3, **points)
    axes.set_yticks(range(len(rows)), [row_name(row) for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=style.DROPPED, linewidth=0.4, alpha=0.6)
    axes.set_axisbelow(True)
    axes.set(xlabel="CER", xlim=(-0.03 * highest, 1.05 * highest))
    axes.xaxis.set_major_locator(MaxNLocator(5))


def shared_sparsities(table: pd.DataFrame) -> pd.DataFrame:
    """Keep, of the gap curves of several repetitions, the sparsities that all of them tried."""
    tried = table.groupby("sparsity")["replicate"].transform("nunique")
    return table[tried == table["replicate"].nunique()]


def _draw_gaps(axes: Axes, gaps: Sequence[pd.DataFrame], n_relevant: int | None) -> None:
    """Draw the mean curve of each row, with a band of its mean standard error."""
    for table in gaps:
        row = table["method"].iloc[0]
        look = row_look(row)
        curve = shared_sparsities(table).groupby("sparsity")[["gap", "se"]].mean().reset_index()
        # All rows belong to one method, so only the part of the title after its name differs.
        line = {"label": METHOD_ROWS[row].title.partition(", ")[2], "color": look.color}
        line |= {"marker": look.marker, "linestyle": look.linestyle}
        style.draw_gap(axes, curve, "sparsity", **line)
    axes.set_title("(a) gap statistic", loc="left")
    axes.set(xscale="log", xlabel="features to keep, s (log scale)", ylabel="gap")
    if gaps:
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.legend(loc="lower left", handlelength=2.4)
    if n_relevant is not None:
        axes.axvline(n_relevant, **style.CHOICE_LINE)
        near = {"xycoords": ("data", "axes fraction"), "size": 7.5}
        style.write_near(axes, f"{n_relevant:,} relevant", (n_relevant, 0.97), (4, 0), **near)


def _draw_weights(axes: Axes, table: pd.DataFrame, n_relevant: int) -> None:
    row = table["method"].iloc[0]
    axes.axvspan(1, n_relevant, color=style.GREEN, alpha=0.14, linewidth=0)
    look = {"color": row_look(row).color, "markersize": 1.8, "markeredgewidth": 0}
    axes.plot(table["feature"], table["mean_weight"], "o", rasterized=True, **look)
    style.write_near(axes, "relevant", (n_relevant, 0.92), (4, 0))
    axes.set(ylabel="weight", ylim=(-0.06, 1.06), yticks=[0, 0.5, 1])
    axes.text(0.98, 0.5, row_name(row), transform=axes.transAxes, ha="right", va="center")
