"""Tables of what else there is: other methods, choices and numbers of clusters, and meanings."""

from __future__ import annotations

from sparsekm.annotation.clusters import associate
from sparsekm.reporting.answer import agreements
from sparsekm.reporting.page_tables import (
    MISSING,
    TableView,
    format_count,
    format_rate,
    make_table,
    nouns,
    write_range,
)
from sparsekm.reporting.results import DatasetResult

_AGREEMENT = "adjusted Rand index (1: identical, 0: chance)"


def compare_methods(result: DatasetResult) -> TableView:
    """Make a row for each method, the answer first."""
    answer, others, words = result.primary, agreements(result), nouns(result)
    rates = {"CER": "cer", "chance": "cer_chance", "ARI": "ari", "AMI": "ami"}
    known = {title: name for title, name in rates.items() if answer.rate(name) is not None}
    rows = []
    for name in (answer.name, *others):
        method = result.methods[name]
        agreement = "the answer" if name == answer.name else f"{others[name]:.2f}"
        seeds = MISSING
        if method.seeds is not None:
            seeds = write_range(method.seeds["agreement"].iloc[1:], "{:.2f}".format)
        numbers = [format_rate(method.rate(score)) for score in known.values()]
        rows.append([method.title, agreement, seeds, format_count(method.n_kept), *numbers])
    heads = ("method", "agreement with the answer", "agreement over seeds", "kept", *known)
    caption = f"Agreement: {_AGREEMENT}. Kept (NW): {words.features}"
    if known:
        caption += (
            f". With the {words.labels}: CER, the share of pairs of {words.samples} that are "
            "together in one and apart in the other; chance, the CER of random clusters of these "
            "sizes; ARI and AMI, agreement and mutual information corrected for chance"
        )
    return make_table(caption, dict.fromkeys(heads, ""), rows, result.is_simulated)


def view_choices(result: DatasetResult) -> TableView | None:
    """Show how far the answer hangs on the choices that were made."""
    if result.choices is None:
        return None
    words = nouns(result)
    rows = [
        [
            row.choice if row.value == "" else f"{row.choice}: {row.value}",
            f"{row.n_clusters}",
            f"{row.n_samples:,}",
            f"{row.n_features:,}",
            f"{row.agreement:.2f}",
        ]
        for row in result.choices.itertuples()
    ]
    caption = f"What another choice would find, and its agreement with the answer: {_AGREEMENT}"
    heads = dict.fromkeys(("choice", "clusters", words.samples, words.features, "agreement"), "")
    return make_table(caption, heads, rows, result.is_simulated)


def view_meanings(result: DatasetResult) -> TableView | None:
    """Show which annotations of the samples go with the clusters."""
    if not result.annotations:
        return None
    table = associate(result.primary.labels, result.annotations)
    rows = [
        [row.column, row.test, f"{row.n:,}", f"{row.effect_name} {row.effect:.2f}"]
        + [MISSING if p != p else f"{p:.2g}" for p in (row.p, row.q)]
        for row in table.itertuples()
    ]
    caption = (
        "Columns that the clustering did not use, the strongest first. Effect: the share of ranks "
        "(ε²) or, for categories, Cramér’s V, from 0 to 1; q: false discovery rate over these "
        "columns"
    )
    heads = {"column": "", "test": "text", "known": "", "effect": "", "p": "", "q": ""}
    return make_table(caption, heads, rows, result.is_simulated)
