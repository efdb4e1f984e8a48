"""The methods paragraph, written from the parameters that were used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from sparsekm.annotation.gene_sets import GeneSets
from sparsekm.pipeline.registry import get_method
from sparsekm.reporting.literature import Citations
from sparsekm.reporting.results import DatasetResult, MethodResult
from sparsekm.reporting.run_facts import (
    REFERENCES,
    RULES,
    attribute,
    distinct,
    fits,
    joined,
    package_versions,
    searches,
)
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


NORMALISATIONS = {
    "zscore": "every feature has mean 0 and standard deviation 1 (ddof = 1), constant features "
    "are dropped",
    "counts": "counts divided by the total of their sample over all features and multiplied by the "
    "median total; the logarithm of 1 plus the result; then every feature has mean 0 and standard "
    "deviation 1 (ddof = 1), constant features are dropped",
    "log2": "the base-2 logarithm of 1 plus the values; then every feature has mean 0 and standard "
    "deviation 1 (ddof = 1), constant features are dropped",
    "none": "none, values as given, constant features are dropped",
}


SCREENED = {"max_missing_per_gene": "genes", "max_missing_per_voxel": "voxels"}
ATLAS_STEPS = {
    "transform": {
        "none": "",
        "log2": "energies x become log₂(1 + x)",
        "robust_sigmoid": "every gene is mapped to values from 0 to 1 by a robust sigmoid",
    },
    "fill": {
        "none": "",
        "zero": "missing values become 0",
        "gene_mean": "missing values become the mean of their gene",
        "region_mean": "missing values become the mean of their gene in their region",
    },
    "scale": {
        "z-score, ddof = 1": "every gene has mean 0 and standard deviation 1 (ddof = 1), constant "
        "genes are dropped",
    },
}
"""The same for an age of the atlas: its settings in the order in which they are applied."""

METHODS_DESCRIBED = {
    "l0": "ℓ₀-k-means {l0} looks for the partition into K clusters and the s features that maximise"
    " the sum of the between-cluster sums of squares aⱼ of these features; each kept feature has "
    "weight 1.",
    "l1": "ℓ₁-k-means {l1} looks for the partition, and weights with unit ℓ₂ norm and an ℓ₁ norm of"
    " at most s, that maximise the weighted sum of the aⱼ.",
    "sparse": "Sparse k-means ranks the features before any clustering, by their variance beyond "
    "that of features of the same mean where they share a unit. With a tenth of the samples left "
    "out at a time, k-means is run on the features that rank first, and ℓ₀-k-means from there. A "
    "consensus of these partitions, found by clustering the shares of partitions in which two "
    "samples are together {coassociation}, is the start of ℓ₀-k-means on all samples. Features "
    "have weight if their means differ between the clusters at a false discovery rate of 10% "
    "{fdr} with at least a medium effect, 5.9% of the variance.",
    "kmeans": "k-means weights all features equally.",
    "pca": "PCA-k-means is k-means on the first principal component.",
    "pgmm": "The penalised mixture is a Gaussian mixture with common diagonal covariance and an ℓ₁"
    " penalty on the means of the standardised features, its penalty chosen by the modified BIC "
    "{pgmm}; a feature whose means are all zero is dropped.",
    "ifpca": "IF-PCA {ifpca} keeps the features whose distributions are farthest from a Gaussian, "
    "as many as Higher Criticism selects, and runs k-means on their K − 1 leading left singular "
    "vectors.",
    "scfs": "SC-FS {scfs} runs k-means on the K leading left singular vectors of all features, "
    "keeps the features that these clusters explain, and clusters the kept features in the same "
    "way.",
}
"""What each method does; names in braces are keys of `sparsekm.reporting.literature`."""
ATLASES_DESCRIBED = {
    "phantom": "simulated expression on a phantom of the Allen Developing Mouse Brain Atlas "
    "{atlas}, with the atlas' region names and colours and planted region markers; its genes are "
    "invented.",
    "allen": "expression energies of the Allen Developing Mouse Brain Atlas {atlas}.",
}
"""The same for each source of an atlas."""


def write_methods(
    results: Sequence[DatasetResult], citations: Citations, sets: GeneSets | None = None
) -> list[str]:
    """Write the methods section: a paragraph each for data, methods, tuning, measures and so on.

    It states only what the files record; a parameter that no file contains is left out.
    """
    every = fits(results)
    paragraphs = [
        _write_data(results, citations),
        _write_clustering(every, citations),
        write_gap(every, citations),
        write_sampling(results),
        _write_measures(results, citations),
        write_seeds(every),
        write_tests(results),
        write_annotation(results, citations, sets),
        _write_software(results, citations),
    ]
    return [paragraph for paragraph in paragraphs if paragraph]


def _write_data(results: Sequence[DatasetResult], citations: Citations) -> str:
    sentences = []
    for source, text in ATLASES_DESCRIBED.items():
        names = [r.name for r in results if r.provenance.get("source") == source]
        if names:
            sentences.append(f"{joined(names)}: {text.format_map(_Citing(citations))}")
    sentences += [
        f"{r.name}: {'simulated ' if r.is_simulated else ''}matrix of {r.n_samples:,} samples "
        f"and {r.n_features:,} features."
        for r in results
        if r.provenance.get("source") not in ATLASES_DESCRIBED
    ]
    for result in results:
        n_left_out = result.provenance.get("n_features_filtered")
        if n_left_out:
            n_read = result.provenance["n_features_read"]
            sentences.append(
                f"Of the {n_read:,} features of {result.name}, the {n_read - n_left_out:,} whose "
                "log-transformed counts vary most, compared with features of similar mean, were "
                "used."
            )
    steps = {result.name: _normalisation(result) for result in results}
    for step in distinct(steps.values()):
        names = [name for name, value in steps.items() if value == step]
        sentences.append(f"Normalisation of {joined(names)}: {step}.")
    return " ".join(sentences)


def _normalisation(result: DatasetResult) -> str | None:
    value = result.provenance.get("normalisation")
    if not isinstance(value, Mapping):
        return None if value is None else NORMALISATIONS.get(str(value), str(value))
    steps = [
        f"{what} of which {float(value[limit]):.0%} or more of the values are missing are dropped"
        for limit, what in SCREENED.items()
        if limit in value
    ]
    steps += [
        names.get(str(value[step]), f"{step}: {value[step]}")
        for step, names in ATLAS_STEPS.items()
        if step in value
    ]
    return "; ".join(filter(None, steps))


class _Citing(dict):
    """The numbers of the works that a sentence cites, assigned in the order of citation."""

    def __init__(self, citations: Citations, **further: str) -> None:
        super().__init__(further)
        self._citations = citations

    def __missing__(self, key: str) -> str:
        return self._citations.cite(key)


def _write_clustering(methods: Sequence[MethodResult], citations: Citations) -> str:
    names = {method.name for method in methods}
    sentences = [
        sentence.format_map(_Citing(citations))
        for name, sentence in METHODS_DESCRIBED.items()
        if name in names
    ]
    sentences.append(
        "Under a fixed partition, a standardised feature without cluster structure has an expected "
        "score of K − 1."
    )
    if found := searches(methods):
        sentences.append(f"Search: {joined(found)}.")
    starts, sizes = attribute(methods, "n_init"), attribute(methods, "min_cluster_size")
    if starts:
        sentences.append(f"Number of starts: {joined(starts)}.")
    if sizes:
        sentences.append(f"Smallest cluster allowed: {joined(sizes)}.")
    return " ".join(sentences)


def _write_measures(results: Sequence[DatasetResult], citations: Citations) -> str:
    if all(result.labels is None for result in results):
        return ""
    text = (
        f"The classification error rate (CER) {citations.cite('cer')} is the share of pairs of "
        "samples on which two partitions disagree (together in one, apart in the other), that is, "
        "1 minus the Rand index: 0 is perfect agreement. The adjusted Rand index (ARI) "
        f"{citations.cite('ari')} is 1 minus the CER over that expected of random partitions with "
        "the same cluster sizes (the CER of chance): 1 is perfect agreement, 0 that of chance. The "
        f"adjusted mutual information (AMI) {citations.cite('ami')} corrects the shared "
        "information of the two partitions in the same way and divides it by the mean of their "
        "entropies. NW is the number of features with nonzero weight. The search does not use the "
        "labels; only the number of classes may set K."
    )
    if any(result.n_unlabelled for result in results):
        text += " Samples without a known label are clustered but excluded from CER, ARI and AMI."
    if any(_fills_by_region(result) for result in results):
        text += " Missing values were filled with regional means, which uses the labels."
    return text


def _fills_by_region(result: DatasetResult) -> bool:
    settings = result.provenance.get("normalisation")
    return isinstance(settings, Mapping) and settings.get("fill") == "region_mean"


def _write_software(results: Sequence[DatasetResult], citations: Citations) -> str:
    versions = package_versions(results)
    named = ", ".join(f"{name} {number}" for name, number in versions.items())
    text = (
        f"The steps were run by Snakemake {citations.cite('snakemake')}; matrices are kept as "
        f"AnnData {citations.cite('anndata')}."
    )
    return f"{text} Versions: {named}." if named else text


def write_annotation(
    results: Sequence[DatasetResult], citations: Citations, sets: GeneSets | None = None
) -> str:
    """Describe how stability, locations and over-represented terms were computed, if they were."""
    columns = set().union(*(result.genes.columns for result in results))
    sentences = []
    if any(column.startswith("stability_") for column in columns):
        blocks = ""
        grouped = [result.name for result in results if "group" in result.obs]
        if any(result.spatial is not None and result.name not in grouped for result in results):
            blocks += (
                " Neighbours in space are near-copies of each other, so where positions are known "
                "these halves, and all other parts of the samples that are drawn, consist of whole "
                f"blocks of space {citations.cite('blocks')}."
            )
        if grouped:
            blocks += f" Those of {joined(grouped)} consist of whole groups of samples, as given."
        sentences.append(
            "The stability of a feature is the share of random halves of the samples, drawn "
            "without replacement, in which it is kept at the tuned sparsity "
            f"{citations.cite('stability')}; each half is clustered anew.{blocks}"
        )
    if "effect_cluster" in columns:
        sentences.append(
            "A feature is highest in the cluster with its largest mean; the effect there is "
            "Cohen’s d against all other samples, with the pooled standard deviation. It is only "
            "descriptive, since the clusters were found in the same data."
        )
    if any(result.enrichment is not None and len(result.enrichment) for result in results):
        sentences.append(_write_enrichment(results, citations))
        if sets is not None:
            counts = f"{len(sets.terms):,} terms and {len(sets.genes):,} genes"
            sentences.append(f"The gene sets contain {counts}.")
    return " ".join(sentences)


def _write_enrichment(results: Sequence[DatasetResult], citations: Citations) -> str:
    tested = [r.enrichment for r in results if r.enrichment is not None and len(r.enrichment)]
    sizes = [int(table["n_term"].min()) for table in tested]
    largest = [int(table["n_term"].max()) for table in tested]
    is_go = any(table["term"].str.startswith("GO:").any() for table in tested)
    terms = f"terms of the Gene Ontology {citations.cite('go')}" if is_go else "terms"
    return (
        f"Over-representation of {terms} was tested with a one-sided hypergeometric test against "
        "the features analysed that have any term, for terms that contain "
        f"{min(sizes)} to {max(largest)} of them; q-values are those of Benjamini and Hochberg "
        f"{citations.cite('fdr')} over the terms tested in each group."
        f"{_write_maps(tested, citations)}"
    )


def _write_maps(tested: Sequence[pd.DataFrame], citations: Citations) -> str:
    if not any(table["p_spatial"].notna().any() for table in tested):
        return ""
    return (
        " Categories of genes that are patterned in space are over-represented for many maps "
        f"{citations.cite('spatial')}; so each count is also compared with those of random maps, "
        "whose clusters are the voxels nearest to random voxels, and which keep as many features "
        "by score."
    )
