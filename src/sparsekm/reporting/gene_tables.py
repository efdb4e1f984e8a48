"""Tables of features and samples for the page, chosen genes, and over-represented terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from sparsekm.annotation.enrichment import GROUPS
from sparsekm.atlas.phantom.genes import NEEDED_EVERYWHERE
from sparsekm.reporting.page_tables import (
    Cell,
    Column,
    caption,
    make_table,
    name_some,
    write_text,
)
from sparsekm.reporting.results import DatasetResult

ATLAS_GENES = ("Scn4b", "Neurog1")
"""The paper's examples: a channel subunit needed everywhere and a marker."""


def choose_genes(result: DatasetResult, wanted: Sequence[str] | str = "auto") -> list[int]:
    """Find the rows of ``result.genes`` of the genes of interest, in the order wanted.

    Missing symbols are skipped, and the asterisk at the end of some symbols of the atlas may be
    omitted. "auto" means the paper's examples in the real atlas; in the phantom, the first
    housekeeping gene with the term for genes needed everywhere (or else the first housekeeping
    gene) and the first marker.
    """
    genes = result.genes
    if wanted == "auto":
        wanted = ATLAS_GENES if result.source == "allen" else _first_of_kinds(genes)
    symbols = genes["symbol"].astype(str)
    found = [
        symbols.index[(symbols == name) | (symbols.str.rstrip("*") == name)] for name in wanted
    ]
    return list(dict.fromkeys(int(row) for rows in found for row in rows[:1]))


def _first_of_kinds(genes: pd.DataFrame) -> list[str]:
    if "planted_kind" not in genes:
        return []
    needed = genes[genes["planted_kind"] == "housekeeping"]
    if "terms" in genes:
        # Some follow the pattern of the whole tissue and so are not equally high everywhere.
        even = needed[needed["terms"].str.contains(NEEDED_EVERYWHERE, regex=False)]
        needed = needed if even.empty else even
    markers = genes[genes["planted_kind"] == "marker"]
    if "relevant" in genes:
        # It may be a marker at other ages only.
        markers = markers[markers["relevant"].astype(bool)]
    return [name for group in (needed, markers) for name in sorted(group["symbol"].astype(str))[:1]]


def top_kept(result: DatasetResult, n_genes: int, without: Sequence[int] = ()) -> list[int]:
    """Find the rows of the kept genes with the highest scores, at most `n_genes`."""
    table, method = result.genes.drop(index=list(without)), result.primary.name
    kept = table.loc[table[f"weight_{method}"] != 0, f"rank_{method}"]
    return [int(row) for row in kept.sort_values(kind="stable").index[:n_genes]]


MOST_FEATURES = 4000
"""Rows of features on the page, the highest ranks; the file has all."""
MOST_SAMPLES = 20_000
_PAGES = {
    "Allen": ("gene_id", "https://developingmouse.brain-map.org/gene/show/{}"),
    "NCBI": ("entrez_id", "https://www.ncbi.nlm.nih.gov/gene/{}"),
}
_TITLES = {
    "entrez_id": "Entrez id",
    "relevant": "planted",
    "highest_cluster": "highest in cluster",
    "effect_cluster": "effect there",
    "lead_cluster": "lead there",
    "effect_label": "effect there",
    "lead_label": "lead there",
}
_WIDE = ("name", "terms")
_SYMBOLS = (("_l0", " ℓ₀"), ("_l1", " ℓ₁"), ("_kmeans", " k-means"), ("_", " "))


def _browse(
    table: pd.DataFrame, titles: Sequence[str], file: str, title: str, hint: str, **more: Any
) -> dict[str, Any]:
    """Prepare a table that the script of the page sorts and searches; `file` has all of it."""
    data = {
        "columns": list(titles),
        "fields": list(table),
        "rows": [[_plain(value) for value in row] for row in table.itertuples(index=False)],
        "shown": [*range(table.shape[1])],
        "wide": [],
        "links": [],
    }
    return {"title": title, "hint": hint, "file": file, "data": data | more}


def view_genes(result: DatasetResult, chosen: Sequence[int]) -> dict[str, Any]:
    """Prepare the table of the genes of interest, if any, and a browser of the highest ranks."""
    genes, noun = result.genes, result.words.features
    names, shown, pages = list(genes), _shown(result), _pages(result)
    titles = [_title(name, result) for name in names]
    title = f"All {len(genes):,} {noun}: search and sort"
    if len(genes) > MOST_FEATURES:
        title = f"The {MOST_FEATURES:,} highest-ranked of {len(genes):,} {noun}: search and sort"
    browser = _browse(
        genes.iloc[:MOST_FEATURES],
        titles,
        f"{result.name}/genes.csv",
        title,
        "symbol, name, term or verdict",
        shown=[names.index(name) for name in shown],
        wide=[names.index(name) for name in shown if name in _WIDE],
        links=[
            {"title": page, "column": names.index(column), "url": address}
            for page, (column, address) in pages.items()
        ],
    )
    columns = [
        Column(_title(name, result), kind="wide" if name in _WIDE else "text") for name in shown
    ]
    columns += [Column("links", kind="text")] if pages else []
    rows = []
    for gene in genes.iloc[list(chosen)].to_dict("records"):
        links = [
            Cell(page, url=address.format(gene[column]))
            for page, (column, address) in pages.items()
            if pd.notna(gene[column])
        ]
        cells = [_short(_plain(gene[name])) for name in shown]
        rows.append([*cells, links] if pages else cells)
    table = make_table(f"The chosen {noun}", columns, rows, result.is_simulated, kind="genes")
    return {"chosen": table, "browser": browser}


def view_samples(result: DatasetResult) -> dict[str, Any] | None:
    """Prepare the table of samples; a file has the clusters of all methods.

    Voxels have no names, and of very many samples the file alone has the clusters.
    """
    if result.is_atlas or result.n_samples > MOST_SAMPLES:
        return None
    columns: dict[str, Any] = {
        "sample": result.obs.index.astype(str),
        "cluster": result.primary.labels,
        "reproducibility": result.primary.reproducibility,
        "class": result.labels,
        **{name: values.to_numpy() for name, values in result.annotations.items()},
    }
    table = pd.DataFrame({name: of for name, of in columns.items() if of is not None}, dtype=object)
    title = f"All {len(table):,} samples with their clusters: search and sort"
    file = f"{result.name}/clusters.csv"
    return _browse(table, list(table), file, title, "sample, cluster or class")


def _pages(result: DatasetResult) -> dict[str, tuple[str, str]]:
    """List the web pages about these genes; invented genes have none."""
    return {
        title: page
        for title, page in _PAGES.items()
        if page[0] in result.genes
        and not result.is_simulated
        and (title != "Allen" or result.source == "allen")
    }


def _shown(result: DatasetResult) -> list[str]:
    """Choose the columns to show, few enough for the width of a page."""
    genes, primary = result.genes, result.primary.name
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
        return f"highest in {result.words.label}"
    if column in _TITLES:
        return _TITLES[column]
    for name, symbol in _SYMBOLS:
        column = column.replace(name, symbol)
    return column


def _plain(value: Any) -> str | float | int | None:
    """Convert a value to a JSON type; floats keep six digits."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if pd.isna(value):
        return None
    if isinstance(value, int | np.integer):
        return int(value)
    return float(f"{value:.6g}") if isinstance(value, float | np.floating) else str(value)


def _short(plain: str | float | int | None) -> str | int | None:
    """Shorten a number as the script of the page does."""
    if not isinstance(plain, float):
        return "" if plain is None else plain
    return f"{plain:.3g}" if abs(plain) < 1000 else f"{plain:.0f}"


LEVEL = 0.05
"""False discovery rate up to which a term counts as over-represented."""
MOST_TERMS = 12
_GENES_NAMED = 12
_TERM_PAGE = "https://www.ebi.ac.uk/QuickGO/term/{}"
_GROUP_TITLES = {"only l1": "kept by ℓ₁ alone"}


def view_enrichment(result: DatasetResult) -> dict[str, Any] | None:
    """Tell of every group, and list the terms found up to a false discovery rate, if any."""
    table, words = result.enrichment, result.words
    if table is None or table.empty:
        return None
    table = table[table["group"].isin(GROUPS)]
    table = table.assign(group=table["group"].replace(_GROUP_TITLES))
    found = table[table["q_value"] <= LEVEL]
    groups = table.groupby("group", sort=False).agg(
        size=("n_group", "first"), smallest=("q_value", "min")
    )
    groups["n_found"] = found["group"].value_counts().reindex(groups.index, fill_value=0)
    in_space = bool(table["p_spatial"].notna().any())
    text = write_text(
        "enrichment_text.html",
        n_terms=table["term"].nunique(),
        n_analysed=int(table["n_analysed"].iloc[0]),
        features=words.features,
        groups=list(groups.itertuples()),
        found=list(found[found["p_spatial"].notna()].itertuples()),
        level=LEVEL,
        most=MOST_TERMS,
    )
    chances = ["p_value", "q_value", *(["p_spatial"] if in_space else [])]
    shown = found.groupby("group", sort=False).head(MOST_TERMS)
    heads = [words.features, "term", "name", "in group", "expected", "fold", "p", "q"]
    heads += [*(["p in space"] if in_space else []), "which"]
    terms = make_table(
        caption("terms", level=LEVEL),
        {head: "wide" if head in ("name", "which") else "text" for head in heads},
        (_row(test, chances, result) for test in shown.to_dict("records")),
        result.is_simulated,
        kind="genes terms",
    )
    return {"sentences": text.split("\n"), "terms": terms}


def _row(test: Mapping[str, Any], chances: list[str], result: DatasetResult) -> list[str | Cell]:
    is_real = test["term"].startswith("GO:") and not result.is_simulated
    return [
        test["group"],
        Cell(test["term"], url=_TERM_PAGE.format(test["term"]) if is_real else ""),
        test["name"],
        f"{test['n_shared']} of {test['n_term']}",
        f"{test['expected']:.1f}",
        f"{test['fold']:.1f}",
        *("" if pd.isna(test[name]) else f"{test[name]:.2g}" for name in chances),
        name_some(test["genes"].split(";"), _GENES_NAMED),
    ]
