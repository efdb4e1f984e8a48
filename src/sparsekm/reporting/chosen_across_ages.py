"""The genes of interest across ages: one figure, and what the data say of "needed everywhere"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sparsekm.figures.style import figure_style, new_figure
from sparsekm.reporting.brain_slices import PLANES, richest_slice
from sparsekm.reporting.expression_figure import draw_gene, find_feature
from sparsekm.reporting.figures import CaptionedFigure, caption_figure
from sparsekm.reporting.results import DatasetResult
from sparsekm.reporting.run_facts import joined

_MOST_GENES = 3
_PANEL = 1.3  # inches
_EVERYWHERE = "needed everywhere|housekeeping"
"""How terms are named whose genes are needed in all cells."""


def view_chosen(
    results: Sequence[DatasetResult], chosen: Mapping[str, Sequence[int]]
) -> CaptionedFigure | None:
    """Draw the chosen genes at every age of the atlas; None if fewer than two ages have one.

    `chosen` are rows of ``result.genes`` by data set. The genes are those of the first age that has
    any, so that a row of the figure is one gene.
    """
    ages = [result for result in results if result.is_atlas and result.normalised is not None]
    found = [(age, chosen[age.name]) for age in ages if chosen.get(age.name)]
    if len(ages) < 2 or not found:
        return None
    first, rows = found[0]
    symbols = [str(first.genes["symbol"].iloc[row]) for row in rows][:_MOST_GENES]
    simulated = "Simulated data. " if any(age.is_simulated for age in ages) else ""
    return caption_figure(
        "chosen_by_age",
        "The chosen genes across ages",
        f"{simulated}Expression on the sagittal slice with the most regions, which differs between "
        "ages; slices are drawn at the same width, not at the same scale. Below each is the "
        "verdict on the gene at that age. Colours show standard deviations from the mean over all "
        "voxels of the age; lines are the borders of regions. Empty: the gene was not analysed.",
        chosen_figure(ages, symbols),
    )


def chosen_figure(ages: Sequence[DatasetResult], symbols: Sequence[str]) -> Figure:
    """Draw a row for each gene and a column for each age."""
    with figure_style():
        figure = new_figure(_PANEL * len(ages) + 1.1, (_PANEL + 0.2) * len(symbols) + 0.3)
        grid = figure.subplots(len(symbols), len(ages), squeeze=False)
        image = None
        for column, age in zip(grid.T, ages, strict=True):
            column[0].set_title(age.name)
            image = _draw_age(column, age, symbols) or image
        for axes, symbol in zip(grid[:, 0], symbols, strict=True):
            axes.set_ylabel(symbol)
        if image is not None:
            bar = figure.colorbar(image, ax=grid, shrink=0.7, aspect=20, extend="both")
            bar.set_label("expression (z-score)")
            bar.outline.set_linewidth(0.4)
    return figure


def _draw_age(column: Sequence[Axes], age: DatasetResult, symbols: Sequence[str]):
    regions = age.obs["region"].astype(str).to_numpy(dtype=object)
    codes = np.unique(regions, return_inverse=True)[1]
    piece = richest_slice(age.obs, age.spatial, codes, PLANES[0])
    height, width = piece.size_mm
    verdicts = dict(_verdicts(age))
    image = None
    for axes, symbol in zip(column, symbols, strict=True):
        axes.set(xlim=(0, width), ylim=(height, 0), aspect="equal", xticks=[], yticks=[])
        axes.spines[:].set_visible(False)
        if symbol in verdicts:
            values = age.read_features([find_feature(age, symbol)])[:, 0]
            image = draw_gene(axes, piece, values, codes)
            axes.set_xlabel(verdicts[symbol], fontsize=7)
    return image


def _verdicts(age: DatasetResult) -> pd.Series:
    genes = age.genes.set_index(age.genes["symbol"].astype(str))
    return genes["verdict"] if "verdict" in genes else genes.iloc[:, 0].map(lambda _: "")


def describe_needed(results: Sequence[DatasetResult], source: str) -> str:
    """Say how many genes are dropped of those that a gene set calls needed everywhere.

    `source` names the gene sets, whose tests are those of ``result.enrichment``. Where the real
    atlas was tested without such a set, a source is named that has one.
    """
    ages = [result for result in results if result.is_atlas and "verdict" in result.genes]
    found = [(age, line) for age in ages for line in _everywhere(age)]
    if found:
        names = joined(sorted({f"“{line.name}”" for _, line in found}))
        parts = [
            f"{age.name} {line.n_shared:,} of {line.n_term:,} (of all genes "
            f"{line.n_group / line.n_analysed:.0%}; q = {line.q_value:.2g})"
            for age, line in found
        ]
        return f"Dropped of the genes with the term {names} ({source}): {'; '.join(parts)}."
    if not ages or any(age.is_simulated for age in ages):
        return ""
    return (
        "The paper takes Scn4b for a gene that is needed everywhere because of the function of its "
        "protein. No gene set tested here lists such genes, nor does the Gene Ontology; the HRT "
        "Atlas lists the housekeeping genes of the mouse (Hounkpe et al., Nucleic Acids Research "
        "49:D947, 2021, doi:10.1093/nar/gkaa609), and annotation.gene_sets takes them as a .gmt."
    )


def _everywhere(age: DatasetResult) -> list:
    """Give the tests, among the genes dropped, of terms for genes that all cells need."""
    table = age.enrichment
    if table is None:
        return []
    named = table["name"].astype(str).str.contains(_EVERYWHERE, case=False)
    return list(table[named & (table["group"] == "dropped")].itertuples(index=False))
