"""The verdicts on the paper's claims as tables and sentences of the simulations' page."""

from __future__ import annotations

import numpy as np
import pandas as pd

from sparsekm.reporting.simulation_text import write_value
from sparsekm.reporting.table_view import MISSING, Cell, Column, TableView
from sparsekm.studies.paper.plan import get_setting
from sparsekm.studies.paper.verdicts import (
    CANNOT_BE_TESTED,
    EXPLAINED,
    MEAN,
    NOT_JUDGED,
    OPEN,
    REPRODUCED,
    SPREAD,
    UNEXPLAINED,
)

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
