"""The content of the page, in the form the template asks for: no computing is left to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from sparsekm.reporting.anatomy_view import AnatomyView, view_anatomy
from sparsekm.reporting.enrichment_view import EnrichmentView, view_enrichment
from sparsekm.reporting.figures import CaptionedFigure
from sparsekm.reporting.gene_view import GeneView, view_genes
from sparsekm.reporting.results import DatasetResult
from sparsekm.reporting.run_facts import data_source
from sparsekm.reporting.slice_figure import region_colors
from sparsekm.reporting.summary import summarise_dataset
from sparsekm.reporting.tables import nouns, region_table, verdict_table

_MISSING = "–"


@dataclass(frozen=True)
class Cell:
    """A number as text, and whether it is the best of its column."""

    text: str
    best: bool = False


@dataclass(frozen=True)
class TableView:
    """A table of numbers: a header per column, a name per row.

    Attributes
    ----------
    caption : str
    columns : list of (str, bool)
        Name, and whether the column alone is to be marked as simulated.
    rows : list of (str, list of Cell)
    simulated : bool
        Whether the table as a whole is: then no column is marked.
    """

    caption: str
    columns: list[tuple[str, bool]]
    rows: list[tuple[str, list[Cell]]]
    simulated: bool = False


@dataclass(frozen=True)
class DatasetView:
    """One data set's part of the page."""

    name: str
    anchor: str
    simulated: bool
    source: str
    sentences: list[str]
    figures: list[CaptionedFigure]
    verdicts: TableView | None
    regions: list[dict[str, Any]]
    anatomy: AnatomyView | None
    genes: GeneView
    enrichment: EnrichmentView | None


def format_rate(value: float) -> str:
    """Write a rate with four decimals, as the paper does."""
    return _MISSING if pd.isna(value) else f"{value:.4f}"


def format_count(value: object) -> str:
    """Write a count with separators."""
    return _MISSING if pd.isna(value) else f"{int(value):,}"


def view_table(
    table: pd.DataFrame,
    caption: str,
    *,
    write: Callable[[Any], str],
    simulated: Mapping[str, bool] | None = None,
    mark_lowest: bool = False,
) -> TableView:
    """Turn a table of numbers into text.

    Parameters
    ----------
    table : DataFrame
    caption : str
    write : callable
        Turns a value into text.
    simulated : mapping of column to bool, optional
    mark_lowest : bool, default False
        Mark the lowest value of every column, ties included.

    Returns
    -------
    view : TableView
    """
    simulated = simulated or {}
    throughout = all(simulated.get(column, False) for column in table.columns)
    lowest = {
        # A single method is not the best of anything.
        column: write(table[column].min()) if mark_lowest and table[column].count() > 1 else None
        for column in table.columns
    }
    rows = []
    for name, row in table.iterrows():
        texts = {column: write(row[column]) for column in table.columns}
        # Texts are compared, so that numbers that look the same are marked the same.
        cells = [Cell(text, best=text == lowest[column]) for column, text in texts.items()]
        rows.append((str(name), cells))
    columns = [
        (str(column), bool(simulated.get(column, False)) and not throughout)
        for column in table.columns
    ]
    return TableView(caption, columns, rows, simulated=throughout)


def view_dataset(
    result: DatasetResult, figures: Sequence[CaptionedFigure], chosen: Sequence[int] = ()
) -> DatasetView:
    """Prepare one data set's part of the page.

    Parameters
    ----------
    result : DatasetResult
    figures : sequence of CaptionedFigure
    chosen : sequence of int
        Positions of the genes of interest in ``result.genes``.

    Returns
    -------
    view : DatasetView
    """
    verdicts = verdict_table(result)
    words = nouns(result)
    return DatasetView(
        name=result.name,
        anchor=f"dataset-{result.name}",
        simulated=result.is_simulated,
        source=data_source(result),
        sentences=summarise_dataset(result),
        figures=list(figures),
        verdicts=None
        if verdicts is None
        else view_table(
            verdicts,
            f"How many {words.features} each sparse method keeps",
            write=format_count,
            simulated=dict.fromkeys(verdicts.columns, result.is_simulated),
        ),
        regions=region_table(result, region_colors(result)) if result.is_atlas else [],
        anatomy=view_anatomy(result, f"{result.name}/contingency.csv"),
        genes=view_genes(result, chosen, f"{result.name}/genes.csv"),
        enrichment=view_enrichment(result, f"{result.name}/enrichment.csv"),
    )
