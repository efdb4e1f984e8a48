"""All figures of a data set, with their captions."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from sparsekm.figures.style import figure_pdf, figure_svg
from sparsekm.io.atomic import write_bytes, write_text
from sparsekm.reporting.component_figure import component_figure
from sparsekm.reporting.consensus_figure import consensus_figure
from sparsekm.reporting.expression_figure import expression_figure
from sparsekm.reporting.gap_figure import gap_figure
from sparsekm.reporting.genes_of_interest import top_kept
from sparsekm.reporting.results import DatasetResult
from sparsekm.reporting.score_figure import score_figure
from sparsekm.reporting.slice_figure import slice_figure
from sparsekm.reporting.tables import nouns

_GENES_DRAWN = 6


@dataclass(frozen=True)
class CaptionedFigure:
    """A figure as SVG text, ready for the page and for a file, and as PDF for a paper.

    Its name, part of the files' names, is what it shows in one word.
    """

    name: str
    title: str
    caption: str
    svg: str
    pdf: bytes

    @property
    def data_uri(self) -> str:
        """The figure as an address that needs no file beside the page."""
        return f"data:image/svg+xml;base64,{base64.b64encode(self.svg.encode()).decode()}"

    def write(self, folder: str | Path, prefix: str = "") -> None:
        """Write both formats to files of a folder, each whole or not at all."""
        write_text(self.svg, Path(folder) / f"{prefix}{self.name}.svg")
        write_bytes(self.pdf, Path(folder) / f"{prefix}{self.name}.pdf")


def caption_figure(name: str, title: str, caption: str, figure: Figure) -> CaptionedFigure:
    """Render a figure in both formats."""
    return CaptionedFigure(name, title, caption, figure_svg(figure), figure_pdf(figure))


def draw_figures(result: DatasetResult, chosen: Sequence[int] = ()) -> list[CaptionedFigure]:
    """Draw every figure of a data set; `chosen` are the rows of ``result.genes`` of interest.

    These are slices for an atlas age, or principal components for a matrix; gap curves where a
    method was tuned, and agreement where one resamples; sorted scores; the expression of single
    genes of an atlas age.
    """
    origin, features = "Simulated data. " if result.is_simulated else "", nouns(result).features
    scores = (f"Scores of the {features}, and the cut", _score_caption(result))
    curves = {
        "gap": (f"How many {features} to keep", _gap_caption(result), gap_figure(result)),
        "consensus": (
            f"How many {features} resampled fits support",
            _consensus_caption(result),
            consensus_figure(result),
        ),
        "scores": (*scores, score_figure(result)),
    }
    figures = [
        _draw_clusters(result, origin),
        *(
            caption_figure(name, title, origin + caption, figure)
            for name, (title, caption, figure) in curves.items()
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
        title = "Expression of the chosen genes and of the top kept ones"
    else:
        title = "Expression of single genes"
    return caption_figure(
        "expression",
        title,
        f"{origin}The slices of the first figure, in the same three directions. Under the symbol "
        "of a chosen gene is its verdict, under the others their rank among the kept genes, by "
        "score. Colours are standard deviations from the mean over all voxels; lines are the "
        "borders of regions.",
        expression_figure(result, [*chosen, *top], notes),
    )


def _draw_clusters(result: DatasetResult, origin: str) -> CaptionedFigure:
    if result.is_atlas:
        return caption_figure(
            "slices",
            "Clusters in the brain",
            f"{origin}Slices coloured by region (left) and by the clusters of each method. In each "
            "direction the slice that shows the most regions is drawn, all at one scale; rows name "
            "direction and position. A cluster has the colour of the region it overlaps most, in "
            "shades where several clusters share a region, and its name where there is room; thin "
            "lines are the atlas' borders, also on the clusters. Where colours or names differ "
            "from the left panel, cluster and region differ.",
            slice_figure(result),
        )
    labelled = (
        "above by their known labels, below by the clusters found. A cluster has the colour and "
        "marker of the label it overlaps most, in shades where several clusters share a label."
        if result.labels is not None
        else "by the clusters found."
    )
    grey = " Grey: no known label." if result.n_unlabelled else ""
    return caption_figure(
        "components",
        "Clusters in the kept features",
        f"{origin}Samples in the first two principal components of the features each method keeps "
        f"(scaled by the square root of their weights), coloured {labelled}{grey}",
        component_figure(result),
    )


def _gap_caption(result: DatasetResult) -> str:
    features = nouns(result).features
    text = (
        f"The gap is how far the objective lies above that of reference data without clusters, for "
        f"each sparsity s; the numbers on top are the {features} kept. The "
        "filled marker and the dashed line show the choice; the band is one standard error to "
        "either side."
    )
    if result.labels is not None and any(m.path is not None for m in result.methods.values()):
        text += (
            " Below: the classification error rate (lower is better) that each choice would have "
            "given; the dotted line is that of k-means. The choice does not use these labels."
        )
    return text


def _consensus_caption(result: DatasetResult) -> str:
    features = nouns(result).features
    return (
        f"For each number s of {features}: how well the fit agrees with fits to parts of the "
        "data (mean adjusted Rand index; bars are one standard error to either side). Filled "
        "markers are fits that agree as well as the best one; the choice among them is the fit "
        f"that keeps about as many {features} as differ between the clusters."
    )


def _score_caption(result: DatasetResult) -> str:
    features = nouns(result).features
    text = (
        f"All {features} from the highest to the lowest score aⱼ, the between-cluster sum of "
        "squares under each method's own clusters. Coloured: kept. Grey: dropped. The dashed line "
        "is the cut; the dotted line is K − 1, the score to expect of pure noise under a partition "
        f"fixed in advance. {features.capitalize()} far below it are drawn at the bottom."
    )
    if result.planted is not None:
        text += (
            " The strip marks the ranks of the planted ones: long coloured ticks are kept, short "
            "dark ones dropped."
        )
    return text
