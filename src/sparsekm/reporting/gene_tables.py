"""Tables of features and samples for the page, chosen genes, and over-represented terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sparsekm.annotation.enrichment import GROUPS
from sparsekm.atlas.phantom.genes import NEEDED_EVERYWHERE
from sparsekm.reporting.page_tables import (
    Cell,
    Column,
    TableView,
    make_table,
    name_some,
    nouns,
    write_text,
)
from sparsekm.reporting.results import DatasetResult

ATLAS_GENES = ("Scn4b", "Neurog1")
"""The paper's examples: a channel subunit needed everywhere and a marker."""
_PHANTOM_KINDS = ("housekeeping", "marker")


def choose_genes(result: DatasetResult, wanted: Sequence[str] | str = "auto") -> list[int]:
    """Find the rows of ``result.genes`` of the genes of interest, in the order wanted.

    Missing symbols are skipped, and the asterisk at the end of some symbols of the atlas may be
    omitted. "auto" means the paper's examples in the real atlas; in the phantom, the first
    housekeeping gene with the term for genes needed everywhere (or else the first housekeeping
    gene) and the first marker.
    """
    genes = result.genes
    if wanted == "auto":
        if result.source == "allen":
            wanted = ATLAS_GENES
        elif "planted_kind" in genes:
            wanted = _first_of_kinds(genes)
        else:
            wanted = ()
    symbols = genes["symbol"].astype(str)
    bare = symbols.str.rstrip("*")
    rows = []
    for symbol in wanted:
        found = symbols.index[(symbols == symbol) | (bare == symbol)]
        rows += [int(row) for row in found[:1] if int(row) not in rows]
    return rows


def _first_of_kinds(genes: pd.DataFrame) -> list[str]:
    chosen = []
    for kind in _PHANTOM_KINDS:
        group = genes[genes["planted_kind"] == kind]
        if kind == "marker" and "relevant" in genes:
            # It may be a marker at other ages only.
            group = group[group["relevant"].astype(str) == "True"]
        elif kind == "housekeeping" and "terms" in genes:
            # Some follow the pattern of the whole tissue and so are not equally high everywhere.
            even = group[group["terms"].str.contains(NEEDED_EVERYWHERE, regex=False)]
            group = group if even.empty else even
        chosen += sorted(group["symbol"].astype(str))[:1]
    return chosen


def top_kept(result: DatasetResult, n_genes: int, without: Sequence[int] = ()) -> list[int]:
    """Find the rows of the kept genes with the highest scores, at most `n_genes`."""
    table, method = result.genes, result.primary.name
    kept = table.index[table[f"weight_{method}"] != 0]
    ranked = table.loc[kept, f"rank_{method}"].sort_values(kind="stable").index
    return [int(row) for row in ranked if int(row) not in set(without)][:n_genes]


MOST_FEATURES = 4000
"""Rows of features on the page, the highest ranks; the file has all."""
MOST_SAMPLES = 20_000
LONGEST_TEXT = 72
"""Characters of a name, or of terms, shown in a cell; the search and the file use all of them."""
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
class Browser:
    """A table that the script of the page sorts and searches; `file` has all of it."""

    title: str
    hint: str
    file: str
    data: dict[str, Any]


def _browse(
    columns: Mapping[str, str], rows: list[list], file: str, title: str, hint: str, **more: Any
) -> Browser:
    """Prepare a browser; `columns` are the titles of the fields."""
    names = list(columns)
    data = {"columns": list(columns.values()), "fields": names, "rows": rows}
    data |= {"shown": [*range(len(names))], "longest": LONGEST_TEXT, "wide": [], "links": []}
    return Browser(title, hint, file, data | more)


@dataclass(frozen=True)
class GeneView:
    """The features: those of interest, if any, and a browser of the highest ranks."""

    chosen: TableView
    browser: Browser


def view_genes(result: DatasetResult, chosen: Sequence[int], file: str) -> GeneView:
    """Prepare the table of genes, with those of interest; the whole table is in `file`."""
    genes, pages, noun = result.genes, _pages(result), nouns(result).features
    names, shown = list(genes.columns), _shown(result)
    rows = [[_plain(value) for value in row] for row in genes.itertuples(index=False)]
    top = rows[:MOST_FEATURES]
    title = f"All {len(rows):,} {noun}: search and sort"
    if len(top) < len(rows):
        title = f"The {len(top):,} highest-ranked of {len(rows):,} {noun}: search and sort"
    kinds = {name: "wide" if name in _WIDE else "text" for name in shown}
    heads = [Column(_title(name, result), kind=kind) for name, kind in kinds.items()]
    heads += [Column("links", kind="text")] if pages else []

    def view_row(row: list) -> list[str | list[Cell]]:
        cells = [_write(row[names.index(name)], name in _WIDE) for name in shown]
        links = [
            Cell(title, url=address.format(row[names.index(column)]))
            for title, (column, address) in pages.items()
            if row[names.index(column)] is not None
        ]
        return [*cells, links] if pages else cells

    return GeneView(
        make_table(
            f"The chosen {noun}",
            heads,
            (view_row(rows[at]) for at in chosen),
            result.is_simulated,
            kind="genes",
        ),
        _browse(
            {name: _title(name, result) for name in names},
            top,
            file,
            title,
            "symbol, name, term or verdict",
            shown=[names.index(name) for name in shown],
            wide=[names.index(name) for name in shown if name in _WIDE],
            links=[
                {"title": title, "column": names.index(column), "url": address}
                for title, (column, address) in pages.items()
            ],
        ),
    )


def view_samples(result: DatasetResult, file: str) -> Browser | None:
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
        **result.annotations,
    }
    columns = {name: values for name, values in columns.items() if values is not None}
    rows = [[_plain(value) for value in row] for row in zip(*columns.values(), strict=True)]
    title = f"All {len(rows):,} samples with their clusters: search and sort"
    return _browse({n: n for n in columns}, rows, file, title, "sample, cluster or class")


def _pages(result: DatasetResult) -> dict[str, tuple[str, str]]:
    """List the web pages about these genes; invented genes have none."""
    if result.is_simulated:
        return {}
    pages = {title: page for title, page in _PAGES.items() if page[0] in result.genes}
    if result.source != "allen":
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


LEVEL = 0.05
"""False discovery rate up to which a term counts as over-represented."""
MOST_TERMS = 12
_GENES_NAMED = 12
_TERM_PAGE = "https://www.ebi.ac.uk/QuickGO/term/{}"


@dataclass(frozen=True)
class EnrichmentView:
    """Sentences on every group, and the terms found up to a false discovery rate."""

    sentences: list[str]
    terms: TableView
    file: str


def view_enrichment(result: DatasetResult, file: str) -> EnrichmentView | None:
    """Prepare the section if any term was tested; `file` contains all tests."""
    table = result.enrichment
    if table is None or table.empty:
        return None
    words, in_space = nouns(result), bool(table["p_spatial"].notna().any())
    groups, rows = [], []
    for group in GROUPS:
        tests = table[table["group"] == group]
        if tests.empty:
            continue
        found = tests[tests["q_value"] <= LEVEL]
        about = {"name": _describe(group), "size": int(tests["n_group"].iloc[0])}
        groups.append(about | {"n_found": len(found), "smallest": tests["q_value"].min()})
        rows += [
            _row(test, result, in_space) for test in found.head(MOST_TERMS).itertuples(index=False)
        ]
    found = table[(table["q_value"] <= LEVEL) & table["p_spatial"].notna()]
    text = write_text(
        "enrichment_text.html",
        n_terms=table["term"].nunique(),
        n_analysed=int(table["n_analysed"].iloc[0]),
        features=words.features,
        groups=groups,
        found=list(found.itertuples()),
        level=LEVEL,
        most=MOST_TERMS,
    )
    caption = (
        f"Terms with q ≤ {LEVEL:g} (one-sided hypergeometric test, Benjamini and Hochberg over the "
        "terms tested in the group). Fold: number in the group over that expected"
    )
    extra = ("p in space",) if in_space else ()
    heads = (words.features, "term", "name", "in group", "expected", "fold", "p", "q", *extra)
    looks = {head: "wide" if head == "name" else "text" for head in heads} | {"which": "wide"}
    terms = make_table(caption, looks, rows, result.is_simulated, kind="genes terms")
    return EnrichmentView(text.split("\n"), terms, file)


def _describe(group: str) -> str:
    return {"only l1": "kept by ℓ₁ alone"}.get(group, group)


def _row(test, result: DatasetResult, in_space: bool) -> list[str | Cell]:
    is_real = test.term.startswith("GO:") and not result.is_simulated
    numbers = (f"{test.expected:.1f}", f"{test.fold:.1f}")
    chances = [f"{test.p_value:.2g}", f"{test.q_value:.2g}"]
    if in_space:
        chances.append("" if pd.isna(test.p_spatial) else f"{test.p_spatial:.2g}")
    return [
        _describe(test.group),
        Cell(test.term, url=_TERM_PAGE.format(test.term) if is_real else ""),
        test.name,
        f"{test.n_shared} of {test.n_term}",
        *numbers,
        *chances,
        name_some(test.genes.split(";"), _GENES_NAMED),
    ]
