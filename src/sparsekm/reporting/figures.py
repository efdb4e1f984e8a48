"""All figures of a data set, with their captions."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from sparsekm.figures.style import figure_pdf, figure_svg
from sparsekm.reporting.component_figure import MOST_POINTS, component_figure
from sparsekm.reporting.expression_figure import expression_figure
from sparsekm.reporting.gap_figure import gap_figure
from sparsekm.reporting.genes_of_interest import top_kept
from sparsekm.reporting.marker_figure import marker_figure
from sparsekm.reporting.results import DatasetResult
from sparsekm.reporting.score_figure import score_figure
from sparsekm.reporting.slice_figure import slice_figure
from sparsekm.reporting.tables import nouns

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

    These are slices for an atlas age or principal components for a matrix; gap curves of tuned
    methods and agreement curves of resampling methods; sorted scores; and, for an atlas age, the
    expression of single genes.
    """
    origin, features = "Simulated data. " if result.is_simulated else "", nouns(result).features
    scores = (f"Scores of the {features}", _score_caption(result))
    curves = {
        "gap": (f"How many {features} to keep", _gap_caption(result), gap_figure(result)),
        "scores": (*scores, score_figure(result)),
        "markers": (
            f"{features.capitalize()} that mark the clusters",
            _marker_caption(result),
            marker_figure(result),
        ),
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


def _draw_clusters(result: DatasetResult, origin: str) -> CaptionedFigure:
    if result.is_atlas:
        return caption_figure(
            "slices",
            "Clusters in the brain",
            f"{origin}Slices coloured by region (left) and by the clusters of each method. Each "
            "row shows the slice with the most regions in one direction, all at the same scale. A "
            "cluster has the colour and, where there is room, the name of the region it overlaps "
            "most; clusters that share a region have different shades of its colour. Thin lines "
            "are the borders of the atlas regions. Where colours or names differ from the left "
            "panel, cluster and region differ.",
            slice_figure(result),
        )
    labelled = (
        "by their known labels (top) and by the clusters found (bottom). A cluster has the colour "
        "and marker of the label it overlaps most; clusters that share a label have different "
        "shades of its colour."
        if result.labels is not None
        else "by the clusters found."
    )
    grey = " Grey: no known label." if result.n_unlabelled else ""
    if result.n_samples > MOST_POINTS:
        grey += f" Shown are {MOST_POINTS:,} of the {result.n_samples:,} samples, drawn at random."
    return caption_figure(
        "components",
        "Clusters in the kept features",
        f"{origin}Samples on the first two principal components of the features that each method "
        f"keeps (scaled by the square root of their weights), coloured {labelled}{grey}",
        component_figure(result),
    )


def _gap_caption(result: DatasetResult) -> str:
    features = nouns(result).features
    text = (
        "The gap at each sparsity s is the log objective minus its mean over reference data "
        f"without clusters; the top axis shows the number of {features} kept. The filled marker "
        "and the dashed line mark the chosen sparsity; the band is ± one standard error."
    )
    if result.labels is not None and any(m.path is not None for m in result.methods.values()):
        text += (
            " Bottom: the classification error rate at each sparsity (lower is better); the dotted "
            "line is that of k-means. Each is of one fit and has no standard error. The labels are "
            "not used to choose the sparsity."
        )
    return text


def _marker_caption(result: DatasetResult) -> str:
    words = nouns(result)
    title = result.primary.title
    text = (
        f"Means of {words.features} in each cluster of {title}, as differences from their means "
        f"over all {words.samples}, in units of the normalised data. Shown are the kept "
        f"{words.features} that mark each cluster best: their mean there exceeds that in every "
        "other cluster by the most. Clusters were found in the same data, so these differences are "
        "too large on average; they have no standard error."
    )
    if result.labels is not None:
        text += f" Beside each cluster: the one of the {words.labels} that it overlaps most."
    return text


def _score_caption(result: DatasetResult) -> str:
    features = nouns(result).features
    text = (
        f"All {features} sorted by score aⱼ, the between-cluster sum of squares for each method's "
        "own clusters. Coloured: kept; grey: dropped. The dashed line separates kept from dropped; "
        "the dotted line is K − 1, the expected score of noise under a fixed partition. "
        f"{features.capitalize()} with far lower scores are drawn at the bottom. Scores are of one "
        "fit and have no standard error."
    )
    if result.planted is not None:
        text += (
            f" The strip shows the ranks of the planted {features}: long coloured ticks are kept, "
            "short dark ticks dropped."
        )
    return text
