"""How sparsities were chosen, for the methods section."""

from __future__ import annotations

from collections.abc import Sequence

from sparsekm.pipeline.registry import get_method
from sparsekm.reporting.literature import Citations
from sparsekm.reporting.results import DatasetResult, MethodResult
from sparsekm.reporting.run_facts import REFERENCES, RULES, attribute, distinct, joined
from sparsekm.tuning.references import SPATIAL
from sparsekm.tuning.separation import LEVEL


def write_gap(methods: Sequence[MethodResult], citations: Citations) -> str:
    """Describe how the gap statistic chose sparsities, if it did."""
    tuned = [method for method in methods if method.gap is not None]
    if not tuned:
        return ""
    counts = joined(sorted({len(method.gap) for method in tuned}))
    rules = joined(RULES.get(rule, rule) for rule in attribute(tuned, "rule"))
    kinds = joined(
        REFERENCES.get(kind, kind) + (f" {citations.cite('variogram')}" if kind == SPATIAL else "")
        for kind in attribute(tuned, "reference")
    )
    numbers = joined(attribute(tuned, "n_references"))
    refined = max(attribute(tuned, "n_refined"), default=0)
    stages = f", up to {refined} of them around the largest gap of the others," if refined else ""
    text = (
        f"The sparsity s was chosen among {counts} values{stages} by the gap statistic "
        f"{citations.cite('gap')} as used in {citations.cite('l1')}: the logarithm of the "
        "objective minus its mean over reference data sets without clusters"
    )
    details = "; ".join(filter(None, [kinds, f"{numbers} references" if numbers else ""]))
    text += f" ({details})" if details else ""
    return f"{text}. The choice is {rules}." if rules else f"{text}."


def write_sampling(results: Sequence[DatasetResult]) -> str:
    """Name the data sets that were tuned on a part of their samples, if any."""
    drawn = {result.name: attribute(result.methods.values(), "n_tuned") for result in results}
    named = [
        f"{joined(f'{number:,}' for number in drawn[result.name])} of the {result.n_samples:,} "
        f"samples of {result.name}"
        for result in results
        if drawn[result.name]
    ]
    if not named:
        return ""
    return (
        f"Sparsities were tuned on {joined(named)}, drawn at random without replacement; at the "
        "chosen sparsity all samples were clustered. Gap curves, the classification error rates in "
        "their figures, consensus tables, stabilities and the tests for clusters are of the "
        "samples drawn."
    )


def write_seeds(methods: Sequence[MethodResult]) -> str:
    """Describe how fits from other seeds were made, if there are any."""
    numbers = distinct(len(method.seeds) for method in methods if method.seeds is not None)
    if not numbers:
        return ""
    maximising = [method.title for method in methods if get_method(method.name).maximises]
    best = f", and the fit with the largest objective is shown for {joined(distinct(maximising))}"
    return (
        f"At the chosen sparsity all samples were clustered from {joined(numbers)} seeds"
        f"{best if maximising else ''}; ranges are the least and the largest value over these. "
        "They show what the search leaves to chance, not what other samples would change."
    )


def write_tests(results: Sequence[DatasetResult]) -> str:
    """Describe the test for clusters and the choice of their number, where they were made."""
    sentences = []
    tested = [r.name for r in results if any(m.separation is not None for m in r.methods.values())]
    if tested:
        sentences.append(
            f"Which clusters of {joined(tested)} stand apart was tested on samples that were left "
            "out of the fits: they were projected on the axis between two neighbouring clusters "
            "(a discriminant with a Ledoit-Wolf covariance, learnt without them), and two clusters "
            "stand apart if fewer samples lie in the middle third than near either median "
            f"(binomial test at {LEVEL:.0%}, Holm’s adjustment over the pairs)."
        )
    counted = [r for r in results if r.counts is not None]
    if counted:
        numbers = joined(distinct(joined(r.counts["n_clusters"]) for r in counted))
        sentences.append(
            f"The number of clusters of {joined(r.name for r in counted)} was chosen among "
            f"{numbers}: neighbouring clusters without a valley between them were joined, and the "
            "number of groups is the largest that two of these numbers lead to."
        )
    return " ".join(sentences)
