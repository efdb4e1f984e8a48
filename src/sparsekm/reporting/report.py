"""The report: one HTML file that a biologist can read, and its figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from sparsekm.annotation.gene_sets import GeneSets
from sparsekm.io.atomic import write_bytes, write_text
from sparsekm.reporting.ages_section import (
    AgesView,
    describe_needed,
    view_chosen,
    view_corresponding,
)
from sparsekm.reporting.answer import AnswerView, agreements, view_answer
from sparsekm.reporting.atlas_versus_paper import PaperTables, compare_with_paper
from sparsekm.reporting.cluster_colors import region_colors
from sparsekm.reporting.cluster_tables import AnatomyView, view_anatomy, view_markers, view_regions
from sparsekm.reporting.figures import CaptionedFigure, draw_figures
from sparsekm.reporting.gene_tables import (
    EnrichmentView,
    GeneView,
    SampleView,
    choose_genes,
    view_enrichment,
    view_genes,
    view_samples,
)
from sparsekm.reporting.literature import Citations
from sparsekm.reporting.methods_text import write_methods
from sparsekm.reporting.page_tables import (
    ATLAS_NOUNS,
    MATRIX_NOUNS,
    MISSING,
    Cell,
    Column,
    TableView,
    format_count,
    format_rate,
    nouns,
    render_page,
    score_table,
    statistics_table,
    view_table,
    write_range,
)
from sparsekm.reporting.results import DatasetResult, load_dataset_result
from sparsekm.reporting.run_facts import run_table

__all__ = ["load_dataset_result", "write_report"]

_CER = "share of pairs of samples that are together in one and apart in the other; lower is better"
_ARI = "1: identical, 0: chance"
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
        settings = ((configuration or {}).get("matrices") or {}).get(result.name)
        views.append(view_dataset(result, drawn[result.name], chosen, settings))
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
            "all_simulated": all(result.is_simulated for result in results),
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
            caption = f"Sizes of the {what}: {words.features}, {words.samples}, {words.labels}"
            table = statistics_table(group)
            views.append(view_table(table, caption, write=format_count, simulated=_origins(group)))
    return views


def _scores(results: Sequence[DatasetResult]) -> list[TableView]:
    """Compare methods over data sets, if there are several."""
    if len(results) < 2:
        return []
    return [
        view_table(table, caption, write=write, corner="method", simulated=_origins(results))
        for score, caption, write in (
            ("cer", f"Classification error rate: {_CER}", format_rate),
            ("ari", f"Adjusted Rand index with the known classes: {_ARI}", format_rate),
            ("n_kept", "Features kept", format_count),
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
    answer: AnswerView
    figures: list[CaptionedFigure]
    markers: TableView | None
    samples: SampleView | None
    comparison: TableView
    counts: TableView | None
    regions: TableView | None
    anatomy: AnatomyView | None
    genes: GeneView
    enrichment: EnrichmentView | None


def view_dataset(
    result: DatasetResult,
    figures: Sequence[CaptionedFigure],
    chosen: Sequence[int] = (),
    settings: Mapping[str, Any] | None = None,
) -> DatasetView:
    """Prepare the section of one data set.

    `chosen` are the rows of the genes of interest, and `settings` those of a matrix.
    """
    return DatasetView(
        name=result.name,
        anchor=f"dataset-{result.name}",
        simulated=result.is_simulated,
        answer=view_answer(result, settings),
        figures=list(figures),
        markers=view_markers(result, f"{result.name}/genes.csv"),
        samples=view_samples(result, f"{result.name}/clusters.csv"),
        comparison=_compare_methods(result),
        counts=_view_counts(result),
        regions=view_regions(result, region_colors(result)) if result.is_atlas else None,
        anatomy=view_anatomy(result, f"{result.name}/contingency.csv"),
        genes=view_genes(result, chosen, f"{result.name}/genes.csv"),
        enrichment=view_enrichment(result, f"{result.name}/enrichment.csv"),
    )


def _compare_methods(result: DatasetResult) -> TableView:
    """Make a row for each method, the answer first."""
    answer, others = result.primary, agreements(result)
    rates = {"CER": "cer", "chance": "cer_chance", "ARI": "ari", "AMI": "ami"}
    known = {title: name for title, name in rates.items() if answer.metrics.get(name) is not None}
    known = {t: n for t, n in known.items() if getattr(answer, n) is not None}
    rows = []
    for name in (answer.name, *others):
        method = result.methods[name]
        agreement = "the answer" if name == answer.name else f"{others[name]:.2f}"
        seeds = MISSING
        if method.seeds is not None:
            seeds = write_range(method.seeds["agreement"].iloc[1:], "{:.2f}".format)
        numbers = [format_rate(getattr(method, score)) for score in known.values()]
        cells = [method.title, agreement, seeds, format_count(method.n_kept), *numbers]
        rows.append([Cell(text) for text in cells])
    heads = ("method", "agreement with the answer", "agreement over seeds", "kept", *known)
    caption = (
        f"Agreement: adjusted Rand index (1: identical, 0: chance). Kept: {nouns(result).features}"
    )
    if known:
        caption += (
            f". With the {nouns(result).labels}: CER, the share of pairs of "
            f"{nouns(result).samples} that are together in one and apart in the other; chance, the "
            "CER of random clusters of these sizes; ARI and AMI, agreement and mutual information "
            "corrected for chance"
        )
    return TableView(caption, [Column(head) for head in heads], rows, result.is_simulated)


def _view_counts(result: DatasetResult) -> TableView | None:
    """Show, for every number of clusters tried, how many groups stand apart and which."""
    if result.counts is None:
        return None
    rows = []
    for row in result.counts.itertuples():
        joined_to: dict[str, list[str]] = {}
        for cluster, group in enumerate(str(row.groups).split("-")):
            joined_to.setdefault(group, []).append(str(cluster))
        tree = " | ".join(" + ".join(members) for members in joined_to.values())
        cells = [f"{row.n_clusters}" + (" (chosen)" if row.chosen else "")]
        cells += [str(row.n_groups), f"{row.reproducibility:.2f}", tree]
        rows.append([Cell(text) for text in cells])
    caption = (
        "Clusters tried, groups of them that stand apart, agreement of fits to nine tenths of the "
        f"{nouns(result).samples} (1: identical, 0: chance), and which clusters touch (+)"
    )
    columns = [Column("clusters"), Column("groups"), Column("reproducibility")]
    columns.append(Column("joined", kind="text"))
    return TableView(caption, columns, rows, result.is_simulated)
