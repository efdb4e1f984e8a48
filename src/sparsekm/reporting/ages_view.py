"""Genes across ages as the page shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from sparsekm.reporting.age_figure import age_figure
from sparsekm.reporting.figures import CaptionedFigure, caption_figure

_NAMES_SHOWN = 15


@dataclass(frozen=True)
class AgesView:
    """The heat map, who enters and leaves, and the genes kept at every age.

    ``changes`` has a row per pair of ages: its name, and for those that enter, leave and stay
    their number and names.
    """

    sentence: str
    figure: CaptionedFigure
    changes: list[tuple[str, list[tuple[str, str]]]]
    file: str
    changes_file: str


def view_ages(
    kept: pd.DataFrame, ages: Sequence[str], changes: pd.DataFrame, *, simulated: bool
) -> AgesView:
    """Prepare what is kept from age to age.

    Parameters
    ----------
    kept, ages : DataFrame, list of str
        As `sparsekm.annotation.kept_by_age.read_ages` reads them.
    changes : DataFrame
        As `sparsekm.annotation.kept_by_age.read_changes` reads it.
    simulated : bool
        Whether the genes are invented.

    Returns
    -------
    view : AgesView
    """
    everywhere = int(((kept["n_kept"] == len(ages)) & (kept["n_analysed"] == len(ages))).sum())
    analysed = int((kept["n_analysed"] == len(ages)).sum())
    never = int((kept["n_kept"] == 0).sum())
    figure = caption_figure(
        "kept_by_age",
        "Which genes are kept at which ages",
        ("Simulated data. " if simulated else "")
        + "Left: a row per gene that some method keeps at some age, coloured by the sparse methods "
        "that keep it there; genes kept at most ages stand on top, of these those kept earliest. "
        "Right: how many genes are kept at how many ages (by ℓ₀, or by ℓ₁ where ℓ₀ was not run).",
        age_figure(kept, ages),
    )
    return AgesView(
        sentence=(
            f"Of {analysed:,} genes analysed at all {len(ages)} ages, {everywhere:,} are kept at "
            f"every one; {never:,} of all {len(kept):,} genes are kept at none."
        ),
        figure=figure,
        changes=[
            (
                f"{row['earlier']} to {row['later']}",
                [
                    (f"{row[f'n_{kind}']:,}", _shorten(row[kind]))
                    for kind in ("enter", "leave", "stay")
                ],
            )
            for row in changes.to_dict("records")
        ],
        file="genes/kept_by_age.csv",
        changes_file="genes/changes.csv",
    )


def _shorten(names: str) -> str:
    listed = names.split(";") if names else []
    more = len(listed) - _NAMES_SHOWN
    return ", ".join(listed[:_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")
