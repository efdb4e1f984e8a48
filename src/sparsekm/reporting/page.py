"""The content of the page, in the form the template asks for: no computing is left to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sparsekm.reporting.anatomy_view import AnatomyView, view_anatomy
from sparsekm.reporting.enrichment_view import EnrichmentView, view_enrichment
from sparsekm.reporting.figures import CaptionedFigure
from sparsekm.reporting.gene_view import GeneView, view_genes
from sparsekm.reporting.results import DatasetResult
from sparsekm.reporting.run_facts import data_source
from sparsekm.reporting.slice_figure import region_colors
from sparsekm.reporting.summary import summarise_dataset
from sparsekm.reporting.table_view import TableView, format_count, view_table
from sparsekm.reporting.tables import nouns, region_table, verdict_table


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
    regions: TableView | None
    anatomy: AnatomyView | None
    genes: GeneView
    enrichment: EnrichmentView | None


def view_dataset(
    result: DatasetResult, figures: Sequence[CaptionedFigure], chosen: Sequence[int] = ()
) -> DatasetView:
    """Prepare one data set's part of the page; `chosen` are the rows of the genes of interest."""
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
            corner="verdict",
            simulated=dict.fromkeys(verdicts.columns, result.is_simulated),
        ),
        regions=region_table(result, region_colors(result)) if result.is_atlas else None,
        anatomy=view_anatomy(result, f"{result.name}/contingency.csv"),
        genes=view_genes(result, chosen, f"{result.name}/genes.csv"),
        enrichment=view_enrichment(result, f"{result.name}/enrichment.csv"),
    )
