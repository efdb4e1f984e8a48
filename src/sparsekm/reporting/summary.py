"""The summary of the results, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from sparsekm.reporting.results import DatasetResult, MethodResult
from sparsekm.reporting.run_facts import describe_errors_of_text, joined
from sparsekm.reporting.tables import nouns, write_range
from sparsekm.tuning.consensus_fit import describe_counts


def summarise_run(results: Sequence[DatasetResult]) -> list[str]:
    """Summarise the results of the whole run in a few sentences."""
    methods = list(
        {m.name: m.title for result in results for m in result.methods.values()}.values()
    )
    sentences = [
        f"{_describe_data(results)} clustered with {joined(methods)}. Sparse methods group the "
        "samples and, at the same time, keep only the features that separate the groups."
    ]
    sentences += _simulation_warning(results)
    sentences += _missing_evidence(results)
    for name in ("l0", "l1", "sparse"):
        sentences += _kept_range(results, name)
    sentences += _shaped_by_settings(results)
    sentences += _compare_rates(results)
    sentences += _summarise_planted(results)
    sentences.append(f"Rates and numbers of features: {describe_errors_of_text(results)}.")
    return sentences


_NUMBERS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")


def _describe_data(results: Sequence[DatasetResult]) -> str:
    ages = [result for result in results if result.is_atlas]
    matrices = [result for result in results if not result.is_atlas]
    parts = []
    if ages:
        simulated = "simulated " if all(result.is_simulated for result in ages) else ""
        count = _count(ages, "age", "ages")
        parts.append(f"{count} of the {simulated}developing mouse brain ({_names(ages)})")
    if matrices:
        simulated = "simulated " if all(result.is_simulated for result in matrices) else ""
        count = _count(matrices, f"{simulated}data matrix", f"{simulated}data matrices")
        parts.append(f"{count} ({_names(matrices)})")
    text = " and ".join([parts[0], *(part[0].lower() + part[1:] for part in parts[1:])])
    return f"{text} {'was' if len(results) == 1 else 'were'}"


def _count(group: Sequence[DatasetResult], one: str, many: str) -> str:
    n = len(group)
    return f"{_NUMBERS[n] if n < len(_NUMBERS) else n} {one if n == 1 else many}"


def _names(group: Sequence[DatasetResult]) -> str:
    return ", ".join(result.name for result in group)


def _simulation_warning(results: Sequence[DatasetResult]) -> list[str]:
    simulated = [result.name for result in results if result.is_simulated]
    if not simulated:
        return []
    if len(simulated) == len(results):
        return [
            "All results in this report come from simulated data: they show how well planted "
            "structure is recovered, and say nothing about real brains or tissues."
        ]
    return [f"The results for {joined(simulated)} come from simulated data."]


def _missing_evidence(results: Sequence[DatasetResult]) -> list[str]:
    without = [
        result.name
        for result in results
        if not all(m.attributes.get("has_clusters", True) for m in result.methods.values())
    ]
    if not without:
        return []
    return [
        f"No clusters of {joined(without)} stand apart: every method returns the requested number "
        "of clusters, which may be groups that shade into each other."
    ]


def _kept_range(results: Sequence[DatasetResult], name: str) -> list[str]:
    having = [result for result in results if name in result.methods]
    if not having:
        return []
    runs = [(result.methods[name], result.n_features) for result in having]
    noun = nouns(having[0]).features
    title = runs[0][0].title
    shares = [method.n_kept / n_features for method, n_features in runs]
    if len(runs) == 1:
        method, n_features = runs[0]
        return [f"{title} keeps {method.n_kept:,} of {n_features:,} {noun} ({shares[0]:.0%})."]
    if min(shares) == 1:
        reason = ": the gap made no selection" if runs[0][0].gap is not None else ""
        return [f"{title} keeps every feature of every data set{reason}."]
    least, most = f"{min(shares):.0%}", f"{max(shares):.0%}"
    if least == most:
        return [f"{title} keeps {most} of the features of every data set."]
    return [f"{title} keeps between {least} and {most} of the features."]


def _shaped_by_settings(results: Sequence[DatasetResult]) -> list[str]:
    """List the numbers of kept features and of clusters that a setting decided, not the data."""
    causes = (
        (
            "the limit of the rule auto on correlated features",
            lambda method: method.attributes.get("limited", False),
        ),
        ("an end of the grid of sparsities", _is_at_end),
    )
    found = []
    for cause, applies in causes:
        for title in dict.fromkeys(m.title for r in results for m in r.methods.values()):
            names = [
                result.name
                for result in results
                for method in result.methods.values()
                if method.title == title and applies(method)
            ]
            if names:
                found.append(f"{cause} decided how many features {title} keeps in {joined(names)}")
    given = [result.name for result in results if result.counts is None]
    if given:
        named = "all data sets" if 1 < len(given) == len(results) else joined(given)
        found.append(f"the number of clusters was given for {named}")
    return [f"Settings, not the data, shaped these numbers: {'; '.join(found)}."] if found else []


def _is_at_end(method: MethodResult) -> bool:
    """Tell whether the sparsest or the densest fit tried was chosen, and not all features."""
    tried = method.gap
    if tried is None or method.n_kept == method.weights.size:
        return False
    return method.sparsity in (tried["sparsity"].min(), tried["sparsity"].max())


def _compare_rates(results: Sequence[DatasetResult]) -> list[str]:
    compared = [found for name in ("l0", "sparse") if (found := _compare_rate(results, name))]
    if not compared:
        return []
    return [
        "Compared with the known labels, which no method uses, the classification error rate "
        f"{'; that '.join(compared)}."
    ]


def _compare_rate(results: Sequence[DatasetResult], name: str) -> str:
    runs = [r.methods for r in results if {name, "kmeans"} <= set(r.methods)]
    pairs = [(methods[name], methods["kmeans"]) for methods in runs]
    known = [(own, plain) for own, plain in pairs if None not in (own.cer, plain.cer)]
    if not known:
        return ""
    title = runs[0][name].title
    # Ranges over seeds that overlap show no difference.
    lower = sum(own.over_seeds("cer")[1] < plain.over_seeds("cer")[0] for own, plain in known)
    higher = sum(own.over_seeds("cer")[0] > plain.over_seeds("cer")[1] for own, plain in known)
    better = sum(own.over_seeds("ari")[0] > plain.over_seeds("ari")[1] for own, plain in known)
    neither = len(known) - lower - higher
    if len(known) == 1:
        own, plain = known[0]
        overlap = " (the ranges over seeds overlap)" if neither and own.cer != plain.cer else ""
        return (
            f"of {title} is {own.cer:.4f} (k-means: {plain.cer:.4f}){overlap}, and the adjusted "
            f"Rand index, which corrects for chance, is {own.ari:.4f} ({plain.ari:.4f})"
        )
    same = f" and not distinguishable from it in {neither}" if neither else ""
    return (
        f"of {title} is lower than that of k-means in {lower} of {len(known)} data sets{same}, and "
        f"its adjusted Rand index, which corrects for chance, is higher in {better}"
    )


def _summarise_planted(results: Sequence[DatasetResult]) -> list[str]:
    known = [r for r in results if r.planted is not None and "l0" in r.methods]
    if not known:
        return []
    planted = sum(int(r.planted.sum()) for r in known)
    kept = sum(r.methods["l0"].n_kept for r in known)
    found = sum(int((r.methods["l0"].weights[r.planted] != 0).sum()) for r in known)
    others = kept - found
    # A gene of several ages counts once at each.
    counted = nouns(known[0]).features
    if len(known) > 1:
        ages_only = all(result.is_atlas for result in known)
        counted = "gene-age pairs" if ages_only else "pairs of a feature and a data set"
    return [
        f"Of {planted:,} {counted} planted as relevant, ℓ₀-k-means keeps {found:,}; of the "
        f"{kept:,} {counted} it keeps, {others:,} {'was' if others == 1 else 'were'} not."
    ]


def summarise_dataset(result: DatasetResult) -> list[str]:
    """Summarise the results for one data set in a few sentences."""
    words = nouns(result)
    sentences = [f"Input file: {remark}" for remark in result.provenance.get("remarks", ())]
    sentences += [] if result.counts is None else [f"{describe_counts(result.counts)}."]
    sentences += [_summarise_method(method, result) for method in result.methods.values()]
    genes = result.genes
    if "verdict" in genes:
        counts = genes["verdict"].value_counts()
        sentences.append(
            f"ℓ₀ and ℓ₁ both keep {counts.get('kept by both', 0):,} {words.features}; "
            f"{counts.get('only l1', 0):,} are kept by ℓ₁ alone, {counts.get('only l0', 0):,} by "
            f"ℓ₀ alone, {counts.get('neither', 0):,} by neither."
        )
    errors = describe_errors_of_text([result])
    return [*sentences, f"Rates and numbers of {words.features}: {errors}."]


def _summarise_method(method: MethodResult, result: DatasetResult) -> str:
    words = nouns(result)
    if method.is_sparse:
        share = method.n_kept / result.n_features
        text = (
            f"{method.title} keeps {method.n_kept:,} of {result.n_features:,} {words.features} "
            f"({share:.0%})"
        )
        if result.planted is not None:
            found = int((method.weights[result.planted] != 0).sum())
            text += (
                f", including {found:,} of the {int(result.planted.sum()):,} planted as relevant"
            )
    else:
        text = f"{method.title} uses all {result.n_features:,} {words.features}"
    if method.cer is not None:
        text += (
            f"; its classification error rate against the {words.labels} is {method.cer:.4f}, its "
            f"adjusted Rand index {method.ari:.4f}"
        )
        if result.n_unlabelled:
            text += f" ({result.n_unlabelled:,} {words.samples} have no known label)"
    text += _summarise_seeds(method)
    n_tuned = method.attributes.get("n_tuned")
    if n_tuned:
        text += (
            f"; the sparsity was chosen on {n_tuned:,} of the {result.n_samples:,} {words.samples}"
        )
    conclusion = method.attributes.get("conclusion")
    return f"{text}. {conclusion}" if conclusion else f"{text}."


def _summarise_seeds(method: MethodResult) -> str:
    if method.seeds is None:
        return ""
    others = method.seeds[1:]
    many = f"{len(others)} fits from other seeds agree"
    count = many if len(others) > 1 else "a fit from another seed agrees"
    agreement = write_range(others["agreement"], "{:.3f}".format)
    text = f"; {count} with these clusters with an adjusted Rand index of {agreement}"
    if method.is_sparse:
        kept = write_range(others["n_kept_too"], "{:,}".format)
        text += f" and share {kept} of the features kept"
    return text
