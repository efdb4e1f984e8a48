"""How sparsities were chosen, for the methods section."""

from __future__ import annotations

from collections.abc import Sequence

from sparsekm.reporting.literature import Citations
from sparsekm.reporting.results import DatasetResult, MethodResult
from sparsekm.reporting.run_facts import REFERENCES, RULES, attribute, joined
from sparsekm.tuning.references import SPATIAL

STABILITY_RULES = {
    "max": "that of the most stable partition",
    "sparse-end": "the sparsest of those next to the most stable partition that are as stable "
    "within one standard error",
    "same": "the sparsest whose partition agrees with the most stable one as well as that one is "
    "reproduced",
}


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


def write_stability(methods: Sequence[MethodResult]) -> str:
    """Describe how the stability of partitions chose sparsities, if it did."""
    tuned = [method for method in methods if "n_splits" in method.attributes]
    if not tuned:
        return ""
    rules = joined(STABILITY_RULES.get(rule, rule) for rule in attribute(tuned, "rule"))
    return (
        "The sparsity s was chosen by how stable the partition is when samples are left out: at "
        f"each sparsity {joined(attribute(tuned, 'n_splits'))} random subsets of four fifths of "
        "the samples were clustered, all samples were assigned to the nearest centre in the kept "
        "features, and the adjusted Rand index compared the result with the partition of all "
        f"samples. The choice is {rules}."
    )


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
