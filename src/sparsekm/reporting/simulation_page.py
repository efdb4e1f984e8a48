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
from sparsekm.reporting.page_tables import MISSING, Cell, Column, TableView, render_page
from sparsekm.reporting.simulation_figures import overview_figure, rate_figure
from sparsekm.studies.paper.plan import METHOD_ROWS, get_setting, stand_ins
from sparsekm.studies.paper.verdicts import (
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


DESIGNS = {
    "experiment_1": "120 samples in six clusters, 2,000 features of which 200 are relevant, with "
    "mean 0.5 k in the k-th cluster; independent features.",
    "experiment_2": "60 samples in three clusters, p features of which 50 are relevant, with means "
    "μ, −μ and 0 in the clusters; independent features.",
    "experiment_3": "The means of Experiment 2. p = 25: 30 samples, 5 relevant features. p = 500: "
    "60 samples, 50 relevant features.",
    "experiment_4": "120 samples in six clusters, 2,000 features of which 200 are relevant, with "
    "mean k in the k-th cluster; features a and b correlate as ρ to the power |a − b|.",
}
METRIC_NAMES = {
    "cer": "CER: classification error rate, lower is better; chance is that of random clusters of "
    "the sizes found",
    "ari": "ARI: adjusted Rand index, 1 for the true partition, 0 on average for a random one",
    "ami": "AMI: adjusted mutual information, on the same scale",
    "pzw": "PZW: noise features dropped",
    "pnw": "PNW: relevant features kept",
}
METRIC_GROUPS = [["cer", "ari", "ami"], ["pzw", "pnw"]]
_RATES = ("cer", "cer_chance", "ari", "ami", "ecr")


def introduce(result: SimulationResult) -> list[str]:
    """Say what was run and how often."""
    number = result.replicates
    said = f"{number} repetition{'s' if number > 1 else ''}"
    if result.fewest < number:
        said += f" ({result.fewest} of most runs that judge no claim)"
    sentences = [
        f"Every number here comes from {said} on simulated data, the same data for every method. "
        "Sparsities are chosen by the gap statistic with permuted references and its maximum, as "
        "in the paper.",
        "Algorithm 1 as printed runs Lloyd's k-means afresh in every round and shares nothing "
        "along the path; made monotone it also tries the labels it has, by exchange moves, and is "
        "restarted. The paper says of Experiment 1 alone that data are normalised; here all are "
        "z-scored, and variants on raw data show what that changes.",
        "What the paper leaves open is ours: the starts of every k-means (one for Algorithm 1 as "
        "printed), at most 100 rounds of that algorithm (six in the authors' scripts and in a row "
        "of its own), the grid of sparsities, its refinement around the largest gap, the number of "
        "permutations (that of the authors' scripts), one principal "
        "component for PCA-k-means (also theirs), and of P-likelihood the common variances, the "
        "starts and the grid of penalties, chosen by the modified BIC.",
    ]
    if number > 1:
        most = {
            n: f"{binomtest(0, n, alternative='less').proportion_ci(0.95).high:.0%}"
            for n in (number, result.fewest)
        }
        fewer = f" ({most[result.fewest]} after {result.fewest})" if len(most) > 1 else ""
        sentences.append(
            "Where all repetitions agree, a standard error of 0 would claim too much, so none is "
            f"given: with 95 % confidence at most {most[number]} of further ones would differ "
            f"after {number}{fewer}."
        )
    return sentences


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
        [Cell(line.statement), Cell(line.where), _setting(line), *_numbers(line)]
        for line in missed.itertuples()
    ]
    return [
        TableView(
            "The claims of the text, in every setting that they are about. Ours is a mean ± "
            "standard error; where one method should be below another, the mean difference over "
            "the same data sets. A share of data sets has its 95 % interval (Clopper and Pearson). "
            "Theirs is the paper's own number, if it prints one. Errors: the difference divided by "
            "its standard error",
            _columns("claim", "where", "setting", "verdict"),
            rows,
            kind="numbers differences",
        ),
        TableView(
            "The paper's printed numbers that are more than two standard errors from ours, with "
            "the other runs of the same method that meet them",
            _columns("printed", "where", "setting"),
            far,
            kind="numbers differences",
        ),
    ]


def _columns(*texts: str) -> list[Column]:
    return [
        *(Column(head, kind="text") for head in texts),
        *map(Column, ("theirs", "ours", "errors")),
        Column("reason", kind="text"),
    ]


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
    return [
        f"Reproduced: {', '.join(parts)}, counted in every setting. {n_open} statements are within "
        f"noise, {n_told} comparisons differ for a reason that is shown, {n_bare} without one, and "
        f"{n_atlas} claims need the data of the atlas.",
        "A comparison differs if it is missed by more than two standard errors; the paper's means "
        "have errors of their own, and its repetitions are assumed to spread as ours do. By chance "
        f"alone about {round(0.05 * n_compared)} of the {n_compared} comparisons would differ.",
    ]


def _view_claim(lines: pd.DataFrame) -> list[list[Cell]]:
    """Write a row per setting; what is the same in all stands in the first alone."""
    rows = []
    for place, line in enumerate(lines.itertuples()):
        texts = ("", "") if place else (line.statement, line.where)
        row = [*map(Cell, texts), _setting(line), Cell(line.verdict), *_numbers(line)]
        if not place and line.remark:
            row[-1] = Cell(f"{line.reason} {line.remark}".strip())
        rows.append(row)
    return rows


def _setting(line) -> Cell:
    if pd.isna(line.setting) or not line.setting:
        return Cell("")
    number = line.experiment.removeprefix("experiment_")
    title = get_setting(line.experiment, line.setting).title
    # Not broken but after the comma.
    return Cell(f"{number}: {title}".replace(" = ", "\u00a0=\u00a0").replace(": ", ":\u00a0"))


def _numbers(line) -> list[Cell]:
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
    return [Cell(text) for text in (theirs, ours, errors, line.reason)]


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
