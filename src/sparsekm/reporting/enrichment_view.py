"""The section on over-represented terms."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from sparsekm.annotation.enrichment import GROUPS
from sparsekm.reporting.results import DatasetResult
from sparsekm.reporting.table_view import Cell, Column, TableView, name_some
from sparsekm.reporting.tables import nouns

LEVEL = 0.05
"""False discovery rate up to which a term counts as over-represented."""
MOST_TERMS = 12
_GENES_NAMED = 12
_WIDE = ("name", "which")
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
    words = nouns(result)
    n_terms = table["term"].nunique()
    sentences = [
        f"{n_terms:,} terms were tested in each group against the "
        f"{int(table['n_analysed'].iloc[0]):,} {words.features} analysed that have any term."
    ]
    in_space = bool(table["p_spatial"].notna().any())
    rows = []
    for group in GROUPS:
        tests = table[table["group"] == group]
        if tests.empty:
            continue
        found = tests[tests["q_value"] <= LEVEL]
        sentences.append(_summarise(group, tests, len(found), words.features))
        rows += [
            _row(test, result, in_space) for test in found.head(MOST_TERMS).itertuples(index=False)
        ]
    caption = (
        f"Terms with q ≤ {LEVEL:g} (one-sided hypergeometric test, Benjamini and Hochberg over the "
        "terms tested in the group). Fold: number in the group over that expected"
    )
    if in_space:
        sentences += _warn(table, words.features)
    extra = ("p in space",) if in_space else ()
    heads = ("term", "name", "in group", "expected", "fold", "p", "q", *extra, "which")
    columns = [Column(head, kind="wide" if head in _WIDE else "text") for head in heads]
    columns.insert(0, Column(words.features, kind="text"))
    terms = TableView(caption, columns, rows, result.is_simulated, kind="genes terms")
    return EnrichmentView(sentences, terms, file)


def _summarise(group: str, tests: pd.DataFrame, n_found: int, features: str) -> str:
    n_group = int(tests["n_group"].iloc[0])
    whom = f"the {n_group:,} {features} {_describe(group)}"
    if n_group == 0:
        return f"No {features} are {_describe(group)}."
    if n_found == 0:
        smallest = f"smallest q = {tests['q_value'].min():.2g}"
        return f"Among {whom}, no term is over-represented ({smallest})."
    named = f", of which {MOST_TERMS} are shown" if n_found > MOST_TERMS else ""
    terms = "one term is" if n_found == 1 else f"{n_found:,} terms are"
    return f"Among {whom}, {terms} over-represented (q ≤ {LEVEL:g}){named}."


def _warn(table: pd.DataFrame, features: str) -> list[str]:
    """Say why q is not enough where samples have places, and how many terms stand out from maps."""
    found = table[(table["q_value"] <= LEVEL) & table["p_spatial"].notna()]
    if found.empty:
        return []
    held = int((found["p_spatial"] <= LEVEL).sum())
    return [
        f"Caution: {features} that are patterned alike in space share terms, so some terms are "
        "over-represented for any map of the tissue. “p in space” is the share of random maps, of "
        f"as many compact clusters, that find as many: {held} of these {len(found)} terms "
        f"{'has' if held == 1 else 'have'} {LEVEL:g} or less."
    ]


def _describe(group: str) -> str:
    return {"only l1": "kept by ℓ₁ alone"}.get(group, group)


def _row(test, result: DatasetResult, in_space: bool) -> list[Cell]:
    is_real = test.term.startswith("GO:") and not result.is_simulated
    numbers = (f"{test.expected:.1f}", f"{test.fold:.1f}")
    chances = [f"{test.p_value:.2g}", f"{test.q_value:.2g}"]
    if in_space:
        chances.append("" if pd.isna(test.p_spatial) else f"{test.p_spatial:.2g}")
    return [
        Cell(_describe(test.group)),
        Cell(test.term, url=_TERM_PAGE.format(test.term) if is_real else ""),
        Cell(test.name),
        Cell(f"{test.n_shared} of {test.n_term}"),
        *map(Cell, (*numbers, *chances)),
        Cell(name_some(test.genes.split(";"), _GENES_NAMED)),
    ]
