"""All figures of a data set, with their captions."""

from __future__ import annotations

import base64
from dataclasses import dataclass

from sparsekm.reporting.component_figure import component_figure
from sparsekm.reporting.gap_figure import gap_figure
from sparsekm.reporting.results import DatasetResult
from sparsekm.reporting.score_figure import score_figure
from sparsekm.reporting.slice_figure import slice_figure
from sparsekm.reporting.style import figure_svg
from sparsekm.reporting.tables import nouns


@dataclass(frozen=True)
class CaptionedFigure:
    """A figure as SVG text, ready for the page and for a file.

    Attributes
    ----------
    name : str
        What it shows in one word; part of the file's name.
    title, caption : str
    svg : str
    """

    name: str
    title: str
    caption: str
    svg: str

    @property
    def data_uri(self) -> str:
        """The figure as an address that needs no file beside the page."""
        return f"data:image/svg+xml;base64,{base64.b64encode(self.svg.encode()).decode()}"


def draw_figures(result: DatasetResult) -> list[CaptionedFigure]:
    """Draw every figure of a data set.

    Parameters
    ----------
    result : DatasetResult

    Returns
    -------
    figures : list of CaptionedFigure
        Slices for an atlas age, or principal components for a matrix; gap curves where a method
        was tuned; sorted scores.
    """
    origin = "Simulated data. " if result.is_simulated else ""
    figures = [_draw_clusters(result, origin)]
    gap = gap_figure(result, nouns(result).features)
    if gap is not None:
        figures.append(
            CaptionedFigure(
                "gap",
                f"How many {nouns(result).features} to keep",
                origin + _gap_caption(result),
                figure_svg(gap),
            )
        )
    figures.append(
        CaptionedFigure(
            "scores",
            f"Scores of the {nouns(result).features}, and the cut",
            origin + _score_caption(result),
            figure_svg(score_figure(result, nouns(result).features)),
        )
    )
    return figures


def _draw_clusters(result: DatasetResult, origin: str) -> CaptionedFigure:
    if result.is_atlas:
        return CaptionedFigure(
            "slices",
            "Clusters in the brain",
            f"{origin}Slices coloured by region (left) and by the clusters of each method. In each "
            "direction the slice that shows the most regions is drawn, all at one scale; rows name "
            "direction and position. A cluster has the colour of the region it overlaps most, in "
            "shades where several clusters share a region; thin lines are the atlas' borders, also "
            "on the clusters. Where colours differ from the left panel, cluster and region differ.",
            figure_svg(slice_figure(result)),
        )
    labelled = (
        "above by their known labels, below by the clusters found. A cluster has the colour and "
        "marker of the label it overlaps most, in shades where several clusters share a label."
        if result.labels is not None
        else "by the clusters found."
    )
    return CaptionedFigure(
        "components",
        "Clusters in the kept features",
        f"{origin}Samples in the first two principal components of the features each method keeps "
        f"(scaled by the square root of their weights), coloured {labelled}",
        figure_svg(component_figure(result)),
    )


def _gap_caption(result: DatasetResult) -> str:
    features = nouns(result).features
    text = (
        f"The gap says how far the objective lies above what reference data without clusters would "
        f"give, for each sparsity s; the numbers on top say how many {features} that keeps. The "
        "filled marker and the dashed line show the choice; the band is one standard error to "
        "either side."
    )
    if result.labels is not None and any(m.path is not None for m in result.methods.values()):
        text += (
            " Below: the classification error rate (lower is better) that each choice would have "
            "given, and dotted that of k-means. It is shown for judgement; the choice does not use "
            "it."
        )
    return text


def _score_caption(result: DatasetResult) -> str:
    features = nouns(result).features
    text = (
        f"All {features} from the highest to the lowest score aⱼ, the between-cluster sum of "
        "squares under each method's own clusters. Coloured: kept. Grey: dropped. The dashed line "
        "is the cut; the dotted line is K − 1, the score to expect of pure noise under a partition "
        f"fixed in advance. {features.capitalize()} far below it stand at the foot."
    )
    if result.planted is not None:
        text += (
            " The strip marks the ranks of the planted ones: long coloured ticks are kept, short "
            "dark ones dropped."
        )
    return text
