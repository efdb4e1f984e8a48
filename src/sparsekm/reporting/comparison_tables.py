"""Tables that compare: data sets, methods, choices, and clusters with what else is known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sparsekm.annotation.clusters import associate
from sparsekm.reporting.answer import agreements
from sparsekm.reporting.page_tables import (
    MISSING,
    Cell,
    Column,
    TableView,
    format_count,
    format_rate,
    make_table,
    nouns,
    write_range,
)
from sparsekm.reporting.results import DatasetResult
from sparsekm.tuning.separation import LEVEL

_AGREEMENT = "adjusted Rand index (1: identical, 0: chance)"


def compare_datasets(results: Sequence[DatasetResult]) -> TableView | None:
    """Make a row for each of several data sets: what its first screen says, in numbers."""
    if len(results) < 2:
        return None
    rows = [_summarise(result) for result in results]
    simulated = all(result.is_simulated for result in results)
    known = [head for head in rows[0] if any(row[head] != MISSING for row in rows)]
    titles = dict.fromkeys(result.primary.title for result in results)
    captions = {
        "apart": "Apart: pairs of neighbouring clusters with a gap between them",
        "reproducible": "Reproducible: mean share of fits to nine tenths that agree on a sample",
        "restarts": "Restarts: agreement (ARI) of fits from other seeds",
        "CER": "CER: share of pairs together in one of clusters and classes, apart in the other",
    }
    said = [text for head, text in captions.items() if head in known]
    names = [
        Cell(result.name, url=f"#dataset-{result.name}", note="simulated" * is_marked)
        for result in results
        for is_marked in [result.is_simulated and not simulated]
    ]
    caption = ". ".join([f"The clusters of {' and '.join(titles)}", *said])
    body = [[name, *map(row.get, known)] for name, row in zip(names, rows, strict=True)]
    heads = dict.fromkeys(("data set", *known), "")
    return make_table(caption, heads, body, simulated, kind="numbers overview")


def _summarise(result: DatasetResult) -> dict[str, str]:
    method = result.primary
    pairs, shares, seeds = method.separation, method.reproducibility, method.seeds
    none = "none" if "signature_agreement" in method.attributes else MISSING
    return {
        "samples": f"{result.n_samples:,}",
        "clusters": f"{len(np.unique(method.labels))}",
        "apart": MISSING
        if pairs is None or pairs.empty
        else f"{(pairs['p_adjusted'] <= LEVEL).sum()} of {len(pairs)}",
        "reproducible": MISSING if shares is None else f"{np.nanmean(shares):.2f}",
        "restarts": MISSING
        if seeds is None
        else write_range(seeds["agreement"].iloc[1:], "{:.2f}".format),
        "smallest set": none if method.signature is None else f"{len(method.signature):,}",
        "differ": f"{method.n_kept:,} of {result.n_features:,}" if method.is_sparse else MISSING,
        "CER": format_rate(method.rate("cer")),
        "ARI": format_rate(method.rate("ari")),
    }


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


_MOST_BATCHES = 8


def view_batches(result: DatasetResult) -> TableView | None:
    """Show the share of each batch in each cluster, as given and after centring within batches."""
    found = result.batches
    if found is None:
        return None
    both, agreement = found
    largest = both[0].sum().nlargest(_MOST_BATCHES).index
    rows = []
    for cluster in both[0].index.union(both[1].index):
        row = ["none" if cluster < 0 else cluster]
        for counts in both:
            own = counts.reindex([cluster], fill_value=0).iloc[0]
            size = int(own.sum())
            shares = own[largest] / max(size, 1)
            row += [f"{size:,}", *(Cell(f"{s:.0%}", shade=round(100 * s)) for s in shares)]
        rows.append(row)
    samples = nouns(result).samples
    heads = [Column("cluster")]
    for answer in ("as given", "centred"):
        heads += [Column(f"{samples}, {answer}"), *map(Column, map(str, largest))]
    caption = (
        f"Share of each batch in each cluster: of the values as given, the answer here, and of "
        f"values centred within batches. The two agree with {agreement:.2f} ({_AGREEMENT}). Where "
        "batches hold different classes, centring moves the classes: neither answer is right in "
        "general"
    )
    return make_table(caption, heads, rows, result.is_simulated, kind="numbers contingency")


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
