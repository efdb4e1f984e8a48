"""The table of genes on the page: its columns, titles and links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sparsekm.reporting.results import DatasetResult
from sparsekm.reporting.table_view import Cell, Column, TableView
from sparsekm.reporting.tables import nouns

TOP_GENES = 25
MOST_SAMPLES = 20_000
LONGEST_TEXT = 72
"""Characters of a name, or of terms, shown in a cell; the search and the file use all of them."""
LINKS = "links"
_PAGES = {
    "Allen": ("gene_id", "https://developingmouse.brain-map.org/gene/show/{}"),
    "NCBI": ("entrez_id", "https://www.ncbi.nlm.nih.gov/gene/{}"),
}
_TITLES = {
    "entrez_id": "Entrez id",
    "relevant": "planted",
    "planted_kind": "planted kind",
    "highest_cluster": "highest in cluster",
    "effect_cluster": "effect there",
    "lead_cluster": "lead there",
    "effect_label": "effect there",
    "lead_label": "lead there",
}
_WIDE = ("name", "terms")
_SYMBOLS = (("_l0", " ℓ₀"), ("_l1", " ℓ₁"), ("_sparse", " sparse"), ("_kmeans", " k-means"))


@dataclass(frozen=True)
class GeneView:
    """The table of genes."""

    noun: str  # the word for genes, in the plural
    top: TableView  # the highest-ranked genes
    chosen: TableView  # the genes of interest
    data: dict[str, Any]  # all columns and rows, for the script of the page
    file: str


def view_genes(result: DatasetResult, chosen: Sequence[int], file: str) -> GeneView:
    """Prepare the table of genes, with those of interest; the whole table is in `file`."""
    genes = result.genes
    names = list(genes.columns)
    pages = _pages(result)
    shown = _shown(result)
    places = {name: names.index(name) for name in shown}
    rows = [[_plain(value) for value in row] for row in genes.itertuples(index=False)]
    columns = [
        Column(_title(name, result), kind="wide" if name in _WIDE else "text") for name in shown
    ]
    columns += [Column(LINKS, kind="text")] if pages else []

    def view_row(row: list) -> list[Cell | list[Cell]]:
        cells = [Cell(_write(row[at], name in _WIDE)) for name, at in places.items()]
        links = [
            Cell(title, url=address.format(row[names.index(column)]))
            for title, (column, address) in pages.items()
            if row[names.index(column)] is not None
        ]
        return [*cells, links] if pages else cells

    def view(found: list[list], caption: str) -> TableView:
        rows = [view_row(row) for row in found]
        return TableView(caption, columns, rows, result.is_simulated, kind="genes")

    noun = nouns(result).features
    top = rows[:TOP_GENES]
    return GeneView(
        noun=noun,
        top=view(
            top,
            f"The {len(top)} highest-ranked {noun} of {result.primary.title}. Score: "
            "between-cluster sum of squares; stability: share of half-samples that keep it; "
            "selection frequency: share of resampled fits that keep it; effect: Cohen’s d; lead: "
            "distance to the mean in the next cluster. Effects and leads are optimistic, since the "
            f"clusters were found in the same data. {file} has all columns",
        ),
        chosen=view(
            [rows[at] for at in chosen],
            f"The chosen {noun}; columns as in the table of the highest ranks below",
        ),
        data={
            "columns": [_title(name, result) for name in names],
            "fields": names,
            "rows": rows,
            "shown": list(places.values()),
            "longest": LONGEST_TEXT,
            "wide": [at for name, at in places.items() if name in _WIDE],
            "links": [
                {"title": title, "column": names.index(column), "url": address}
                for title, (column, address) in pages.items()
            ],
        },
        file=file,
    )


@dataclass(frozen=True)
class SampleView:
    """The table of samples, for the script of the page."""

    data: dict[str, Any]
    file: str


def view_samples(result: DatasetResult, file: str) -> SampleView | None:
    """Prepare the table of samples; `file` has the clusters of all methods.

    Voxels have no names, and of very many samples the file alone has the clusters.
    """
    if result.is_atlas or result.n_samples > MOST_SAMPLES:
        return None
    method = result.primary
    columns: dict[str, Any] = {
        "sample": result.obs.index.astype(str),
        "cluster": method.labels,
        "reproducibility": method.reproducibility,
        "class": result.labels,
    }
    columns = {name: values for name, values in columns.items() if values is not None}
    rows = [[_plain(value) for value in row] for row in zip(*columns.values(), strict=True)]
    names = list(columns)
    data = {"columns": names, "fields": names, "rows": rows, "shown": [*range(len(names))]}
    return SampleView(data | {"longest": LONGEST_TEXT, "wide": [], "links": []}, file)


def _pages(result: DatasetResult) -> dict[str, tuple[str, str]]:
    """List the web pages about these genes; invented genes have none."""
    if result.is_simulated:
        return {}
    pages = {title: page for title, page in _PAGES.items() if page[0] in result.genes}
    if result.provenance.get("source") != "allen":
        pages.pop("Allen", None)
    return pages


def _shown(result: DatasetResult) -> list[str]:
    """Choose the columns to show, few enough for the width of a page."""
    genes = result.genes
    primary = result.primary.name
    wanted = ["symbol", "name", "verdict", f"rank_{primary}", f"score_{primary}"]
    wanted += [f"weight_{method}" for method in dict.fromkeys((primary, "l0", "l1"))]
    wanted += [f"stability_{primary}", f"selection_frequency_{primary}"]
    wanted += ["highest_cluster", "effect_cluster", "lead_cluster"]
    wanted += ["highest_label", "effect_label", "terms"]
    # The kind says more than a flag.
    wanted.append("planted_kind" if "planted_kind" in genes else "relevant")
    return [
        name for name in wanted if name in genes and not (name in _WIDE and not genes[name].any())
    ]


def _title(column: str, result: DatasetResult) -> str:
    """Write "score_l0" as "score ℓ₀"."""
    if column == "highest_label":
        return "highest in region" if result.is_atlas else "highest in class"
    if column in _TITLES:
        return _TITLES[column]
    for name, symbol in _SYMBOLS:
        column = column.replace(name, symbol)
    return column.replace("_", " ")


def _plain(value: Any) -> str | float | int | None:
    """Convert a value to a JSON type; floats keep six digits."""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if pd.isna(value):
        return None
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.6g}")
    return str(value)


def _write(plain: str | float | int | None, is_wide: bool) -> str:
    if plain is None:
        return ""
    text = str(plain)
    if is_wide and len(text) > LONGEST_TEXT:
        # Between two words, as in browser.html.
        end = text.rfind(" ", 0, LONGEST_TEXT + 1)
        return text[: end if end > 0 else LONGEST_TEXT].rstrip(" ;,") + " …"
    if not isinstance(plain, float):
        return text
    return f"{plain:.3g}" if abs(plain) < 1000 else f"{plain:.0f}"
