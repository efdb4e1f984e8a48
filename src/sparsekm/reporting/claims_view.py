"""The verdicts on the paper's claims as tables and sentences of the simulations' page."""

from __future__ import annotations

import numpy as np
import pandas as pd

from sparsekm.reporting.table_view import MISSING, Cell, Column, TableView
from sparsekm.studies.paper.claim_verdicts import (
    CANNOT_BE_TESTED,
    DIFFERENCE_KINDS,
    NOT_REPRODUCED,
    OPEN,
    REPRODUCED,
    WITH_REASON,
    WITHOUT_REASON,
)
from sparsekm.studies.paper.printed_numbers import MEAN, SPREAD
from sparsekm.studies.paper.settings import get_setting
from sparsekm.studies.paper.value_text import write_value

_PRINTED = (MEAN, SPREAD)


def view_claims(claims: pd.DataFrame) -> list[TableView]:
    """Write a table of the text's claims, and one of the printed numbers that differ."""
    printed = claims["kind"].isin(_PRINTED)
    missed = claims[printed & (claims["verdict"] == NOT_REPRODUCED)]
    told = [
        row
        for _, lines in claims[~printed].groupby("claim", sort=False)
        for row in _view_claim(lines)
    ]
    far = [
        [
            Cell(line.statement),
            Cell(line.where.replace(" ", "\u00a0")),
            _setting(line),
            *_numbers(line),
        ]
        for line in missed.itertuples()
    ]
    return [
        TableView(
            "The claims of the text, in every setting that they speak of. Ours is a mean ± "
            "standard error; where one method is said to be below another, it is the mean "
            "difference over the same data sets. A share of data sets has its 95 % interval "
            "(Clopper and Pearson’s). Without either the repetitions agree, or the value is "
            "computed and has no error. Theirs is the paper's own number, if any, whose error is "
            "not printed",
            _columns("claim", "where", "setting", "verdict"),
            told,
            kind="numbers differences",
        ),
        TableView(
            "The paper's printed numbers that are not reproduced, with the other runs of the same "
            "method that meet them; in square brackets what these change. The error of a standard "
            "deviation is a jackknife's; units are differences over their standard errors",
            _columns("printed", "where", "setting"),
            far,
            kind="numbers differences",
        ),
    ]


def _columns(*texts: str) -> list[Column]:
    return [
        *(Column(head, kind="text") for head in texts),
        *map(Column, ("theirs", "ours", "p")),
        Column("reason", kind="text"),
    ]


def describe_claims(claims: pd.DataFrame) -> list[str]:
    """Say how many claims are reproduced, counting only comparisons that could fail."""
    tested = claims[claims["verdict"].isin([REPRODUCED, NOT_REPRODUCED])]
    if tested.empty:
        return []
    theory = tested["kind"] == "theory"
    parts = []
    for noun, lines in (
        ("printed means", tested[tested["kind"] == MEAN]),
        ("standard deviations in brackets", tested[tested["kind"] == SPREAD]),
        ("statements of the text", tested[~tested["kind"].isin([*_PRINTED, "theory"])]),
        ("statements of theory", tested[theory]),
    ):
        parts.append(f"{int((lines['verdict'] == REPRODUCED).sum())} of {len(lines)} {noun}")
    untested = int((claims["verdict"] == CANNOT_BE_TESTED).sum())
    missed = claims["outcome"].value_counts()
    n_open, n_told, n_bare = (
        int(missed.get(name, 0)) for name in (OPEN, WITH_REASON, WITHOUT_REASON)
    )
    n_against = int(tested["kind"].isin(DIFFERENCE_KINDS).sum())
    n_orders = len(tested) - n_against - int(theory.sum())
    return [
        f"Reproduced: {', '.join(parts)} (counted in every setting that they speak of). Not to be "
        f"tested without the data of the atlas: {untested}.",
        f"Of the {len(tested)} comparisons {n_told + n_bare} differ by more than their number "
        f"allows: {n_told} for a reason that a run shows, {n_bare} without one. {n_open} orders "
        "are within noise: our repetitions show neither them nor the contrary.",
        "Numbers of features that a method keeps which drops none are not counted: they could not "
        f"differ. The {n_against} tests for differences are held to an error of 5 % as a whole "
        f"(Holm), and so are the {n_orders} tests for orders and those for contrary orders. The "
        "paper's means have errors of their own; its repetitions are taken to spread as ours do. "
        "But for the signal of Experiment 4 in runs that are named so, no setting was tuned to "
        "match.",
    ]


def _view_claim(lines: pd.DataFrame) -> list[list[Cell]]:
    """Write a line per setting; what all lines say stands in the first alone."""
    rows = []
    # A reproduced line has nothing but the remark on the claim, which ends the other reasons.
    remark = next(iter(lines.loc[lines["verdict"] == REPRODUCED, "reason"]), "")
    for place, line in enumerate(lines.itertuples()):
        told = ("", "") if place else (line.statement, line.where)
        verdict = Cell(line.verdict, note=line.outcome)
        row = [*map(Cell, told), _setting(line), verdict, *_numbers(line)]
        if place:
            row[-1] = Cell(line.reason.removesuffix(remark).strip())
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
    """Write theirs, ours, the p-value and the reason."""
    if np.isnan(line.p_value):
        chance = MISSING
    else:
        chance = f"{line.p_value:.2g}" if line.p_value >= 1e-4 else "< 0.0001"
    # A bracket as it is printed: it may have fewer digits than its kind of value.
    theirs = f"{line.theirs:g}" if line.kind == SPREAD else write_value(line.metric, line.theirs)
    ours = write_value(line.metric, line.ours, line.se)
    if line.kind == "theory":
        error = f" ± {_computed(line.se)}" if line.se > 0 else ""
        if line.low < line.high:
            error = f" ({_computed(line.low)} to {_computed(line.high)})"
        theirs, ours = _computed(line.theirs), _computed(line.ours) + error
    return [Cell(text) for text in (theirs, ours, chance, line.reason)]


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
