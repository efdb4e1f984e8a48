"""What the paper claims about its experiments, as data: ``data/paper/claims.csv``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from sparsekm.studies.paper.settings import Setting, select_settings

KINDS = ("order", "level", "repeat", "theory", "atlas")
RELATIONS = ("below", "at least", "at most", "about", "equal")
_COLUMNS = (
    *("claim", "where", "statement", "kind", "settings", "metric", "left", "relation", "right"),
    *("bound", "remark"),
)
# How far a value may be from what it is "about".
_ABOUT = 1.25


@dataclass(frozen=True)
class PaperClaim:
    """One claim.

    The kind is "order" (the mean of `left` is below that of `right`), "level" (the mean of `left`
    keeps to `bound`), "repeat" (two settings draw the same data, so that their means agree),
    "theory" (a computation holds or not) or "atlas" (only the atlas can tell).
    """

    name: str
    where: str
    statement: str  # the paper's, shortened
    kind: str
    settings: tuple[Setting, ...] = ()  # in each of which an order or a level is claimed
    metric: str = ""  # of theory, the check in `sparsekm.studies.theory.checks`
    left: str = ""  # a method, as the paper's tables name it, and so is `right`
    relation: str = ""  # one of `RELATIONS`
    right: str = ""
    bound: float = np.nan
    remark: str = ""  # how a vague word is read, or what the paper's own tables say of it

    @property
    def interval(self) -> tuple[float, float]:
        """The values that keep to the bound of a level."""
        return {
            "at least": (self.bound, np.inf),
            "at most": (-np.inf, self.bound),
            "about": (self.bound / _ABOUT, self.bound * _ABOUT),
        }[self.relation]


def read_paper_claims(file: str | Path) -> list[PaperClaim]:
    """Read the claims; a ValueError says which line cannot be used."""
    table = pd.read_csv(file, dtype=str, keep_default_na=False)
    if tuple(table.columns) != _COLUMNS:
        raise ValueError(f"{file}: columns={list(table.columns)} should be {list(_COLUMNS)}.")
    claims = []
    for line in table.to_dict("records"):
        for column, known in (("kind", KINDS), ("relation", ("", *RELATIONS))):
            if line[column] not in known:
                raise ValueError(
                    f"{file}: {line['claim']}: {column}={line[column]!r} should be one of {known}."
                )
        line["name"] = line.pop("claim")
        line["bound"] = float(line["bound"] or "nan")
        line["settings"] = tuple(select_settings(line["settings"].split()))
        claims.append(PaperClaim(**line))
    repeated = table.loc[table["claim"].duplicated(), "claim"]
    if len(repeated):
        raise ValueError(f"{file}: claim {repeated.iloc[0]!r} should stand there once.")
    return claims
