"""The part of the methods that tells how genes were annotated."""

from __future__ import annotations

from collections.abc import Sequence

from sparsekm.annotation.gene_sets import GeneSets
from sparsekm.reporting.literature import Citations
from sparsekm.reporting.results import DatasetResult

_OBSOLETE_NAMED = 10


def write_annotation(
    results: Sequence[DatasetResult], citations: Citations, sets: GeneSets | None = None
) -> str:
    """Write how stability, places, and over-represented terms were found; nothing where none was.

    The gene sets tell what was left out of them.
    """
    columns = set().union(*(result.genes.columns for result in results))
    sentences = []
    if any(column.startswith("stability_") for column in columns):
        sentences.append(
            "The stability of a feature is the share of random halves of the samples, drawn "
            "without replacement, that keep it again at the tuned sparsity "
            f"{citations.cite('stability')}; every half starts from the tuned clusters."
        )
    if "effect_cluster" in columns:
        sentences.append(
            "A feature is highest in the cluster with its largest mean; the effect there is "
            "Cohen’s d against all other samples, with the pooled standard deviation. It describes "
            "the clusters: they were found in the same data."
        )
    if any(result.enrichment is not None and len(result.enrichment) for result in results):
        sentences.append(_write_enrichment(results, citations))
        if sets is not None:
            sentences.append(_write_sets(sets))
    return " ".join(sentences)


def _write_enrichment(results: Sequence[DatasetResult], citations: Citations) -> str:
    tested = [r.enrichment for r in results if r.enrichment is not None and len(r.enrichment)]
    sizes = [int(table["n_term"].min()) for table in tested]
    largest = [int(table["n_term"].max()) for table in tested]
    is_go = any(table["term"].str.startswith("GO:").any() for table in tested)
    terms = f"terms of the Gene Ontology {citations.cite('go')}" if is_go else "terms"
    return (
        f"Over-representation of {terms} was tested with a one-sided hypergeometric test against "
        "the features analysed, for terms that hold "
        f"{min(sizes)} to {max(largest)} of them; q-values are those of Benjamini and Hochberg "
        f"{citations.cite('fdr')} over the terms tested in each group."
    )


def _write_sets(sets: GeneSets) -> str:
    """Say how many terms and genes the sets have, and what their reader left out or mapped."""
    whole = f"The gene sets hold {len(sets.terms):,} terms and {len(sets.genes):,} genes"
    notes = "; ".join(f"{what}: {number:,}" for what, number in sets.notes.items())
    text = f"{whole} ({notes})." if notes else f"{whole}."
    if sets.obsolete:
        named = ", ".join(sets.obsolete[:_OBSOLETE_NAMED])
        more = len(sets.obsolete) - _OBSOLETE_NAMED
        text += f" Obsolete terms: {named}" + (f" and {more:,} more." if more > 0 else ".")
    return text
