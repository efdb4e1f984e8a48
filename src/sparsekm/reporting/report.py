"""The report: one HTML file that a biologist can read, its figures, and its methods section."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from sparsekm.annotation.gene_sets import GeneSets
from sparsekm.cluster.sparsity_path import ChosenFit
from sparsekm.io.atomic import write_bytes
from sparsekm.pipeline.registry import METHODS, get_method
from sparsekm.reporting import (
    cluster_numbers,
    clusters,
    comparison_tables,
    each_cluster,
    feature_pictures,
    gene_tables,
    sample_map,
)
from sparsekm.reporting.figures import draw_figures
from sparsekm.reporting.page import TEMPLATES, WORDS, joined, render_page, write_text
from sparsekm.reporting.results import DatasetResult, load_dataset_result
from sparsekm.runtime.forks import share_among_processes
from sparsekm.tuning.separation import LEVEL

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
    ages: Callable[[], Mapping[str, Any]] | None = None,
    gene_sets: GeneSets | None = None,
    n_processes: int = 1,
    progress: Any = None,
) -> None:
    """Write the report on some data sets atomically, in the order of `results`.

    The HTML file `output` needs no other file and no network. `configuration` is shown as YAML. The
    folder `figures` receives every figure as ``{dataset}_{figure}.svg``, ``.png`` and ``.pdf``, to
    which the page links; `record` is called with their paths before they are written. `ages` is a
    function that calls `view_ages`, and `paper` is a table from `read_paper_tables`.
    `genes_of_interest` are passed to `choose_genes`; `gene_sets` are the sets that were tested. The
    work is divided among `n_processes`.
    """
    configuration = dict(configuration or {})
    matrices = configuration.get("matrices") or {}

    def view(result: DatasetResult) -> dict[str, Any]:
        chosen = gene_tables.choose_genes(result, genes_of_interest)
        figures = draw_figures(result, chosen)
        return _view_dataset(result, figures, chosen, matrices.get(result.name))

    parts: list[Any] = [partial(view, result) for result in results] + [ages] * (ages is not None)
    views = []
    for shown in share_among_processes(lambda make: make(), parts, n_processes):
        views.append(shown)
        if progress is not None:
            progress(len(views), len(parts))
    of_ages = None if ages is None else views.pop()
    drawn = {shown["name"]: shown["figures"] for shown in views}
    if of_ages is not None:
        drawn["genes"] = [of_ages["figure"]]
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
        "configuration": configuration
        and yaml.safe_dump(configuration, sort_keys=False, allow_unicode=True),
        "statistics": comparison_tables.view_statistics(results),
        "overview": comparison_tables.compare_datasets(results),
        "scores": comparison_tables.compare_methods(results),
        "versus_paper": comparison_tables.compare_with_paper(results, paper),
        "datasets": views,
        "ages": of_ages,
        "methods": write_methods(results, citations, gene_sets),
        "references": citations.cited,
        "figures": Path(figures).name if figures is not None else "",
    }
    write_bytes(render_page(content).encode(), output)


def _view_dataset(
    result: DatasetResult, figures: Sequence, chosen: Sequence[int], settings: Mapping | None
) -> dict[str, Any]:
    """Prepare the section of one data set; `settings` are those of a matrix."""
    genes = gene_tables.view_genes(result, chosen)
    listed = [row[0] for row in genes["data"]["rows"]]
    return {
        "name": result.name,
        "words": result.words,
        "anchor": f"dataset-{result.name}",
        "simulated": result.is_simulated,
        "answer": clusters.view_answer(result, settings),
        "figures": figures,
        "markers": clusters.view_markers(result),
        "candidates": cluster_numbers.view_candidates(result),
        "each_cluster": each_cluster.view_each_cluster(result),
        "neighbours": each_cluster.view_neighbours(result),
        "meanings": clusters.view_meanings(result),
        "samples": gene_tables.view_samples(result),
        "comparison": comparison_tables.compare_methods([result]),
        "choices": comparison_tables.view_choices(result),
        "map": sample_map.view_map(result),
        "special": sample_map.view_special(result),
        "genes": genes,
        "distributions": feature_pictures.view_distributions(result, listed),
        "enrichment": gene_tables.view_enrichment(result),
    }


def _read_literature() -> dict[str, dict[str, str]]:
    """Read the text of every work that may be cited, with its DOI if it has one."""
    with (TEMPLATES / "literature.csv").open(encoding="utf-8", newline="") as opened:
        works = {row["key"]: row for row in csv.DictReader(opened)}
    own = [method for method in METHODS.values() if method.reference]
    return works | {method.name: {"text": method.reference, "doi": method.doi} for method in own}


LITERATURE = _read_literature()


class Citations(dict[str, str]):
    """The numbers in brackets of works in `LITERATURE`, in the order of their first citation."""

    def __missing__(self, key: str) -> str:
        if key not in LITERATURE:
            raise KeyError(f"key={key!r} should be one of {', '.join(LITERATURE)}.")
        return self.setdefault(key, f"[{len(self) + 1}]")

    @property
    def cited(self) -> list[dict[str, str]]:
        """The references cited so far, in order."""
        return [LITERATURE[key] for key in self]


def distinct(values: Iterable[Any]) -> list[Any]:
    """Keep each value once, in order, leaving out None."""
    return list(dict.fromkeys(value for value in values if value is not None))


def attribute(methods: Iterable[ChosenFit], name: str) -> list[Any]:
    """List the distinct values of an attribute or parameter over fits."""
    return distinct(
        method.attributes.get(name, dict(method.attributes.get("parameters", {})).get(name))
        for method in methods
    )


def write_methods(
    results: Sequence[DatasetResult], citations: Citations, sets: GeneSets | None = None
) -> list[str]:
    """Write the methods section: a paragraph each for data, methods, tuning, measures and so on.

    It states only what the files record; a parameter that no file contains is left out.
    """
    every = [method for result in results for method in result.methods.values()]
    columns = set().union(*(result.genes.columns for result in results))
    enriched = [r.enrichment for r in results if r.enrichment is not None and len(r.enrichment)]
    grouped = [result.name for result in results if "group" in result.obs]
    tested = [r.name for r in results if any(m.separation is not None for m in r.methods.values())]
    restarted = [get_method(method.name) for method in every if method.seeds is not None]
    text = write_text(
        "methods.html",
        words=WORDS,
        described=[own.text for own in METHODS.values() if own.name in {m.name for m in every}],
        cite=citations.__getitem__,
        fill=lambda text: text.format_map(citations),
        results=results,
        normalisations=_normalisations(results),
        # The restarts of k-means do not search over features.
        searches=distinct(
            WORDS["searches"].get(name, name)
            for method in every
            for name in attribute([method], "search")
            if name != "alternate" or get_method(method.name).penalty is not None
        ),
        used=lambda name: attribute(every, name),
        every=every,
        rules=[WORDS["rules"].get(rule, rule) for rule in attribute(every, "rule")],
        drawn=[
            f"{number:,} of the {result.n_samples:,} samples of {result.name}"
            for result in results
            for number in attribute(result.methods.values(), "n_tuned")
        ],
        by_region=any(_settings(result).get("fill") == "region_mean" for result in results),
        maximising=distinct(look.title for look in restarted if look.maximises),
        tested=tested,
        level=LEVEL,
        numbers=distinct(joined(r.counts["n_clusters"]) for r in results if r.counts is not None),
        stable=any(column.startswith("stability_") for column in columns),
        in_space=any(r.spatial is not None and r.name not in grouped for r in results),
        grouped=grouped,
        columns=columns,
        enriched=[table["n_term"].tolist() for table in enriched],
        is_go=any(table["term"].str.startswith("GO:").any() for table in enriched),
        mapped=any(table["p_spatial"].notna().any() for table in enriched),
        sets=sets,
        versions=_versions(every),
    )
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]


def _settings(result: DatasetResult) -> Mapping[str, Any]:
    value = result.provenance.get("normalisation")
    return value if isinstance(value, Mapping) else {}


def _normalisations(results: Sequence[DatasetResult]) -> dict[str, list[str]]:
    """Describe how data were normalised, each way with the data sets concerned."""
    found: dict[str, list[str]] = {}
    for result in results:
        value, settings = result.provenance.get("normalisation"), _settings(result)
        steps = [WORDS["normalisations"].get(value, value)] if isinstance(value, str) else []
        steps += [
            f"{what} with {float(settings[limit]):.0%} or more missing values are dropped"
            for limit, what in WORDS["screened"].items()
            if limit in settings
        ]
        steps += [
            names.get(str(settings[step]), f"{step}: {settings[step]}")
            for step, names in WORDS["atlas_steps"].items()
            if step in settings
        ]
        if steps:
            found.setdefault("; ".join(filter(None, steps)), []).append(result.name)
    return found


def _versions(methods: Sequence[ChosenFit]) -> str:
    """Name the packages that made the fits with their versions, all if there are several."""
    found: dict[str, dict[str, None]] = {}
    for method in methods:
        for name, number in method.attributes.get("versions", {}).items():
            found.setdefault(name, {})[number] = None
    return ", ".join(f"{name} {joined(numbers)}" for name, numbers in found.items())
