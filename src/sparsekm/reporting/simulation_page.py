"""The page of the simulations: its results, tables and claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from sparsekm.io.tables import infer_table, require_columns
from sparsekm.reporting.figures import CaptionedFigure, caption_figure
from sparsekm.reporting.methods_text import WORDS
from sparsekm.reporting.page_tables import (
    MISSING,
    Cell,
    Column,
    TableView,
    make_table,
    render_page,
    write_text,
)
from sparsekm.reporting.simulation_figures import overview_figure, rate_figure
from sparsekm.studies import METHOD_ROWS, get_setting, stand_ins
from sparsekm.studies.paper_verdicts import (
    CANNOT_BE_TESTED,
    CLAIM_COLUMNS,
    COMPARED_COLUMNS,
    EXPLAINED,
    MEAN,
    NOT_JUDGED,
    OPEN,
    REPRODUCED,
    SPREAD,
    UNEXPLAINED,
)

_RULES = ("simulate", "summarise_simulation")


@dataclass(frozen=True)
class SimulationResult:
    """The tables of a study."""

    repetitions: pd.DataFrame  # metrics: a row per experiment, setting, method and repetition
    summary: pd.DataFrame  # of `summarise`
    versus_paper: pd.DataFrame  # of `compare_rows`
    claims: pd.DataFrame  # of `judge_claims`
    gaps: list[pd.DataFrame] = field(default_factory=list)  # of Experiment 1, as the weights
    weights: list[pd.DataFrame] = field(default_factory=list)

    @property
    def replicates(self) -> int:
        """The number of repetitions."""
        return int(self.repetitions["replicate"].max()) + 1

    @property
    def fewest(self) -> int:
        """The smallest number of repetitions of a method in a setting."""
        return int(self.repetitions.groupby(["experiment", "setting", "method"]).size().min())


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
    tables, means = _RULES
    compared, judged = infer_table(versus_paper, means), infer_table(claims, means)
    require_columns(versus_paper, compared, COMPARED_COLUMNS, means)
    require_columns(claims, judged, CLAIM_COLUMNS, means)
    return SimulationResult(
        pd.concat([infer_table(file, tables) for file in repetitions], ignore_index=True),
        infer_table(summary, means),
        compared,
        judged.fillna({"reason": "", "remark": ""}),
        [infer_table(file, tables) for file in gaps],
        [infer_table(file, tables) for file in weights],
    )


METRIC_NAMES = WORDS["metrics"]
METRIC_GROUPS = [["cer", "ari", "ami"], ["pzw", "pnw"]]
_RATES = ("cer", "cer_chance", "ari", "ami", "ecr")


def _tell(part: str, **facts: Any) -> list[str]:
    """Write the sentences of a part of the page."""
    return write_text("simulation_text.html", part=part, **facts).split("\n")


def introduce(result: SimulationResult) -> list[str]:
    """Say what was run and how often."""

    def most(number: int) -> str:
        interval = binomtest(0, number, alternative="less").proportion_ci(0.95)
        return f"{interval.high:.0%}"

    number, fewest = result.replicates, result.fewest
    facts = {"most": most(number), "most_of_fewest": most(fewest)}
    return _tell("introduction", number=number, fewest=fewest, **facts)


def is_exact(value: float, error: float) -> bool:
    """Tell whether an error is 0, but for rounding: it is where all repetitions agree."""
    return error <= 1e-9 * max(1.0, abs(value))


def write_value(metric: str, value: float, se: float = np.nan) -> str:
    """Write a value with its standard error: rates to three decimals, counts to one.

    An error that this would round to 0 has one more digit. An error that is unknown, or 0 because
    all repetitions agree, is not written.

    Examples
    --------
    >>> write_value("cer", 0.3117, 0.0123), write_value("pzw", 1799.96, 0.04)
    ('0.312 ± 0.012', '1,799.96 ± 0.04')
    """
    if np.isnan(value):
        return "–"
    digits, error = 3 if metric in _RATES else 1, ""
    if not np.isnan(se) and not is_exact(value, se):
        if se < 0.5 * 10.0**-digits:
            digits = int(-np.floor(np.log10(se)))
        error = f" ± {se:.{digits}f}"
    return f"{value:,.{digits}f}{error}".replace("-", "−").replace("inf", "∞")


_PRINTED = (MEAN, SPREAD)


def view_claims(claims: pd.DataFrame) -> list[TableView]:
    """Write a table of the text's claims, and one of the printed numbers that differ."""
    printed = claims["kind"].isin(_PRINTED)
    missed = claims[printed & claims["verdict"].isin([EXPLAINED, UNEXPLAINED])]
    rows = [
        row
        for _, lines in claims[~printed].groupby("claim", sort=False)
        for row in _view_claim(lines)
    ]
    far = [
        [line.statement, line.where, _setting(line), *_numbers(line)]
        for line in missed.itertuples()
    ]
    heads = ("claim", "where", "setting", "verdict"), ("printed", "where", "setting")
    return [
        make_table(_tell(part)[0], _columns(*texts), lines, kind="numbers differences")
        for part, texts, lines in zip(("claims", "printed"), heads, (rows, far), strict=True)
    ]


def _columns(*texts: str) -> dict[str, str]:
    numbers = dict.fromkeys(("theirs", "ours", "errors"), "")
    return {**dict.fromkeys(texts, "text"), **numbers, "reason": "text"}


def describe_claims(claims: pd.DataFrame) -> list[str]:
    """Count the verdicts, of comparisons that could fail."""
    tested = claims[~claims["verdict"].isin([CANNOT_BE_TESTED, NOT_JUDGED])]
    if tested.empty:
        return []
    kinds = {
        "printed means": tested["kind"] == MEAN,
        "standard deviations in brackets": tested["kind"] == SPREAD,
        "statements of the text": ~tested["kind"].isin([*_PRINTED, "theory"]),
        "statements of theory": tested["kind"] == "theory",
    }
    holds = tested["verdict"] == REPRODUCED
    parts = [f"{(holds & chosen).sum()} of {chosen.sum()} {noun}" for noun, chosen in kinds.items()]
    counts = claims["verdict"].value_counts()
    n_open, n_told, n_bare, n_atlas = (
        int(counts.get(name, 0)) for name in (OPEN, EXPLAINED, UNEXPLAINED, CANNOT_BE_TESTED)
    )
    n_compared = int((tested["kind"] != "theory").sum())
    return _tell(
        "verdicts",
        parts=parts,
        n_open=n_open,
        n_told=n_told,
        n_bare=n_bare,
        n_atlas=n_atlas,
        n_compared=n_compared,
        n_chance=round(0.05 * n_compared),
    )


def _view_claim(lines: pd.DataFrame) -> list[list[str]]:
    """Write a row per setting; what is the same in all stands in the first alone."""
    rows = []
    for place, line in enumerate(lines.itertuples()):
        texts = ("", "") if place else (line.statement, line.where)
        row = [*texts, _setting(line), line.verdict, *_numbers(line)]
        if not place and line.remark:
            row[-1] = f"{line.reason} {line.remark}".strip()
        rows.append(row)
    return rows


def _setting(line) -> str:
    if pd.isna(line.setting) or not line.setting:
        return ""
    number = line.experiment.removeprefix("experiment_")
    title = get_setting(line.experiment, line.setting).title
    # Not broken but after the comma.
    return f"{number}: {title}".replace(" = ", "\u00a0=\u00a0").replace(": ", ":\u00a0")


def _numbers(line) -> list[str]:
    """Write theirs, ours, the difference in errors and the reason."""
    errors = MISSING if np.isnan(line.units) else f"{line.units:.1f}"
    # A bracket as it is printed: it may have fewer digits than its kind of value.
    theirs = f"{line.theirs:g}" if line.kind == SPREAD else write_value(line.metric, line.theirs)
    ours = write_value(line.metric, line.ours, line.se)
    if line.kind == "theory":
        error = f" ± {_computed(line.se)}" if line.se > 0 else ""
        if line.low < line.high:
            error = f" ({_computed(line.low)} to {_computed(line.high)})"
        theirs, ours = _computed(line.theirs), _computed(line.ours) + error
    errors = errors.replace("-", "−").replace("inf", "∞")
    return [theirs, ours, errors, line.reason]


def _computed(value: float) -> str:
    """Write a value of theory, which may be a share or a large number.

    Examples
    --------
    >>> _computed(0.38312), _computed(19258.6)
    ('0.383', '19,259')
    """
    if np.isnan(value):
        return MISSING
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


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
        drawn["overview"] = overview_figure(repetitions, result.gaps, result.weights)
    elif name != "experiment_3":
        drawn["cer"] = rate_figure(repetitions, 3)
    title = f"Experiment {number}"
    return ExperimentView(
        title,
        WORDS["designs"][name],
        [
            caption_figure(f"{name}_{kind}", title, _tell(kind, number=number)[0], figure)
            for kind, figure in drawn.items()
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
        (caption,) = _tell("table", metrics=[METRIC_NAMES[metric] for metric in group])
        heads = ["method"]
        for setting, metric in cells:
            title = get_setting(name, setting).title if len(settings) > 1 else ""
            own = metric.upper() if len(group) > 1 else ""
            heads.append(": ".join(filter(None, [title, own])) or "value")
        rows = _rows(result, summary, cells)
        tables.append(make_table(caption, [*map(Column, heads)], rows, kind="numbers study"))
    return tables


def _rows(
    result: SimulationResult, summary: pd.DataFrame, cells: Sequence[tuple[str, str]]
) -> list[list[Any]]:
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
        written: list[Any] = [row.title]
        for setting, metric in cells:
            if row.features == "relevant" and metric in ("pzw", "pnw"):
                written.append(MISSING)
                continue
            found = ours.get((setting, metric, name))
            chance = ours.get((setting, "cer_chance", name)) if metric == "cer" else None
            printed = theirs.get((setting, metric, name)) if name in judged else None
            is_far = (setting, metric, row.method) in far
            written.append(_cell(found, chance, printed, far=is_far))
        rows.append(written)
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
