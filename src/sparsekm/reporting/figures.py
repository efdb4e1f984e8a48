"""All figures of a data set, with their captions."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from sparsekm.figures.sample_heat_map import MOST_COLUMNS
from sparsekm.figures.style import figure_pdf, figure_svg
from sparsekm.reporting.answer_figure import MOST_POINTS, answer_figure, shown_features
from sparsekm.reporting.brain_figures import expression_figure, slice_figure
from sparsekm.reporting.curve_figures import gap_figure, score_figure
from sparsekm.reporting.gene_tables import top_kept
from sparsekm.reporting.page_tables import nouns
from sparsekm.reporting.results import DatasetResult

_GENES_DRAWN = 6


@dataclass(frozen=True)
class CaptionedFigure:
    """A figure as SVG text for the page and as PDF; `name` is part of the names of its files."""

    name: str
    title: str
    caption: str
    svg: str
    pdf: bytes

    @property
    def is_answer(self) -> bool:
        """Whether the figure shows the answer itself, and is not folded away."""
        return self.name in ("answer", "slices")

    @property
    def data_uri(self) -> str:
        """The figure as a data URI, so that the page needs no other file."""
        return f"data:image/svg+xml;base64,{base64.b64encode(self.svg.encode()).decode()}"

    def files(self, folder: str | Path, prefix: str = "") -> dict[Path, bytes]:
        """Return both formats under the paths of their files in a folder."""
        file = Path(folder) / f"{prefix}{self.name}"
        return {
            file.with_name(f"{file.name}.svg"): self.svg.encode(),
            file.with_name(f"{file.name}.pdf"): self.pdf,
        }


def caption_figure(name: str, title: str, caption: str, figure: Figure) -> CaptionedFigure:
    """Render a figure in both formats."""
    return CaptionedFigure(name, title, caption, figure_svg(figure), figure_pdf(figure))


def draw_figures(result: DatasetResult, chosen: Sequence[int] = ()) -> list[CaptionedFigure]:
    """Draw every figure of a data set; `chosen` are the rows of ``result.genes`` of interest.

    The clusters first: a heat map of samples and features beside a scatter, and for an atlas age
    also slices. Then gap curves of tuned methods, sorted scores, and for an atlas age the
    expression of single genes.
    """
    origin, features = "Simulated data. " if result.is_simulated else "", nouns(result).features
    curves = {
        "gap": (f"How many {features} the gap statistic keeps", _gap_caption, gap_figure(result)),
        "scores": (f"Scores of all {features}", _score_caption, score_figure(result)),
    }
    figures = [
        _draw_slices(result, origin) if result.is_atlas else None,
        _draw_answer(result, origin),
        *(
            caption_figure(name, title, origin + write(result), figure)
            for name, (title, write, figure) in curves.items()
            if figure is not None
        ),
        _draw_expression(result, chosen, origin),
    ]
    return [figure for figure in figures if figure is not None]


def _draw_expression(
    result: DatasetResult, chosen: Sequence[int], origin: str
) -> CaptionedFigure | None:
    top = top_kept(result, _GENES_DRAWN - len(chosen), without=chosen)
    if not result.is_atlas or result.normalised is None or not [*chosen, *top]:
        return None
    verdicts = result.genes.get("verdict")
    notes = ["chosen" if verdicts is None else verdicts.iloc[row] for row in chosen]
    notes += [f"rank {place}" for place in range(1, len(top) + 1)]
    if top and chosen:
        title = "Expression of the chosen genes and of the highest-ranked kept genes"
    else:
        title = "Expression of single genes"
    return caption_figure(
        "expression",
        title,
        f"{origin}The same slices as in the first figure. Below the symbol of a chosen gene is its "
        "verdict; below the others is their rank by score among the kept genes. Colours show "
        "standard deviations from the mean over all voxels; lines are the borders of regions.",
        expression_figure(result, [*chosen, *top], notes),
    )


def _draw_slices(result: DatasetResult, origin: str) -> CaptionedFigure:
    return caption_figure(
        "slices",
        "Clusters in the brain",
        f"{origin}Slices coloured by region (left) and by the clusters of each method, at the same "
        "scale. A cluster has the colour and, where there is room, the name of the region it "
        "overlaps most; clusters that share a region have shades of its colour. Lines are the "
        "borders of the regions.",
        slice_figure(result),
    )


def _draw_answer(result: DatasetResult, origin: str) -> CaptionedFigure | None:
    if result.normalised is None:
        return None
    words, n_shown, n_kept = nouns(result), len(shown_features(result)), result.primary.n_kept
    which = f"the {n_kept}" if n_shown == n_kept else f"{n_shown} of the {n_kept:,}"
    text = (
        f"{origin}{words.samples.capitalize()} (columns, by cluster) and {which} {words.features} "
        f"kept (rows, by the cluster that they mark)"
    )
    if result.n_samples > MOST_COLUMNS:
        text += f"; columns are means of several {words.samples}"
    text += "."
    if result.primary.reproducibility is not None:
        text += " Darker is more reproducible."
    if not result.is_atlas:
        text += (
            f" Right: {words.samples} on the first two principal components of the "
            f"{words.features} kept"
        )
        if result.n_samples > MOST_POINTS:
            text += f", {MOST_POINTS:,} drawn at random"
        text += "."
    return caption_figure("answer", "The clusters", text, answer_figure(result))


def _gap_caption(result: DatasetResult) -> str:
    features = nouns(result).features
    text = (
        "The gap at each sparsity s is the log objective minus its mean over reference data "
        f"without clusters (band: ± one standard error); the top axis shows the number of "
        f"{features} kept. Filled marker: the chosen sparsity."
    )
    if result.labels is not None and any(m.path is not None for m in result.methods.values()):
        text += (
            " Bottom: the classification error rate at each sparsity, which is not used to choose "
            "it; dotted: k-means."
        )
    return text


def _score_caption(result: DatasetResult) -> str:
    features = nouns(result).features
    text = (
        f"All {features} sorted by score aⱼ, their between-cluster sum of squares. Coloured: kept. "
        "Dotted: K − 1, the expected score of noise under a fixed partition."
    )
    if result.planted is not None:
        text += (
            f" The strip shows the planted {features}: long coloured ticks are kept, short dark "
            "ticks dropped."
        )
    return text
