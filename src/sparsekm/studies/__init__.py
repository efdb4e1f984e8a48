"""Studies of the methods: the experiments of the paper, and the methods of the yardstick.

The workflow imports this module also without NumPy.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RIVALS = ("centred", "variance500", "variable200", "ward", "spectral")
"""The plain methods that run only in the yardstick; see `sparsekm.studies.yardstick`."""


@dataclass(frozen=True)
class Setting:
    """One setting of one of the paper's experiments."""

    experiment: str  # name in `sparsekm.simulation.EXPERIMENTS`
    name: str  # in paths and tables
    title: str  # in figures
    arguments: Mapping[str, Any] = field(default_factory=dict)  # of the experiment's function


PAPER_SETTINGS = (
    Setting("experiment_1", "p2000", "p = 2,000"),
    *(
        Setting("experiment_2", f"mu{mu}_p{p}", f"μ = {mu}, p = {p:,}", {"mu": mu, "n_features": p})
        for mu in (0.6, 0.7)
        for p in (200, 500, 1000)
    ),
    Setting("experiment_3", "p25", "μ = 1, p = 25", {"n_features": 25}),
    Setting("experiment_3", "p500", "μ = 0.7, p = 500", {"n_features": 500}),
    *(Setting("experiment_4", f"rho{rho}", f"ρ = {rho}", {"rho": rho}) for rho in (0.1, 0.3)),
)

EXPERIMENT_ARGUMENTS = {
    "experiment_1": ("n_features", "n_relevant", "cluster_size", "mu", "standardise"),
    "experiment_2": ("mu", "n_features", "n_relevant", "cluster_size", "standardise"),
    "experiment_3": ("n_features", "standardise"),
    "experiment_4": ("rho", "n_features", "n_relevant", "cluster_size", "mu", "standardise"),
}
"""Keyword arguments of each experiment's function besides `random_state`."""


def select_settings(names: Iterable[str]) -> list[Setting]:
    """List the requested settings, each once, in the order of the paper.

    A name is an experiment (all of its settings) or ``experiment/setting``.
    """
    chosen = set(names)
    called = [{s.experiment, f"{s.experiment}/{s.name}"} for s in PAPER_SETTINGS]
    known = set().union(*called)
    for name in sorted(chosen - known):
        raise ValueError(f"experiments: {name!r} should be one of {sorted(known)}.")
    return [setting for setting, own in zip(PAPER_SETTINGS, called, strict=True) if own & chosen]


def get_setting(experiment: str, name: str) -> Setting:
    """Look up a setting; a ValueError lists those that exist."""
    return select_settings([f"{experiment}/{name}"])[0]


@dataclass(frozen=True)
class MethodRow:
    """A method as it is run, and a row of the tables.

    Main rows are the compared methods. Variants change one thing, to show the source of a
    difference from a published number; none was tuned to match a number.
    """

    name: str  # in the configuration, in paths and tables
    title: str  # in figures
    method: str  # the method of the paper that this row runs, as the registry names it
    varies: str = ""  # what a variant changes
    # Parameters of the estimator, and fields of `Effort`. Both take precedence over common ones.
    options: Mapping[str, Any] = field(default_factory=dict)
    tuning: Mapping[str, Any] = field(default_factory=dict)
    searcher: str = ""  # a class of `sparsekm.studies.paper_runs` that replaces the estimator
    features: str = "all"  # or "relevant": the features that it sees
    standardise: bool = True  # whether it sees z-scored data

    @property
    def is_variant(self) -> bool:
        """Whether it runs only to explain a difference."""
        return bool(self.varies)


# One start, 6 rounds and 100 values of the l1 bound are the effort of the authors' scripts.
# Algorithm 1 has no limit on the rounds; here it is 100. In Experiment 2 its error is the same with
# 1,000. On references, every k-means finds other clusters, and Algorithm 1 seldom ends.
_ROWS = json.loads(Path(__file__).with_name("paper_rows.json").read_text("utf-8"))
METHOD_ROWS = {row["name"]: MethodRow(**row) for row in _ROWS}
"""All rows, in the order of the tables."""


def stand_ins(rows: Iterable[str]) -> dict[str, str]:
    """Name the main row that is judged for each of the paper's methods.

    It is the first row that ran, in the order of the tables. For l0-k-means it is Algorithm 1 as
    printed.
    """
    ran, judged = set(rows), {}
    for name, row in METHOD_ROWS.items():
        if name in ran and not row.is_variant and row.features == "all":
            judged.setdefault(row.method, name)
    return judged
