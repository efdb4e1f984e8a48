"""All figures of a data set, with their captions."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from sparsekm.figures.sample_heat_map import MOST_COLUMNS
from sparsekm.figures.style import figure_pdf, figure_png, figure_svg
from sparsekm.reporting.answer_figure import (
    MOST_POINTS,
    answer_figure,
    column_titles,
    point_titles,
    shown_features,
    uses_umap,
)
from sparsekm.reporting.brain_figures import expression_figure, slice_figure
from sparsekm.reporting.choice_figures import (
    consensus_figure,
    count_figure,
    gap_figure,
    score_figure,
)
from sparsekm.reporting.gene_tables import top_kept
from sparsekm.reporting.page_tables import nouns, write_text
from sparsekm.reporting.results import DatasetResult

_GENES_DRAWN = 6


@dataclass(frozen=True)
class CaptionedFigure:
    """A figure as SVG text for the page, as PNG and as PDF; `name` is part of its files' names."""

    name: str
    title: str
    caption: str
    svg: str
    png: bytes
    pdf: bytes

    @property
    def is_answer(self) -> bool:
        """Whether the figure shows the answer itself, and is not folded away."""
        return self.name in ("answer", "slices")

    @property
    def inline(self) -> str:
        """The figure as an element of the page, in which a pointer shows the titles of samples."""
        return re.sub(r"^.*?(?=<svg)|<metadata>.*?</metadata>", "", self.svg, flags=re.DOTALL)

    @property
    def data_uri(self) -> str:
        """The figure as a data URI, so that the page needs no other file."""
        return f"data:image/svg+xml;base64,{base64.b64encode(self.svg.encode()).decode()}"

    def files(self, folder: str | Path, prefix: str = "") -> dict[Path, bytes]:
        """Return all formats under the paths of their files in a folder."""
        formats = {"svg": self.svg.encode(), "png": self.png, "pdf": self.pdf}
        return {Path(folder) / f"{prefix}{self.name}.{kind}": c for kind, c in formats.items()}


def caption_figure(
    name: str,
    title: str,
    caption: str,
    figure: Figure,
    titles: Mapping[str, Sequence[str]] | None = None,
) -> CaptionedFigure:
    """Render a figure in all formats; for `titles` see `sparsekm.figures.style.figure_svg`."""
    caption = re.sub("[ \n]+", " ", caption)
    svg = figure_svg(figure, titles or {})
    return CaptionedFigure(name, title, caption, svg, figure_png(figure), figure_pdf(figure))


def draw_figures(result: DatasetResult, chosen: Sequence[int] = ()) -> list[CaptionedFigure]:
    """Draw every figure of a data set; `chosen` are the rows of ``result.genes`` of interest.

    The clusters first: a heat map of samples and features beside a scatter, and for an atlas age
    also slices. Then how their number was chosen, the consensus, gap curves of tuned methods,
    sorted scores, and for an atlas age the expression of single genes.
    """
    words, has_data = nouns(result), result.normalised is not None
    drawn = {
        "slices": ("Clusters in the brain", slice_figure(result) if result.is_atlas else None),
        "answer": ("The clusters", answer_figure(result) if has_data else None),
        "count": ("How many groups stand apart", count_figure(result)),
        "consensus": ("How often two samples are together", consensus_figure(result)),
        "gap": (f"How many {words.features} the gap statistic keeps", gap_figure(result)),
        "scores": (f"Scores of all {words.features}", score_figure(result)),
        "expression": ("Expression of single genes", _draw_expression(result, chosen)),
    }
    facts = {
        "result": result,
        "words": words,
        "n_shown": len(shown_features(result)),
        "n_kept": result.primary.n_kept,
        "most_columns": MOST_COLUMNS,
        "most_points": MOST_POINTS,
        "has_umap": uses_umap(result),
    }
    figures = []
    for name, (title, figure) in drawn.items():
        if figure is not None:
            caption = write_text("captions.html", name=name, **facts)
            titles = {}
            if name == "answer":
                titles = {"columns": column_titles(result), **point_titles(result)}
            figures.append(caption_figure(name, title, caption, figure, titles))
    return figures


def _draw_expression(result: DatasetResult, chosen: Sequence[int]) -> Figure | None:
    top = top_kept(result, _GENES_DRAWN - len(chosen), without=chosen)
    if not result.is_atlas or result.normalised is None or not [*chosen, *top]:
        return None
    verdicts = result.genes.get("verdict")
    notes = ["chosen" if verdicts is None else verdicts.iloc[row] for row in chosen]
    notes += [f"rank {place}" for place in range(1, len(top) + 1)]
    return expression_figure(result, [*chosen, *top], notes)
