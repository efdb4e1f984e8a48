"""The report: one HTML file that a biologist can read, and its figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from sparsekm.annotation.gene_sets import GeneSets
from sparsekm.io.atomic import write_bytes, write_text
from sparsekm.reporting.ages_view import AgesView
from sparsekm.reporting.anatomy_view import AnatomyView, view_anatomy
from sparsekm.reporting.atlas_versus_paper import PaperTables, compare_with_paper
from sparsekm.reporting.chosen_across_ages import describe_needed, view_chosen
from sparsekm.reporting.cluster_markers import view_markers
from sparsekm.reporting.clusters_across_ages import view_corresponding
from sparsekm.reporting.enrichment_view import EnrichmentView, view_enrichment
from sparsekm.reporting.figures import CaptionedFigure, draw_figures
from sparsekm.reporting.gene_view import GeneView, view_genes
from sparsekm.reporting.genes_of_interest import choose_genes
from sparsekm.reporting.html import render_page
from sparsekm.reporting.literature import Citations
from sparsekm.reporting.methods_text import write_methods
from sparsekm.reporting.region_view import view_regions
from sparsekm.reporting.results import DatasetResult, load_dataset_result
from sparsekm.reporting.run_facts import data_source, describe_errors, run_table
from sparsekm.reporting.slice_figure import region_colors
from sparsekm.reporting.summary import summarise_dataset, summarise_run
from sparsekm.reporting.table_view import TableView, format_count, format_rate, view_table
from sparsekm.reporting.tables import (
    ATLAS_NOUNS,
    MATRIX_NOUNS,
    nouns,
    score_table,
    spread_table,
    statistics_table,
    verdict_table,
)

__all__ = ["load_dataset_result", "write_report"]

DEFAULT_TITLE = "Sparse k-means: clusters and the features that make them"


def write_report(
    results: Sequence[DatasetResult],
    output: str | Path,
    *,
    title: str = DEFAULT_TITLE,
    configuration: Mapping[str, Any] | None = None,
    figures: str | Path | None = None,
    record: Callable[[Iterable[Path]], object] = list,
    paper: PaperTables | None = None,
    genes_of_interest: Sequence[str] | str = "auto",
    ages: AgesView | None = None,
    gene_sets: GeneSets | None = None,
    progress: Any = None,
) -> None:
    """Write the report on some data sets atomically, in the order of `results`.

    The HTML file `output` needs no other file and no network. `configuration` is shown as YAML, so
    that the run can be repeated. The folder `figures` receives every figure as
    ``{dataset}_{figure}.svg`` and ``.pdf``; `record` is called with their paths before they are
    written. `ages`, the comparison of ages, is a section of its own; with `paper`, the paper's
    tables are compared with ages of the real atlas. `genes_of_interest` are the symbols of the
    genes to show first, or "auto"; see `sparsekm.reporting.genes_of_interest`. `gene_sets` are the
    tested ones. Names of data sets must differ.
    """
    names = [result.name for result in results]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"results={names} should hold at least one data set, each name once.")
    drawn, views, of_interest = {}, [], {}
    for done, result in enumerate(results, start=1):
        chosen = of_interest[result.name] = choose_genes(result, genes_of_interest)
        drawn[result.name] = draw_figures(result, chosen)
        views.append(view_dataset(result, drawn[result.name], chosen))
        if progress is not None:
            progress(done, len(results))
    if ages is not None:
        ages = replace(
            ages,
            chosen=view_chosen(results, of_interest),
            needed=describe_needed(results, _name_gene_sets(configuration)),
            clusters=view_corresponding(results),
        )
        drawn["genes"] = list(filter(None, [ages.figure, ages.chosen]))
    if figures is not None:
        files = {
            file: content
            for name, those in drawn.items()
            for figure in those
            for file, content in figure.files(figures, f"{name}_").items()
        }
        record(files)
        for file, content in files.items():
            write_bytes(content, file)
    citations = Citations()
    html = render_page(
        {
            "title": title,
            "simulated": [result.name for result in results if result.is_simulated],
            "all_simulated": all(result.is_simulated for result in results),
            "summary": summarise_run(results),
            "run": run_table(results),
            "configuration": _as_yaml(configuration),
            "statistics": _statistics(results),
            "scores": _scores(results),
            "versus_paper": None if paper is None else compare_with_paper(results, paper),
            "datasets": views,
            "ages": ages,
            "methods": write_methods(results, citations, gene_sets),
            "references": citations.cited,
        }
    )
    write_text(html, output)


def _name_gene_sets(configuration: Mapping[str, Any] | None) -> str:
    sets = ((configuration or {}).get("annotation") or {}).get("gene_sets") or {}
    if sets.get("path"):
        return Path(str(sets["path"])).name
    return "the phantom’s invented terms" if sets.get("source") == "phantom" else "gene sets"


def _as_yaml(configuration: Mapping[str, Any] | None) -> str:
    if not configuration:
        return ""
    return yaml.safe_dump(dict(configuration), sort_keys=False, allow_unicode=True)


def _statistics(results: Sequence[DatasetResult]) -> list[TableView]:
    """Make one table for atlas ages and one for matrices, since their row names differ."""
    views = []
    for is_atlas, words, what in (
        (True, ATLAS_NOUNS, "ages"),
        (False, MATRIX_NOUNS, "matrices"),
    ):
        group = [result for result in results if result.is_atlas == is_atlas]
        if group:
            caption = (
                f"Statistics of the {what}: {words.features}, {words.samples}, {words.labels}. "
                "These are counts and have no error"
            )
            table = statistics_table(group)
            views.append(view_table(table, caption, write=format_count, simulated=_origins(group)))
    return views


def _scores(results: Sequence[DatasetResult]) -> list[TableView]:
    origins, errors = _origins(results), describe_errors(results)
    return [
        view_table(
            table,
            f"{caption}; {errors}",
            write=write,
            corner="method",
            simulated=origins,
            notes=spread_table(results, score, write),
        )
        for score, caption, write in (
            (
                "cer",
                "CER: classification error rate against the known labels, lower is better",
                format_rate,
            ),
            ("cer_chance", "CER of chance: that of random clusters of the same sizes", format_rate),
            (
                "ari",
                "ARI: adjusted Rand index, the CER corrected for chance: 1 for the known labels "
                "themselves, 0 on average for random clusters of the same sizes",
                format_rate,
            ),
            (
                "ami",
                "AMI: adjusted mutual information, on the same scale; small classes weigh more "
                "than in the ARI",
                format_rate,
            ),
            ("n_kept", "NW: number of features kept (weights other than 0)", format_count),
        )
        if (table := score_table(results, score)).notna().any(axis=None)
    ]


def _origins(results: Sequence[DatasetResult]) -> dict[str, bool]:
    return {result.name: result.is_simulated for result in results}


@dataclass(frozen=True)
class DatasetView:
    """The section of one data set on the page."""

    name: str
    anchor: str
    simulated: bool
    source: str
    sentences: list[str]
    figures: list[CaptionedFigure]
    verdicts: TableView | None
    regions: TableView | None
    markers: TableView | None
    anatomy: AnatomyView | None
    genes: GeneView
    enrichment: EnrichmentView | None


def view_dataset(
    result: DatasetResult, figures: Sequence[CaptionedFigure], chosen: Sequence[int] = ()
) -> DatasetView:
    """Prepare the section of one data set; `chosen` are the rows of the genes of interest."""
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
            f"How many {words.features} each sparse method keeps; counts are of one fit and have "
            "no standard error",
            write=format_count,
            corner="verdict",
            simulated=dict.fromkeys(verdicts.columns, result.is_simulated),
        ),
        regions=view_regions(result, region_colors(result)) if result.is_atlas else None,
        markers=view_markers(result, f"{result.name}/genes.csv"),
        anatomy=view_anatomy(result, f"{result.name}/contingency.csv"),
        genes=view_genes(result, chosen, f"{result.name}/genes.csv"),
        enrichment=view_enrichment(result, f"{result.name}/enrichment.csv"),
    )
