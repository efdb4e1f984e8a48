"""The first screen of a data set: the answer, how sure it is, and what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from sparsekm.io.known_classes import distinct_classes
from sparsekm.pipeline.registry import get_method
from sparsekm.reporting.cluster_colors import cluster_colors
from sparsekm.reporting.page_tables import Cell, name_some, nouns, write_range
from sparsekm.reporting.results import DatasetResult, MethodResult
from sparsekm.reporting.run_facts import joined
from sparsekm.tuning.separation import LEVEL

# Adjusted Rand index below which another fit found other clusters.
SAME = 0.9
# Share of fits below which the cluster of a sample is uncertain.
REPRODUCIBLE = 0.9
_NAMED_FEATURES = 20
_NAMED_PAIRS = 6
_SCALE = "1: identical, 0: chance"


@dataclass(frozen=True)
class Step:
    """Something to do next: a file to open (`link`, beside the page), or a command to copy."""

    text: str
    link: str = ""
    command: str = ""


@dataclass(frozen=True)
class AnswerView:
    """What the first screen says."""

    lead: str
    clusters: list[Cell]
    facts: list[tuple[str, str]]
    warnings: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)


def view_answer(result: DatasetResult, settings: Mapping[str, Any] | None = None) -> AnswerView:
    """State the answer of a data set; `settings` are those of its matrix in the configuration."""
    settings, method, words = settings or {}, result.primary, nouns(result)
    sizes = _sizes(method)
    apart = _tell_separation(method)
    facts = [
        ("How many", _tell_count(result, settings)),
        ("Apart?", apart),
        ("Reproducible?", _tell_reproducibility(method, words.samples)),
        ("Told apart by", _tell_signature(result)),
        ("Differ at all", _tell_kept(result)),
        ("Known classes" if not result.is_atlas else "Regions", _tell_classes(result)),
        ("Planted", _tell_planted(result)),
    ]
    return AnswerView(
        lead=_lead(result, len(sizes)),
        clusters=_view_clusters(result, sizes),
        facts=[(name, text) for name, text in facts if text],
        warnings=_warn(result),
        steps=_next_steps(result, settings, len(sizes)),
    )


def _sizes(method: MethodResult) -> dict[int, int]:
    numbers, counts = np.unique(method.labels, return_counts=True)
    return {int(number): int(count) for number, count in zip(numbers, counts, strict=True)}


def _lead(result: DatasetResult, n_clusters: int) -> str:
    words, method = nouns(result), result.primary
    origin = "simulated " if result.is_simulated else ""
    text = (
        f"{n_clusters} clusters of {result.n_samples:,} {origin}{words.samples}, found by "
        f"{method.title} in {result.n_features:,} {words.features}."
    )
    if method.separation is not None and not method.attributes.get("has_clusters", True):
        text += " None of them stands apart from the others."
    if method.separation is not None and method.signature is None:
        text += f" No small set of {words.features} tells them apart."
    return text


def _view_clusters(result: DatasetResult, sizes: Mapping[int, int]) -> list[Cell]:
    colors, best = cluster_colors(result), result.majorities
    return [
        Cell(
            f"cluster {number}: {size:,}" + (f", mostly {best[number]}" if number in best else ""),
            color=colors[number],
        )
        for number, size in sizes.items()
    ]


def _tell_count(result: DatasetResult, settings: Mapping[str, Any]) -> str:
    n_clusters = len(_sizes(result.primary))
    if result.counts is not None:
        counts = result.counts
        tried = f"{counts['n_clusters'].min()} to {counts['n_clusters'].max()}"
        if counts["n_groups"].max() == 1:
            return (
                f"K = {n_clusters}, the most reproducible of {tried}: no groups stand apart, "
                "whichever number is tried."
            )
        return f"K = {n_clusters}, estimated: the groups that stand apart if {tried} are tried."
    if settings.get("n_clusters") is None and result.labels is not None:
        n_classes = len(distinct_classes(result.labels))
        if n_classes == n_clusters:
            kind = nouns(result).labels if result.is_atlas else "known classes"
            return f"K = {n_clusters}, the number of {kind}; it was not estimated."
    return f"You set K = {n_clusters}; it was not estimated."


def _tell_separation(method: MethodResult) -> str:
    table = method.separation
    if table is None or table.empty:
        return ""
    is_apart = table["p_adjusted"] <= LEVEL
    touching = "they shade into each other, or cut a gradient into parts"
    if not is_apart.any():
        return f"No clusters stand apart: {touching}."
    if is_apart.all():
        n_clusters = len(_sizes(method))
        which = "Both clusters" if n_clusters == 2 else f"All {n_clusters} clusters"
        largest = table["p_adjusted"].max()
        level = "p < 0.001" if largest < 0.001 else f"p ≤ {largest:.2g}"
        return f"{which} stand apart: samples left out leave a gap between them ({level})."
    return (
        f"Apart: {_name_pairs(table[is_apart])}. Touching: {_name_pairs(table[~is_apart])}; "
        f"{touching}."
    )


def _name_pairs(table: pd.DataFrame) -> str:
    pairs = [f"{row.cluster_a} and {row.cluster_b}" for row in table.itertuples()]
    return name_some(pairs, _NAMED_PAIRS)


def _tell_reproducibility(method: MethodResult, samples: str) -> str:
    shares = method.reproducibility
    if shares is None or not np.isfinite(shares).any():
        return ""
    known = shares[np.isfinite(shares)]
    text = (
        f"Leaving out a tenth of the {samples} puts a sample into the same cluster in "
        f"{known.mean():.0%} of the fits"
    )
    few = int((known < REPRODUCIBLE).sum())
    return f"{text}; {few:,} {samples} in fewer than {REPRODUCIBLE:.0%}." if few else f"{text}."


def _tell_signature(result: DatasetResult) -> str:
    method, words = result.primary, nouns(result)
    agreement = method.attributes.get("signature_agreement")
    if agreement is None:
        return ""
    if method.signature is None:
        return (
            f"No small set of {words.features} tells the clusters apart: the best puts left-out "
            f"{words.samples} into them with agreement {agreement:.2f} ({_SCALE})."
        )
    ranked = sorted(method.signature, key=lambda feature: -method.scores[feature])
    names = name_some([str(result.var.index[feature]) for feature in ranked], _NAMED_FEATURES)
    count = len(ranked)
    what = words.features if count > 1 else words.features.removesuffix("s")
    # More than differ at all are no small set.
    need = f"{count:,} {what} suffice" if count <= method.n_kept else f"It takes {count:,} {what}"
    return (
        f"{need}: {names}. They put left-out {words.samples} into the clusters "
        f"with agreement {agreement:.2f} ({_SCALE})."
    )


def _tell_kept(result: DatasetResult) -> str:
    method, words = result.primary, nouns(result)
    if not method.is_sparse:
        return ""
    text = f"{method.n_kept:,} of {result.n_features:,} {words.features}"
    if method.attributes.get("limited"):
        share = method.n_kept / result.n_features
        text += f"; the limit of {share:.0%}, not the data, set this number"
    return f"{text}. Optimistic: these were chosen because they differ."


def _tell_classes(result: DatasetResult) -> str:
    method = result.primary
    if method.ari is None:
        return ""
    what = "regions" if result.is_atlas else "classes, which no method uses"
    text = f"agreement {method.ari:.2f} ({_SCALE}) with the {what}; error rate {method.cer:.3f}"
    if method.cer_chance is not None:
        text += f" (by chance {method.cer_chance:.3f})"
    if result.n_unlabelled:
        text += f"; {result.n_unlabelled:,} {nouns(result).samples} have none"
    return f"{text[0].upper()}{text[1:]}."


def _tell_planted(result: DatasetResult) -> str:
    method, planted = result.primary, result.planted
    if planted is None or not method.is_sparse:
        return ""
    found = int((method.weights[planted] != 0).sum())
    return (
        f"{found:,} of the {int(planted.sum()):,} {nouns(result).features} planted as relevant are "
        f"kept, and {method.n_kept - found:,} others."
    )


def agreements(result: DatasetResult) -> dict[str, float]:
    """Compute the adjusted Rand index of every other method's clusters with the answer."""
    method = result.primary
    return {
        name: float(adjusted_rand_score(method.labels, other.labels))
        for name, other in result.methods.items()
        if name != method.name
    }


def _warn(result: DatasetResult) -> list[str]:
    method = result.primary
    told = []
    if result.is_simulated:
        told.append("Simulated data: they show how well planted structure is recovered.")
    told += _warn_of_seeds(method)
    differing = {
        result.methods[name].title: value
        for name, value in agreements(result).items()
        if value < SAME
    }
    if differing:
        listed = joined(f"{title} ({value:.2f})" for title, value in differing.items())
        told.append(
            f"The methods disagree. Other groups, with their agreement ({_SCALE}): {listed}."
        )
    n_tuned = method.attributes.get("n_tuned")
    if n_tuned:
        told.append(
            f"Decided on {n_tuned:,} of the {result.n_samples:,} {nouns(result).samples}, drawn at "
            "random."
        )
    return told + [f"Input file: {remark}" for remark in result.provenance.get("remarks", ())]


def _warn_of_seeds(method: MethodResult) -> list[str]:
    """Tell how many fits from other seeds found other groups, and whether they fit better."""
    if method.seeds is None:
        return []
    others = method.seeds.iloc[1:]
    differing = others[others["agreement"] < SAME]
    if differing.empty:
        return []
    values = write_range(differing["agreement"], "{:.2f}".format)
    better = differing["objective"] > method.objective * (1 + 1e-9)
    text = f"{len(differing)} of {len(others)} restarts found other groups"
    if better.all():
        text += " with a better fit"
    elif better.any() and get_method(method.name).maximises:
        text += f", {int(better.sum())} of them with a better fit"
    return [f"{text} (agreement {values}; {_SCALE})."]


def _next_steps(
    result: DatasetResult, settings: Mapping[str, Any], n_clusters: int
) -> Sequence[Step]:
    words = nouns(result)
    opened = Step(f"Take along the cluster of all {words.samples}", f"{result.name}/clusters.csv")
    if result.is_atlas or not settings.get("path"):
        steps = [
            opened,
            Step(f"All {words.features} with their scores", f"{result.name}/genes.csv"),
        ]
        if result.majorities:
            text = f"The clusters of all methods against the {words.labels}"
            steps.append(Step(text, f"{result.name}/contingency.csv"))
        return steps
    other = Step(
        "Try another number of clusters",
        command=_command(
            settings, {"n_clusters": n_clusters + 1}, f"{result.name}-{n_clusters + 1}"
        ),
    )
    asked = {"n_clusters": n_clusters, "labels": "COLUMN"}
    batches = Step(
        "Are these batches? Compare them with a column of your table",
        command=_command(settings, asked, f"{result.name}-COLUMN"),
    )
    return [opened, other, batches]


def _command(settings: Mapping[str, Any], changes: Mapping[str, Any], output: str) -> str:
    """Write the command that repeats the run of a table with some settings changed."""
    words = ["sparsekm", "run", str(settings["path"])]
    for name, value in {**settings, **changes}.items():
        option = "--" + {"n_clusters": "clusters"}.get(name, name).replace("_", "-")
        if name == "path" or value is None or value == "auto":
            continue
        if isinstance(value, bool):
            words.append(option if value else option.replace("--", "--no-"))
        elif isinstance(value, str | int | float):
            words += [option, str(value)]
        else:
            words += [option, *map(str, value)]
    return shlex.join([*words, "--output", output])
