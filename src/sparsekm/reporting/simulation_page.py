"""The page of the simulations: its results, tables and claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from sparsekm.io.tables import infer_table, require_columns
from sparsekm.reporting.figures import CaptionedFigure, caption_figure
from sparsekm.reporting.page_tables import (
    MISSING,
    WORDS,
    Cell,
    TableView,
    make_table,
    render_page,
    write_text,
)
from sparsekm.reporting.simulation_figures import overview_figure, rate_figure
from sparsekm.studies import METHOD_ROWS, get_setting, stand_ins
from sparsekm.studies import paper_verdicts as verdicts


@dataclass(frozen=True)
class SimulationResult:
    """The tables of a study."""

    repetitions: pd.DataFrame  # metrics: a row per experiment, setting, method and repetition
    summary: pd.DataFrame  # of `summarise`
    versus_paper: pd.DataFrame  # of `compare_rows`
    claims: pd.DataFrame  # of `judge_claims`
    gaps: list[pd.DataFrame] = field(default_factory=list)  # of Experiment 1, as the weights
    weights: list[pd.DataFrame] = field(default_factory=list)


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
    tables, means = "simulate", "summarise_simulation"
    compared, judged = infer_table(versus_paper, means), infer_table(claims, means)
    require_columns(versus_paper, compared, verdicts.COMPARED_COLUMNS, means)
    require_columns(claims, judged, verdicts.CLAIM_COLUMNS, means)
    return SimulationResult(
        pd.concat([infer_table(file, tables) for file in repetitions], ignore_index=True),
        infer_table(summary, means),
        compared,
        judged.fillna({"reason": "", "remark": ""}),
        [infer_table(file, tables) for file in gaps],
        [infer_table(file, tables) for file in weights],
    )


_METRIC_NAMES = WORDS["metrics"]
_RATES = ("cer", "cer_chance", "ari", "ami", "ecr")
_PRINTED = (verdicts.MEAN, verdicts.SPREAD)


def _tell(part: str, **facts: Any) -> list[str]:
    """Write the sentences of a part of the page."""
    return write_text("simulation_text.html", part=part, **facts).split("\n")


def view_simulation(result: SimulationResult) -> dict[str, Any]:
    """Prepare the page: sentences, experiments with their figures and tables, verdicts, claims."""
    ran, claims = result.repetitions, result.claims
    number = int(ran["replicate"].max()) + 1
    fewest = int(ran.groupby(["experiment", "setting", "method"]).size().min())
    most, most_of_fewest = (
        f"{binomtest(0, n, alternative='less').proportion_ci(0.95).high:.0%}"
        for n in (number, fewest)
    )
    facts = {"number": number, "fewest": fewest, "most": most, "most_of_fewest": most_of_fewest}
    experiments = [_view_experiment(result, name) for name in result.summary["experiment"].unique()]
    counted = _describe_claims(claims)
    return {
        "sentences": _tell("introduction", **facts),
        "experiments": experiments,
        "figures": [figure for experiment in experiments for figure in experiment["figures"]],
        "verdicts": counted,
        "claims": _view_claims(claims) if counted else [],
    }


def render_simulation_page(view: dict[str, Any]) -> str:
    """Write a page of its own about the simulations, as HTML."""
    title = "The paper's experiments on simulated data"
    return render_page({"title": title, "simulation": view}, "simulation.html")


def _describe_claims(claims: pd.DataFrame) -> list[str]:
    """Count the verdicts, of comparisons that could fail."""
    tested = claims[~claims["verdict"].isin([verdicts.CANNOT_BE_TESTED, verdicts.NOT_JUDGED])]
    if tested.empty:
        return []
    kinds = {verdicts.MEAN: "printed means", verdicts.SPREAD: "standard deviations in brackets"}
    nouns = tested["kind"].map({**kinds, "theory": "statements of theory"})
    holds = (
        tested["verdict"].eq(verdicts.REPRODUCED).groupby(nouns.fillna("statements of the text"))
    )
    order = [*kinds.values(), "statements of the text", "statements of theory"]
    counted = holds.agg(["sum", "size"]).reindex(order, fill_value=0)
    counts = claims["verdict"].value_counts()
    n_compared = int((tested["kind"] != "theory").sum())
    return _tell(
        "verdicts",
        parts=[f"{n} of {size} {noun}" for noun, n, size in counted.itertuples()],
        n_open=counts.get(verdicts.OPEN, 0),
        n_told=counts.get(verdicts.EXPLAINED, 0),
        n_bare=counts.get(verdicts.UNEXPLAINED, 0),
        n_atlas=counts.get(verdicts.CANNOT_BE_TESTED, 0),
        n_compared=n_compared,
        n_chance=round(0.05 * n_compared),
    )


def _view_claims(claims: pd.DataFrame) -> list[TableView]:
    """Write a table of the text's claims, and one of the printed numbers that differ."""
    printed = claims["kind"].isin(_PRINTED)
    told = claims[~printed]
    missed = claims[printed & claims["verdict"].isin([verdicts.EXPLAINED, verdicts.UNEXPLAINED])]
    # What is the same in all settings of a claim stands in the first row alone.
    is_first = ~told["claim"].duplicated()
    told = told.sort_values("claim", key=lambda names: pd.factorize(names)[0], kind="stable")
    rows = []
    for line in told.assign(is_first=is_first).itertuples():
        texts = (line.statement, line.where) if line.is_first else ("", "")
        rows.append([*texts, _setting(line), line.verdict, *_numbers(line)])
        if line.is_first and line.remark:
            rows[-1][-1] = f"{line.reason} {line.remark}".strip()
    far = [
        [line.statement, line.where, _setting(line), *_numbers(line)]
        for line in missed.itertuples()
    ]
    numbers = {**dict.fromkeys(("theirs", "ours", "errors"), ""), "reason": "text"}
    heads = ("claim", "where", "setting", "verdict"), ("printed", "where", "setting")
    return [
        make_table(
            _tell(part)[0],
            dict.fromkeys(texts, "text") | numbers,
            lines,
            kind="numbers differences",
        )
        for part, texts, lines in zip(("claims", "printed"), heads, (rows, far), strict=True)
    ]


def _setting(line: Any) -> str:
    if pd.isna(line.setting) or not line.setting:
        return ""
    number = line.experiment.removeprefix("experiment_")
    title = get_setting(line.experiment, line.setting).title
    # Not broken but after the comma.
    return f"{number}: {title}".replace(" = ", "\u00a0=\u00a0").replace(": ", ":\u00a0")


def _numbers(line: Any) -> list[str]:
    """Write theirs, ours, the difference in errors and the reason."""
    if line.kind == "theory":
        error = f" ± {_computed(line.se)}" if line.se > 0 else ""
        if line.low < line.high:
            error = f" ({_computed(line.low)} to {_computed(line.high)})"
        theirs, ours = _computed(line.theirs), _computed(line.ours) + error
    else:
        # A bracket as it is printed: it may have fewer digits than its kind of value.
        is_bracket = line.kind == verdicts.SPREAD
        theirs = f"{line.theirs:g}" if is_bracket else write_value(line.metric, line.theirs)
        ours = write_value(line.metric, line.ours, line.se)
    return [theirs, ours, _signed(line.units, ".1f"), line.reason]


def _signed(value: float, form: str) -> str:
    """Write a number with a true minus sign."""
    return MISSING if np.isnan(value) else f"{value:{form}}".replace("-", "−").replace("inf", "∞")


def _computed(value: float) -> str:
    """Write a value of theory, which may be a share or a large number."""
    return MISSING if np.isnan(value) else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _is_exact(value: float, error: float) -> bool:
    """Tell whether an error is 0, but for rounding: it is where all repetitions agree."""
    return error <= 1e-9 * max(1.0, abs(value))


def write_value(metric: str, value: float, se: float = np.nan) -> str:
    """Write a value with its standard error: rates to three decimals, counts to one.

    An error that this would round to 0 has one more digit. An error that is unknown, or 0 because
    all repetitions agree, is not written.
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
        drawn["cer"] = rate_figure(repetitions, 3)
    title = f"Experiment {number}"
    figures: list[CaptionedFigure] = [
        caption_figure(f"{name}_{kind}", title, _tell(kind, number=number)[0], figure)
        for kind, figure in drawn.items()
    ]
    table, design = _table(result, name), WORDS["designs"][name]
    return {"title": title, "design": design, "figures": figures, "table": table}


def _table(result: SimulationResult, experiment: str) -> TableView:
    """Make a row for each method in each setting, with all its metrics."""
    summary, paper, claims = (
        table[table["experiment"] == experiment]
        for table in (result.summary, result.versus_paper, result.claims)
    )
    ours = {(s.setting, s.metric, s.method): s for s in summary.itertuples()}
    present = set(summary["method"])
    theirs = {
        (line.setting, line.metric, line.row): line
        for line in paper.itertuples()
        if line.row in stand_ins(present).values()
    }
    missed = claims["verdict"].isin([verdicts.EXPLAINED, verdicts.UNEXPLAINED])
    missed = claims[missed & (claims["kind"] == verdicts.MEAN)]
    far = set(missed[["setting", "metric", "method"]].itertuples(index=False, name=None))
    methods = [name for name, row in METHOD_ROWS.items() if name in present and not row.is_variant]
    rows: list[list[Any]] = []
    for setting, name in product(summary["setting"].unique(), methods):
        row = METHOD_ROWS[name]
        rows.append([get_setting(experiment, setting).title, row.title])
        for metric in _METRIC_NAMES:
            at = setting, metric, name
            counts_features = metric in ("pzw", "pnw")
            if at not in ours or (row.features == "relevant" and counts_features):
                rows[-1].append(None)
                continue
            chance = ours.get((setting, "cer_chance", name)) if metric == "cer" else None
            is_far = (setting, metric, row.method) in far
            rows[-1].append(_cells(ours[at], chance, theirs.get(at), far=is_far))
    (caption,) = _tell("table", metrics=_METRIC_NAMES.values())
    heads = {"setting": "", "method": "text", **{metric.upper(): "" for metric in _METRIC_NAMES}}
    return make_table(caption, heads, rows, kind="numbers study")


def _cells(ours: Any, chance: Any, theirs: Any, *, far: bool) -> list[Cell]:
    """Write our value, below it its spread, the CER of chance and the paper's value."""
    spread = "" if np.isnan(ours.sd) else f"sd {write_value(ours.metric, ours.sd)}"
    if _is_exact(ours.mean, ours.sd):
        spread = f"all {ours.n}"
    cells = [Cell(write_value(ours.metric, ours.mean, ours.se), note=spread)]
    if chance is not None:
        cells.append(Cell("", note=f"chance {write_value('cer', chance.mean, chance.se)}"))
    if theirs is not None:
        bracket = "" if np.isnan(theirs.paper_bracket) else f" ({theirs.paper_bracket:g})"
        cells.append(Cell("", note=f"paper {theirs.paper:g}{bracket}", note_bold=far))
    return cells
