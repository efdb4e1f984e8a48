"""Tables of features and samples for the page, chosen genes, and over-represented terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from sparsekm.annotation.enrichment import GROUPS
from sparsekm.reporting.page_tables import caption, make_table, name_some, write_text
from sparsekm.reporting.results import DatasetResult

ATLAS_GENES = ("Scn4b", "Neurog1")
"""The paper's examples: a channel subunit needed everywhere and a marker."""


def choose_genes(result: DatasetResult, wanted: Sequence[str] | str = "auto") -> list[int]:
    """Find the rows of ``result.genes`` of the genes of interest, in the order wanted.

    Missing symbols are skipped, and the asterisk at the end of some symbols may be omitted. "auto"
    means the paper's examples, or of the phantom the first housekeeping gene and marker.
    """
    genes = result.genes
    symbols = genes["symbol"].astype(str)
    if wanted == "auto":
        wanted = ATLAS_GENES if result.source == "allen" else _first_of_kinds(genes)
    found = [
        symbols.index[(symbols == name) | (symbols.str.rstrip("*") == name)] for name in wanted
    ]
    return list(dict.fromkeys(int(row) for rows in found for row in rows[:1]))


def _first_of_kinds(genes: pd.DataFrame) -> list[str]:
    if "planted_kind" not in genes:
        return []
    kind, relevant = genes["planted_kind"], genes.get("relevant", pd.Series(True, genes.index))
    # A marker may be one at other ages only.
    groups = kind == "housekeeping", (kind == "marker") & relevant.astype(bool)
    return [name for of in groups for name in sorted(genes["symbol"][of].astype(str))[:1]]


def top_kept(result: DatasetResult, n_genes: int, without: Sequence[int] = ()) -> list[int]:
    """Find the rows of the kept genes with the highest scores, at most `n_genes`."""
    table, method = result.genes.drop(index=list(without)), result.primary.name
    kept = table.loc[table[f"weight_{method}"] != 0, f"rank_{method}"]
    return [int(row) for row in kept.sort_values(kind="stable").index[:n_genes]]


MOST_FEATURES = 4000
"""Rows of features on the page, the highest ranks; the file has all."""
MOST_SAMPLES = 20_000
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
    table: pd.DataFrame,
    titles: Mapping[str, str],
    file: str,
    title: str,
    hint: str,
) -> dict[str, Any]:
    """Prepare a table that the script of the page sorts and searches; `file` has all of it.

    Columns that have no title are searched and downloaded, but not shown.
    """
    fields = list(table)
    data = {
        "columns": [titles.get(name, name) for name in fields],
        "fields": fields,
        "rows": [[_plain(value) for value in row] for row in table.itertuples(index=False)],
        "shown": [fields.index(name) for name in titles],
        "wide": [fields.index(name) for name in titles if name in _WIDE],
    }
    return {"title": f"{title}: search and sort", "hint": hint, "file": file, "data": data}


def view_genes(result: DatasetResult, chosen: Sequence[int]) -> dict[str, Any]:
    """Prepare a browser of the genes of interest, then of the highest ranks."""
    genes, noun = result.genes, result.words.features
    title = f"All {len(genes):,} {noun}"
    if len(genes) > MOST_FEATURES:
        title = f"The {MOST_FEATURES:,} highest-ranked of {len(genes):,} {noun}"
    rows = [*chosen, *genes.index.difference(chosen, sort=False)][:MOST_FEATURES]
    titles = {name: _title(name, result) for name in _shown(result)}
    file, hint = f"{result.name}/genes.csv", "symbol, name, term or verdict"
    return _browse(genes.loc[rows], titles, file, title, hint)


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
    title, file = f"All {len(table):,} samples with their clusters", f"{result.name}/clusters.csv"
    return _browse(table, {name: name for name in table}, file, title, "sample, cluster or class")


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


LEVEL = 0.05
"""False discovery rate up to which a term counts as over-represented."""
MOST_TERMS = 12
_GENES_NAMED = 12
_GROUP_TITLES = {"only l1": "kept by ℓ₁ alone"}
_TERM_HEADS = {
    "group": "",
    "term": "term",
    "name": "name",
    "n_shared": "in group",
    "expected": "expected",
    "fold": "fold",
    "p_value": "p",
    "q_value": "q",
    "p_spatial": "p in space",
    "genes": "which",
}


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
    shown = found.groupby("group", sort=False).head(MOST_TERMS)
    if table["p_spatial"].isna().all():
        shown = shown.drop(columns="p_spatial")
    shown = shown.assign(
        n_shared=shown["n_shared"].astype(str) + " of " + shown["n_term"].astype(str),
        genes=[name_some(genes.split(";"), _GENES_NAMED) for genes in shown["genes"]],
    )
    heads = _TERM_HEADS | {"group": words.features}
    shown = shown[[name for name in heads if name in shown]].rename(columns=heads)
    kinds = dict.fromkeys(("p", "q", "p in space"), ".2g") | {"expected": ".1f", "fold": ".1f"}
    kinds |= {"name": "wide", "which": "wide"}
    terms = make_table(
        caption("terms", level=LEVEL), shown, kinds, result.is_simulated, kind="genes terms"
    )
    return {"sentences": text.split("\n"), "terms": terms}
