"""The report: one HTML file that a biologist can read, and its figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from sparsekm.annotation.gene_sets import GeneSets
from sparsekm.io.atomic import write_bytes, write_text
from sparsekm.reporting.ages_section import AgesView, describe_needed, view_corresponding
from sparsekm.reporting.answer import view_answer
from sparsekm.reporting.atlas_versus_paper import PaperTables, compare_with_paper
from sparsekm.reporting.clusters import region_colors, view_anatomy, view_markers, view_regions
from sparsekm.reporting.comparison_tables import (
    compare_datasets,
    compare_methods,
    view_batches,
    view_choices,
    view_meanings,
)
from sparsekm.reporting.figures import CaptionedFigure, draw_figures
from sparsekm.reporting.gene_tables import (
    choose_genes,
    view_enrichment,
    view_genes,
    view_samples,
)
from sparsekm.reporting.methods_text import Citations, run_table, write_methods
from sparsekm.reporting.page_tables import (
    TableView,
    format_count,
    format_rate,
    nouns,
    render_page,
    score_table,
    statistics_table,
    view_table,
)
from sparsekm.reporting.results import DatasetResult, load_dataset_result

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
    ``{dataset}_{figure}.svg``, ``.png`` and ``.pdf``, to which the page links; `record` is called
    with their paths before they are written. `ages`, the comparison of ages, is a section of its
    own; with `paper`, the paper's tables are compared with ages of the real atlas.
    `genes_of_interest` are the symbols of the genes to show first, or "auto"; see
    `sparsekm.reporting.gene_tables.choose_genes`. `gene_sets` are the tested ones. Names of data
    sets must differ.
    """
    names = [result.name for result in results]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"results={names} should hold at least one data set, each name once.")
    configuration = dict(configuration or {})
    drawn, views = {}, []
    for done, result in enumerate(results, start=1):
        chosen = choose_genes(result, genes_of_interest)
        drawn[result.name] = draw_figures(result, chosen)
        settings = (configuration.get("matrices") or {}).get(result.name)
        views.append(view_dataset(result, drawn[result.name], chosen, settings))
        if progress is not None:
            progress(done, len(results))
    if ages is not None:
        ages = replace(
            ages,
            needed=describe_needed(results, _name_gene_sets(configuration)),
            clusters=view_corresponding(results),
        )
        drawn["genes"] = [ages.figure]
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
            "configuration": yaml.safe_dump(configuration, sort_keys=False, allow_unicode=True)
            if configuration
            else "",
            "statistics": _statistics(results),
            "overview": compare_datasets(results),
            "scores": _scores(results),
            "versus_paper": None if paper is None else compare_with_paper(results, paper),
            "datasets": views,
            "ages": ages,
            "methods": write_methods(results, citations, gene_sets),
            "references": citations.cited,
            "figures": Path(figures).name if figures is not None else "",
        }
    )
    write_text(html, output)


def view_dataset(
    result: DatasetResult,
    figures: Sequence[CaptionedFigure],
    chosen: Sequence[int] = (),
    settings: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Prepare the section of one data set.

    `chosen` are the rows of the genes of interest, and `settings` those of a matrix.
    """
    return {
        "name": result.name,
        "words": nouns(result),
        "anchor": f"dataset-{result.name}",
        "simulated": result.is_simulated,
        "answer": view_answer(result, settings),
        "figures": list(figures),
        "markers": view_markers(result, f"{result.name}/genes.csv"),
        "batches": view_batches(result),
        "meanings": view_meanings(result),
        "samples": view_samples(result, f"{result.name}/clusters.csv"),
        "comparison": compare_methods(result),
        "choices": view_choices(result),
        "regions": view_regions(result, region_colors(result)) if result.is_atlas else None,
        "anatomy": view_anatomy(result, f"{result.name}/contingency.csv"),
        "genes": view_genes(result, chosen, f"{result.name}/genes.csv"),
        "enrichment": view_enrichment(result, f"{result.name}/enrichment.csv"),
    }


def _name_gene_sets(configuration: Mapping[str, Any]) -> str:
    sets = (configuration.get("annotation") or {}).get("gene_sets") or {}
    if sets.get("path"):
        return Path(str(sets["path"])).name
    return "the phantom’s invented terms" if sets.get("source") == "phantom" else "gene sets"


def _statistics(results: Sequence[DatasetResult]) -> list[TableView]:
    """Make one table for atlas ages and one for matrices, since their row names differ."""
    views = []
    for is_atlas, what in ((True, "ages"), (False, "matrices")):
        group = [result for result in results if result.is_atlas == is_atlas]
        if group:
            words = nouns(group[0])
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
            (
                "cer",
                "Classification error rate: share of pairs of samples that are together in one and "
                "apart in the other; lower is better",
                format_rate,
            ),
            (
                "ari",
                "Adjusted Rand index with the known classes: 1: identical, 0: chance",
                format_rate,
            ),
            ("n_kept", "Features kept", format_count),
        )
        if (table := score_table(results, score)).notna().any(axis=None)
    ]


def _origins(results: Sequence[DatasetResult]) -> dict[str, bool]:
    return {result.name: result.is_simulated for result in results}
