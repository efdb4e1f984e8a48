"""All figures about the theorems, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from sparsekm.figures.style import figure_pdf, figure_svg
from sparsekm.io.atomic import write_bytes, write_text
from sparsekm.studies.theory.bound_figure import bound_caption, bound_figure
from sparsekm.studies.theory.phase_captions import condition_caption, recovery_caption
from sparsekm.studies.theory.phase_figure import condition_figure, recovery_figure
from sparsekm.studies.theory.plane import Plane
from sparsekm.studies.theory.score_figure import score_caption, score_figure

# Relevant features in the paper's Experiment 2.
RELEVANT_IN_PAPER = 50


def draw_theory(
    *,
    scores: pd.DataFrame,
    partitions: pd.DataFrame,
    bounds: pd.DataFrame,
    recovery: Sequence[pd.DataFrame],
    settings: Mapping[str, Any],
) -> dict[str, tuple[Figure, str]]:
    """Draw every figure, and return it with its caption by name.

    `recovery` has a table per plane of the settings, in their order. `settings` are what the tables
    were made with: expected_scores, partitions, support (planes, n_init) and conditions (planes,
    cells).
    """
    support, chosen = settings["support"], settings["expected_scores"]
    planes = [Plane.named(name, values) for name, values in support["planes"].items()]
    conditions = settings["conditions"]
    wide = [
        Plane.named(name, values).spanned(conditions["cells"])
        for name, values in conditions["planes"].items()
    ]
    return {
        "expected_scores": (
            score_figure(scores, 3),
            score_caption(scores, chosen["mu"], chosen["cluster_size"], chosen["n_features"]),
        ),
        "partition_bound": (
            bound_figure(partitions, bounds, RELEVANT_IN_PAPER),
            bound_caption(partitions, bounds, RELEVANT_IN_PAPER),
        ),
        "support_recovery": (
            recovery_figure(list(zip(planes, recovery, strict=True))),
            recovery_caption(planes, recovery[0], support["n_init"]),
        ),
        "recovery_conditions": (condition_figure(wide), condition_caption(wide)),
    }


def write_figure(folder: Path, name: str, figure: Figure, caption: str) -> None:
    """Write a figure as SVG and PDF, and its caption as text, each whole or not at all."""
    write_text(figure_svg(figure), folder / f"{name}.svg")
    write_bytes(figure_pdf(figure), folder / f"{name}.pdf")
    write_text(caption, folder / f"{name}.txt")
