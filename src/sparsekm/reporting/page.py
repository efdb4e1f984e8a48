"""The content of the page, in the form the template asks for: no computing is left to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from sparsekm.reporting.figures import CaptionedFigure
from sparsekm.reporting.results import DatasetResult
from sparsekm.reporting.run_facts import data_source
from sparsekm.reporting.slice_figure import region_colors
from sparsekm.reporting.summary import summarise_dataset
from sparsekm.reporting.tables import nouns, region_table, verdict_table

TOP_GENES = 25
_MISSING = "–"
_COLUMN_TITLES = {"entrez_id": "Entrez id", "relevant": "planted"}


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
    gene_noun: str
    gene_columns: list[str]
    top_genes: list[list[str]]
    gene_data: dict[str, list]
    genes_file: str = field(default="genes.csv")


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
    result: DatasetResult, figures: Sequence[CaptionedFigure], genes_file: str = "genes.csv"
) -> DatasetView:
    """Prepare one data set's part of the page.

    Parameters
    ----------
    result : DatasetResult
    figures : sequence of CaptionedFigure
    genes_file : str
        Where the full table of features stands, as the reader would look for it.

    Returns
    -------
    view : DatasetView
    """
    verdicts = verdict_table(result)
    genes = _readable_columns(result.genes)
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
        gene_noun=words.features,
        gene_columns=[_title_column(column) for column in genes.columns],
        top_genes=[
            [_write_value(value) for value in row]
            for row in genes.head(TOP_GENES).itertuples(index=False)
        ],
        gene_data={
            "columns": [_title_column(column) for column in genes.columns],
            "rows": [[_plain(value) for value in row] for row in genes.itertuples(index=False)],
        },
        genes_file=genes_file,
    )


def _readable_columns(genes: pd.DataFrame) -> pd.DataFrame:
    """Leave out what a reader of the page does not look for: it stands in the file."""
    hidden = ["gene_id"] + [
        column
        for column in genes.columns
        if column.startswith("weight_") and (genes[column] == 1).all()
    ]
    return genes.drop(columns=hidden, errors="ignore")


def _title_column(column: str) -> str:
    """Write "score_l0" as "score ℓ₀"."""
    if column in _COLUMN_TITLES:
        return _COLUMN_TITLES[column]
    for name, symbol in (("_l0", " ℓ₀"), ("_l1", " ℓ₁"), ("_kmeans", " k-means")):
        column = column.replace(name, symbol)
    return column.replace("_", " ")


def _plain(value: Any) -> str | float | int | None:
    """Turn a value into one that JSON knows; floats keep six digits."""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if pd.isna(value):
        return None
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.6g}")
    return str(value)


def _write_value(value: Any) -> str:
    plain = _plain(value)
    if plain is None:
        return ""
    return f"{plain:.4g}" if isinstance(plain, float) else str(plain)
