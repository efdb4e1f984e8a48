"""The simulations' part of a page: figures, tables beside the paper's values, differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sparsekm.reporting.figures import CaptionedFigure, caption_figure
from sparsekm.reporting.html import render_page
from sparsekm.reporting.simulation_figures import overview_figure, rate_figure
from sparsekm.reporting.simulation_results import SimulationResult
from sparsekm.reporting.simulation_text import (
    DESIGNS,
    METRIC_NAMES,
    describe_brackets,
    describe_differences,
    introduce,
)
from sparsekm.reporting.table_view import MISSING, Cell, Column, TableView
from sparsekm.studies.paper.method_rows import METHOD_ROWS
from sparsekm.studies.paper.settings import get_setting


@dataclass(frozen=True)
class ExperimentView:
    """One experiment's part."""

    title: str
    design: str
    figures: list[CaptionedFigure]
    tables: list[TableView]


@dataclass(frozen=True)
class SimulationView:
    """The whole part."""

    sentences: list[str]
    experiments: list[ExperimentView]
    differences: TableView
    closing: list[str]
    preview: bool

    @property
    def figures(self) -> list[CaptionedFigure]:
        """The figures of all experiments."""
        return [figure for experiment in self.experiments for figure in experiment.figures]


def view_simulation(result: SimulationResult) -> SimulationView:
    """Prepare the part: draw the figures, write the tables."""
    experiments = list(dict.fromkeys(result.summary["experiment"]))
    far = result.versus_paper[result.versus_paper["exceeds"]]
    return SimulationView(
        introduce(result),
        [_view_experiment(result, name) for name in experiments],
        _view_differences(far),
        [*describe_differences(result.versus_paper), *describe_brackets(result.versus_paper)],
        result.is_preview,
    )


def render_simulation_page(view: SimulationView) -> str:
    """Write a page of its own about the simulations, as HTML."""
    title = "The paper's experiments on simulated data"
    return render_page({"title": title, "simulation": view}, "simulation_page.html")


def _view_experiment(result: SimulationResult, name: str) -> ExperimentView:
    repetitions = result.repetitions[result.repetitions["experiment"] == name]
    summary = result.summary[result.summary["experiment"] == name]
    number = name.removeprefix("experiment_")
    drawn = {}
    if name == "experiment_1":
        caption = (
            "Experiment 1. (a) The gap, averaged over the repetitions; the band is the curve's own "
            "standard error to either side, averaged too. (b) CER of every repetition; boxes run "
            "from quartile to quartile. (c) Weight of every feature, averaged over the "
            "repetitions."
        )
        drawn["overview"] = (caption, overview_figure(repetitions, result.gaps, result.weights))
    elif name != "experiment_3":
        caption = (
            f"Experiment {number}: CER of every repetition. Boxes run from quartile to quartile "
            "with the median; whiskers reach the farthest repetition within 1.5 times that range. "
            "The floor is k-means on the relevant features alone, which no method knows."
        )
        drawn["cer"] = (caption, rate_figure(repetitions, 3))
    return ExperimentView(
        f"Experiment {number}",
        DESIGNS[name],
        [
            caption_figure(f"{name}_{kind}", f"Experiment {number}", caption, figure)
            for kind, (caption, figure) in drawn.items()
        ],
        _tables(result, name, summary),
    )


def _tables(result: SimulationResult, name: str, summary: pd.DataFrame) -> list[TableView]:
    """Make one table per metric where there are many settings, else one for all metrics."""
    settings = list(dict.fromkeys(summary["setting"]))
    metrics = ["cer", "pzw", "pnw"]
    groups = [[metric] for metric in metrics] if len(settings) > 2 else [metrics]
    tables = []
    for group in groups:
        cells = [(setting, metric) for setting in settings for metric in group]
        caption = (
            f"{'; '.join(METRIC_NAMES[metric] for metric in group)}. Mean ± standard error; below "
            "it the paper's value where it prints one, bold where the two differ by more than 2 "
            "units."
        )
        heads = [
            _column(name, setting, metric if len(group) > 1 else "", len(settings) > 1)
            for setting, metric in cells
        ]
        rows = _rows(result.versus_paper, summary, cells)
        columns = [Column("method"), *map(Column, heads)]
        tables.append(TableView(caption, columns, rows, kind="numbers study"))
    return tables


def _column(experiment: str, setting: str, metric: str, named: bool) -> str:
    title = get_setting(experiment, setting).title if named else ""
    return ": ".join(filter(None, [title, metric.upper()])) or "value"


def _rows(
    versus: pd.DataFrame, summary: pd.DataFrame, cells: Sequence[tuple[str, str]]
) -> list[list[Cell]]:
    ours = {(s.setting, s.metric, s.method): s for s in summary.itertuples()}
    experiment = summary["experiment"].iloc[0]
    theirs = {
        (line.setting, line.metric, line.row): line
        for line in versus[versus["experiment"] == experiment].itertuples()
    }
    present = set(summary["method"])
    rows = []
    for name, row in METHOD_ROWS.items():
        if name not in present or row.is_variant:
            continue
        knows = row.features == "relevant"
        written = [
            Cell(MISSING)
            if knows and metric != "cer"
            else _cell(ours.get((setting, metric, name)), theirs.get((setting, metric, name)))
            for setting, metric in cells
        ]
        if any(cell.text != MISSING for cell in written):
            rows.append([Cell(row.title), *written])
    return rows


def _cell(ours: Any, theirs: Any) -> Cell:
    """Write our value with its standard error and, where there is one, the paper's below it."""
    if ours is None:
        return Cell(MISSING)
    text = write_mean(ours.metric, ours.mean, ours.se)
    if theirs is None:
        return Cell(text)
    bracket = "" if np.isnan(theirs.paper_bracket) else f" ({theirs.paper_bracket:g})"
    return Cell(text, note=f"paper {theirs.paper:g}{bracket}", note_bold=bool(theirs.exceeds))


def write_mean(metric: str, mean: float, se: float) -> str:
    """Write a mean with its standard error: rates to three decimals, counts to one.

    Examples
    --------
    >>> write_mean("cer", 0.3117, 0.0123)
    '0.312 ± 0.012'
    """
    digits = 3 if metric in ("cer", "ecr") else 1
    error = "" if np.isnan(se) else f" ± {se:.{digits}f}"
    return f"{mean:,.{digits}f}{error}"


def _view_differences(far: pd.DataFrame) -> TableView:
    rows = []
    for line in far.itertuples():
        units = f"{line.units:+.1f}".replace("-", "−").replace("inf", "∞")
        texts = (
            line.experiment.removeprefix("experiment_"),
            get_setting(line.experiment, line.setting).title,
            METHOD_ROWS[line.row].title,
            line.metric.upper(),
            f"{line.paper:g}",
            write_mean(line.metric, line.mean, line.se),
            units,
            line.explanation,
        )
        rows.append([Cell(text) for text in texts])
    caption = (
        "Differences of more than 2 units, and what accounts for them: other runs of the same "
        "method on the same data, in square brackets what they change"
    )
    columns = [Column("experiment"), Column("setting", kind="text"), Column("method", kind="text")]
    columns += [Column(head) for head in ("measure", "paper", "ours", "units")]
    columns.append(Column("what differs", kind="text"))
    return TableView(caption, columns, rows, kind="numbers differences")
