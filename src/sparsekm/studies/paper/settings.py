"""The settings in which the paper ran its experiments, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Setting:
    """One setting of one experiment."""

    experiment: str  # name in `sparsekm.simulation.designs.EXPERIMENTS`
    name: str  # in paths and tables
    title: str  # in figures
    arguments: Mapping[str, Any] = field(default_factory=dict)  # of the experiment's function


PAPER_SETTINGS = (
    Setting("experiment_1", "p2000", "p = 2,000"),
    *(
        Setting(
            "experiment_2",
            f"mu{mu}_p{n_features}",
            f"μ = {mu}, p = {n_features:,}",
            {"mu": mu, "n_features": n_features},
        )
        for mu in (0.6, 0.7)
        for n_features in (200, 500, 1000)
    ),
    Setting("experiment_3", "p25", "μ = 1, p = 25", {"n_features": 25}),
    Setting("experiment_3", "p500", "μ = 0.7, p = 500", {"n_features": 500}),
    *(Setting("experiment_4", f"rho{rho}", f"ρ = {rho}", {"rho": rho}) for rho in (0.1, 0.3)),
)

EXPERIMENT_ARGUMENTS = {
    "experiment_1": ("n_features", "n_relevant", "cluster_size", "mu", "standardise", "ddof"),
    "experiment_2": ("mu", "n_features", "n_relevant", "cluster_size", "standardise", "ddof"),
    "experiment_3": ("n_features", "standardise", "ddof"),
    "experiment_4": (
        *("rho", "n_features", "n_relevant", "cluster_size", "mu"),
        *("standardise", "ddof"),
    ),
}
"""Keyword arguments of each experiment's function besides `random_state`.

A configuration is checked against them where NumPy, and so the functions, may be absent.
"""


def select_settings(names: Iterable[str]) -> list[Setting]:
    """List the settings that are asked for, each once, in the order of the paper.

    The names are those of experiments (all their settings), or ``experiment/setting``.

    Examples
    --------
    >>> [setting.name for setting in select_settings(["experiment_4", "experiment_3/p25"])]
    ['p25', 'rho0.1', 'rho0.3']
    """
    names = list(names)
    known = {f"{setting.experiment}/{setting.name}" for setting in PAPER_SETTINGS}
    known |= {setting.experiment for setting in PAPER_SETTINGS}
    for name in names:
        if name not in known:
            raise ValueError(f"experiments: {name!r} should be one of {sorted(known)}.")
    return [
        setting
        for setting in PAPER_SETTINGS
        if {setting.experiment, f"{setting.experiment}/{setting.name}"} & set(names)
    ]


def get_setting(experiment: str, name: str) -> Setting:
    """Look one setting up; a ValueError lists those there are."""
    return select_settings([f"{experiment}/{name}"])[0]
