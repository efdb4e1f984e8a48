"""The first screen of a data set: the answer, how sure it is, and what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from sparsekm.annotation.clusters import CATEGORY_EFFECT, STRONG, associate
from sparsekm.cluster.batches import LEAST_AGREEMENT, clusters_of_batches
from sparsekm.pipeline.registry import get_method
from sparsekm.reporting.clusters import cluster_colors
from sparsekm.reporting.page_tables import write_text
from sparsekm.reporting.results import DatasetResult
from sparsekm.tuning.separation import LEVEL

# Adjusted Rand index below which another fit found other clusters.
SAME = 0.9
# Share of fits below which the cluster of a sample is uncertain.
REPRODUCIBLE = 0.9
_FACTS = (
    *("How many", "Set aside", "Apart?", "Reproducible?", "Told apart by", "Differ at all"),
    *("Known classes", "Regions", "Planted"),
)
_WARNINGS = ("simulated", "batch", "batches", "seeds", "methods", "drawn")


def view_answer(result: DatasetResult, settings: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """State the answer of a data set: lead, clusters, facts, warnings and commands to copy.

    `settings` are those of its matrix in the configuration.
    """
    settings, method = settings or {}, result.primary
    numbers, counts = np.unique(method.labels, return_counts=True)
    names = result.obs.index.astype(str)
    shares = np.array([np.nan] if method.reproducibility is None else method.reproducibility)
    few = np.array([], int) if method.signature is None else method.signature
    few = few[np.argsort(-method.scores[few], kind="stable")]
    known = {
        "result": result,
        "method": method,
        "words": result.words,
        "settings": settings,
        "n_clusters": len(numbers),
        "outliers": [] if method.trimmed is None else list(names[method.trimmed.astype(bool)]),
        "signature": list(result.var.index[few].astype(str)),
        "reproducible": REPRODUCIBLE,
        "shares": shares[np.isfinite(shares)],
        "least": LEAST_AGREEMENT,
        "differing": [] if method.seeds is None else method.seeds[1:].query("agreement < @SAME"),
        "maximises": get_method(method.name).maximises,
        **_separation_facts(method.separation),
        **_comparison_facts(result),
    }

    def tell(part: str) -> str:
        return " ".join(write_text("answer_text.html", part=part, **known).split("\n"))

    return {
        "lead": tell("lead"),
        "sizes": dict(zip(numbers.tolist(), counts.tolist(), strict=True)),
        "colors": cluster_colors(result),
        "majorities": result.majorities,
        "facts": [(part, text) for part in _FACTS if (text := tell(part))],
        "warnings": [
            *(text for part in _WARNINGS if (text := tell(part))),
            *(f"Input file: {remark}" for remark in result.provenance.get("remarks", ())),
        ],
        "commands": _commands(result, settings, len(numbers)),
    }


def _separation_facts(table: pd.DataFrame | None) -> dict[str, Any]:
    """Name the pairs of clusters that stand apart, and those that touch."""
    found: dict[str, list[str]] = {"apart": [], "touch": []}
    for pair in () if table is None else table.itertuples():
        names = f"{pair.cluster_a} and {pair.cluster_b}"
        found["apart" if pair.p_adjusted <= LEVEL else "touch"].append(names)
    return found


def agreements(result: DatasetResult) -> dict[str, float]:
    """Compute the adjusted Rand index of every other method's clusters with the answer."""
    method = result.primary
    return {
        name: float(adjusted_rand_score(method.labels, other.labels))
        for name, other in result.methods.items()
        if name != method.name
    }


def _comparison_facts(result: DatasetResult) -> dict[str, Any]:
    """List the methods that disagree, and the columns and batches that are nearly the clusters."""
    found = agreements(result).items()
    table = associate(result.primary.labels, result.annotations)
    alike = table[(table["effect_name"] == CATEGORY_EFFECT) & (table["effect"] > STRONG)]
    named, centred = [], 1.0
    if result.batches is not None:
        (counts, _), centred = result.batches
        named = [
            f"cluster {counts.index[cluster]} is batch {counts.columns[batch]}"
            for cluster, batch in clusters_of_batches(counts.to_numpy())
        ]
    return {
        "of_batches": named,
        "centred": centred,
        "others": [f"{result.methods[m].title} ({v:.2f})" for m, v in found if v < SAME],
        "batches": [f"{row.column} (Cramér’s V {row.effect:.2f})" for row in alike.itertuples()],
    }


def _commands(
    result: DatasetResult, settings: Mapping[str, Any], n_clusters: int
) -> tuple[str, str] | None:
    """Write commands to copy: with another K, and with a column that may be batches."""
    if result.is_atlas or not settings.get("path"):
        return None
    other = {**settings, "n_clusters": n_clusters + 1}
    columns = [*(settings.get("annotate") or ()), "COLUMN"]
    with_column = {**settings, "n_clusters": n_clusters, "annotate": columns}
    return (
        _command(other, f"{result.name}-{n_clusters + 1}"),
        _command(with_column, f"{result.name}-COLUMN"),
    )


def _command(settings: Mapping[str, Any], output: str) -> str:
    """Write the command that runs a table with these settings."""
    # The command's own configurations name a table from their folder; it is typed beside that.
    words = ["sparsekm", "run", str(settings["path"]).removeprefix("../")]
    for name, value in settings.items():
        option = "--" + {"n_clusters": "clusters"}.get(name, name).replace("_", "-")
        if name == "path" or value is None or value == "auto":
            continue
        if isinstance(value, bool):
            words.append(option if value else option.replace("--", "--no-"))
        else:
            words += [option, *map(str, value if isinstance(value, list | tuple) else [value])]
    return shlex.join([*words, "--output", output])
