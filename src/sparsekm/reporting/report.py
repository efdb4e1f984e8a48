"""The report: one HTML file that a biologist can read, and its figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from sparsekm.annotation.gene_sets import GeneSets
from sparsekm.io.atomic import write_bytes, write_text
from sparsekm.reporting import clusters, comparison_tables, gene_tables
from sparsekm.reporting.figures import CaptionedFigure, draw_figures
from sparsekm.reporting.methods_text import Citations, name_sources, write_methods
from sparsekm.reporting.page_tables import render_page
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
    paper: pd.DataFrame | None = None,
    genes_of_interest: Sequence[str] | str = "auto",
    ages: Mapping[str, Any] | None = None,
    gene_sets: GeneSets | None = None,
    progress: Any = None,
) -> None:
    """Write the report on some data sets atomically, in the order of `results`.

    The HTML file `output` needs no other file and no network. `configuration` is shown as YAML. The
    folder `figures` receives every figure as ``{dataset}_{figure}.svg``, ``.png`` and ``.pdf``, to
    which the page links; `record` is called with their paths before they are written. `ages` is
    made by `view_ages`; with `paper`, its tables are compared with ages of the real atlas.
    `genes_of_interest` are symbols or "auto", see `sparsekm.reporting.gene_tables.choose_genes`.
    `gene_sets` are the tested ones. Names of data sets must differ.
    """
    names = [result.name for result in results]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"results={names} should hold at least one data set, each name once.")
    configuration = dict(configuration or {})
    drawn, views = {}, []
    for done, result in enumerate(results, start=1):
        chosen = gene_tables.choose_genes(result, genes_of_interest)
        drawn[result.name] = draw_figures(result, chosen)
        settings = (configuration.get("matrices") or {}).get(result.name)
        views.append(view_dataset(result, drawn[result.name], chosen, settings))
        if progress is not None:
            progress(done, len(results))
    if ages is not None:
        drawn["genes"] = [ages["figure"]]
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
    content = {
        "title": title,
        "all_simulated": all(result.is_simulated for result in results),
        "sources": name_sources(results),
        "configuration": yaml.safe_dump(configuration, sort_keys=False, allow_unicode=True)
        if configuration
        else "",
        "statistics": comparison_tables.view_statistics(results),
        "overview": comparison_tables.compare_datasets(results),
        "scores": comparison_tables.compare_methods(results),
        "versus_paper": None
        if paper is None
        else comparison_tables.compare_with_paper(results, paper),
        "datasets": views,
        "ages": ages,
        "methods": write_methods(results, citations, gene_sets),
        "references": citations.cited,
        "figures": Path(figures).name if figures is not None else "",
    }
    write_text(render_page(content), output)


def view_dataset(
    result: DatasetResult,
    figures: Sequence[CaptionedFigure],
    chosen: Sequence[int] = (),
    settings: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Prepare the section of one data set; `settings` are those of a matrix."""
    return {
        "name": result.name,
        "words": result.words,
        "anchor": f"dataset-{result.name}",
        "simulated": result.is_simulated,
        "answer": clusters.view_answer(result, settings),
        "figures": list(figures),
        "markers": clusters.view_markers(result),
        "batches": clusters.view_batches(result),
        "meanings": clusters.view_meanings(result),
        "samples": gene_tables.view_samples(result),
        "comparison": comparison_tables.compare_methods([result]),
        "choices": comparison_tables.view_choices(result),
        "anatomy": clusters.view_anatomy(result),
        "genes": gene_tables.view_genes(result, chosen),
        "enrichment": gene_tables.view_enrichment(result),
    }
