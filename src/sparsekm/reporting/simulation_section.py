"""The simulations' part of a page: figures, tables, and the paper claim by claim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sparsekm.reporting.claims_view import describe_claims, view_claims
from sparsekm.reporting.figures import CaptionedFigure, caption_figure
from sparsekm.reporting.html import render_page
from sparsekm.reporting.simulation_figures import overview_figure, rate_figure
from sparsekm.reporting.simulation_results import SimulationResult
from sparsekm.reporting.simulation_text import (
    DESIGNS,
    METRIC_GROUPS,
    METRIC_NAMES,
    introduce,
    is_exact,
    write_value,
)
from sparsekm.reporting.table_view import MISSING, Cell, Column, TableView
from sparsekm.studies.paper.plan import METHOD_ROWS, get_setting, stand_ins
from sparsekm.studies.paper.verdicts import EXPLAINED, MEAN, UNEXPLAINED


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
    verdicts: list[str]
    claims: list[TableView]

    @property
    def figures(self) -> list[CaptionedFigure]:
        """The figures of all experiments."""
        return [figure for experiment in self.experiments for figure in experiment.figures]


def view_simulation(result: SimulationResult) -> SimulationView:
    """Prepare the part: draw the figures, write the tables."""
    experiments = list(dict.fromkeys(result.summary["experiment"]))
    verdicts = describe_claims(result.claims)
    return SimulationView(
        introduce(result),
        [_view_experiment(result, name) for name in experiments],
        verdicts,
        view_claims(result.claims) if verdicts else [],
    )


def render_simulation_page(view: SimulationView) -> str:
    """Write a page of its own about the simulations, as HTML."""
    title = "The paper's experiments on simulated data"
    return render_page({"title": title, "simulation": view}, "simulation.html")


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
    """Make one table per metric where there are many settings, else one of rates, one of counts."""
    settings = list(dict.fromkeys(summary["setting"]))
    groups = [[metric] for metric in METRIC_NAMES] if len(settings) > 2 else METRIC_GROUPS
    tables = []
    for group in groups:
        cells = [(setting, metric) for setting in settings for metric in group]
        caption = (
            f"{'; '.join(METRIC_NAMES[metric] for metric in group)}. Mean ± standard error; below "
            "it the standard deviation over the repetitions (sd), or “all” and their number where "
            "they agree, and, where the paper prints one, its value for the method, bold where it "
            "is more than two standard errors from ours."
        )
        heads = [
            _column(name, setting, metric if len(group) > 1 else "", len(settings) > 1)
            for setting, metric in cells
        ]
        rows = _rows(result, summary, cells)
        columns = [Column("method"), *map(Column, heads)]
        tables.append(TableView(caption, columns, rows, kind="numbers study"))
    return tables


def _column(experiment: str, setting: str, metric: str, named: bool) -> str:
    title = get_setting(experiment, setting).title if named else ""
    return ": ".join(filter(None, [title, metric.upper()])) or "value"


def _rows(
    result: SimulationResult, summary: pd.DataFrame, cells: Sequence[tuple[str, str]]
) -> list[list[Cell | list[Cell]]]:
    experiment = summary["experiment"].iloc[0]
    ours = {(s.setting, s.metric, s.method): s for s in summary.itertuples()}
    paper = result.versus_paper[result.versus_paper["experiment"] == experiment]
    theirs = {(line.setting, line.metric, line.row): line for line in paper.itertuples()}
    claims = result.claims
    missed = claims["verdict"].isin([EXPLAINED, UNEXPLAINED]) & (claims["kind"] == MEAN)
    missed = claims[missed & (claims["experiment"] == experiment)]
    far = set(zip(missed["setting"], missed["metric"], missed["method"], strict=True))
    present = set(summary["method"])
    judged = set(stand_ins(present).values())
    rows = []
    for name, row in METHOD_ROWS.items():
        if name not in present or row.is_variant:
            continue
        written = []
        for setting, metric in cells:
            if row.features == "relevant" and metric in ("pzw", "pnw"):
                written.append(Cell(MISSING))
                continue
            chance = ours.get((setting, "cer_chance", name)) if metric == "cer" else None
            printed = theirs.get((setting, metric, name)) if name in judged else None
            written.append(
                _cell(
                    ours.get((setting, metric, name)),
                    chance,
                    printed,
                    far=(setting, metric, row.method) in far,
                )
            )
        rows.append([Cell(row.title), *written])
    return rows


def _cell(ours: Any, chance: Any, theirs: Any, *, far: bool) -> Cell | list[Cell]:
    """Write our value, below it its spread, the CER of chance and the paper's value."""
    if ours is None:
        return Cell(MISSING)
    if np.isnan(ours.sd):
        spread = ""
    elif is_exact(ours.mean, ours.sd):
        spread = f"all {ours.n}"
    else:
        spread = f"sd {write_value(ours.metric, ours.sd)}"
    cells = [Cell(write_value(ours.metric, ours.mean, ours.se), note=spread)]
    if chance is not None:
        cells.append(Cell("", note=f"chance {write_value('cer', chance.mean, chance.se)}"))
    if theirs is not None:
        bracket = "" if np.isnan(theirs.paper_bracket) else f" ({theirs.paper_bracket:g})"
        cells.append(Cell("", note=f"paper {theirs.paper:g}{bracket}", note_bold=far))
    return cells if len(cells) > 1 else cells[0]
