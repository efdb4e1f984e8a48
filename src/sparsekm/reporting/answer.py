"""The first screen of a data set: the answer, how sure it is, and what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from sparsekm.annotation.clusters import CATEGORY_EFFECT, STRONG, associate
from sparsekm.cluster.batches import LEAST_AGREEMENT, clusters_of_batches
from sparsekm.io.known_classes import distinct_classes
from sparsekm.pipeline.registry import get_method
from sparsekm.reporting.clusters import cluster_colors
from sparsekm.reporting.page_tables import Cell, name_some, nouns, write_range, write_text
from sparsekm.reporting.results import DatasetResult, MethodResult
from sparsekm.tuning.separation import LEVEL

# Adjusted Rand index below which another fit found other clusters.
SAME = 0.9
# Share of fits below which the cluster of a sample is uncertain.
REPRODUCIBLE = 0.9
_NAMED_FEATURES = 20
_NAMED_PAIRS = 6
_FACTS = (
    *("How many", "Set aside", "Apart?", "Reproducible?", "Told apart by", "Differ at all"),
    *("Known classes", "Regions", "Planted"),
)
_WARNINGS = ("simulated", "batch", "batches", "seeds", "methods", "drawn")


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
    settings, method = settings or {}, result.primary
    numbers, counts = np.unique(method.labels, return_counts=True)
    known = {
        "result": result,
        "method": method,
        "words": nouns(result),
        "n_clusters": len(numbers),
        **_count_facts(result, settings),
        **_separation_facts(method),
        **_feature_facts(result),
        **_seed_facts(method),
        **_comparison_facts(result),
        "outliers": name_some(_outliers(result), _NAMED_FEATURES),
    }

    def tell(part: str) -> str:
        return " ".join(write_text("answer_text.html", part=part, **known).split("\n"))

    colors, best = cluster_colors(result), result.majorities
    return AnswerView(
        lead=tell("lead"),
        clusters=[
            Cell(
                f"cluster {k}: {size:,}" + (f", mostly {best[k]}" if k in best else ""),
                color=colors[k],
            )
            for k, size in zip(numbers.tolist(), counts.tolist(), strict=True)
        ],
        facts=[(part, text) for part in _FACTS if (text := tell(part))],
        warnings=[
            *(text for part in _WARNINGS if (text := tell(part))),
            *(f"Input file: {remark}" for remark in result.provenance.get("remarks", ())),
        ],
        steps=_next_steps(result, settings, len(numbers)),
    )


def _count_facts(result: DatasetResult, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Give the numbers of clusters tried, or that of known classes if it is K."""
    if result.counts is not None:
        tried = result.counts["n_clusters"]
        return {"tried": f"{tried.min()} to {tried.max()}"}
    is_given = settings.get("n_clusters") is not None or result.labels is None
    return {"tried": "", "n_classes": 0 if is_given else len(distinct_classes(result.labels))}


def _separation_facts(method: MethodResult) -> dict[str, Any]:
    table, shares = method.separation, method.reproducibility
    known = np.array([]) if shares is None else shares[np.isfinite(shares)]
    found: dict[str, Any] = {
        "pairs": 0,
        "shares": known,
        "n_doubtful": int((known < REPRODUCIBLE).sum()),
        "reproducible": REPRODUCIBLE,
    }
    if table is not None and len(table):
        is_apart = table["p_adjusted"] <= LEVEL
        found |= {"pairs": len(table), "largest_p": table["p_adjusted"].max()}
        found |= {"apart": _name_pairs(table[is_apart]), "touch": _name_pairs(table[~is_apart])}
    return found


def _name_pairs(table: pd.DataFrame) -> str:
    pairs = [f"{row.cluster_a} and {row.cluster_b}" for row in table.itertuples()]
    return name_some(pairs, _NAMED_PAIRS)


def _feature_facts(result: DatasetResult) -> dict[str, Any]:
    """Name the features that suffice, and count those planted that were found."""
    method, planted = result.primary, result.planted
    found: dict[str, Any] = {"agreement": method.attributes.get("signature_agreement")}
    if method.signature is not None:
        ranked = sorted(method.signature, key=lambda feature: -method.scores[feature])
        names = [str(result.var.index[feature]) for feature in ranked]
        found |= {"n_signature": len(ranked), "signature": name_some(names, _NAMED_FEATURES)}
    if planted is None or not method.is_sparse:
        return found | {"planted": None}
    n_found = int((method.weights[planted] != 0).sum())
    return found | {"planted": int(planted.sum()), "found": n_found}


def _outliers(result: DatasetResult) -> list[str]:
    aside = result.primary.trimmed
    return [] if aside is None else result.obs.index[aside.astype(bool)].astype(str).tolist()


def _seed_facts(method: MethodResult) -> dict[str, Any]:
    """Count the fits from other seeds that found other groups, and those that fit better."""
    if method.seeds is None:
        return {"n_differing": 0}
    others = method.seeds.iloc[1:]
    differing = others[others["agreement"] < SAME]
    if differing.empty:
        return {"n_differing": 0}
    return {
        "n_differing": len(differing),
        "n_others": len(others),
        "n_better": int((differing["objective"] > method.objective * (1 + 1e-9)).sum()),
        "maximises": get_method(method.name).maximises,
        "differing": write_range(differing["agreement"], "{:.2f}".format),
    }


def agreements(result: DatasetResult) -> dict[str, float]:
    """Compute the adjusted Rand index of every other method's clusters with the answer."""
    method = result.primary
    return {
        name: float(adjusted_rand_score(method.labels, other.labels))
        for name, other in result.methods.items()
        if name != method.name
    }


def _comparison_facts(result: DatasetResult) -> dict[str, Any]:
    """List the methods that disagree, and the columns that are nearly the clusters."""
    found = agreements(result).items()
    table = associate(result.primary.labels, result.annotations)
    alike = table[(table["effect_name"] == CATEGORY_EFFECT) & (table["effect"] > STRONG)]
    return {
        **_batch_facts(result),
        "others": [f"{result.methods[m].title} ({v:.2f})" for m, v in found if v < SAME],
        "batches": [f"{row.column} (Cramér’s V {row.effect:.2f})" for row in alike.itertuples()],
    }


def _batch_facts(result: DatasetResult) -> dict[str, Any]:
    """List the clusters that are a batch, and how far the answer centred within batches agrees."""
    if result.batches is None:
        return {"of_batches": [], "centred": 1.0, "least": LEAST_AGREEMENT}
    (counts, _), agreement = result.batches
    named = [
        f"cluster {counts.index[cluster]} is batch {counts.columns[batch]}"
        for cluster, batch in clusters_of_batches(counts.to_numpy())
    ]
    return {"of_batches": named, "centred": agreement, "least": LEAST_AGREEMENT}


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
    more = f"{result.name}-{n_clusters + 1}"
    other = _command(settings, {"n_clusters": n_clusters + 1}, more)
    asked = {"n_clusters": n_clusters, "annotate": [*(settings.get("annotate") or ()), "COLUMN"]}
    batches = _command(settings, asked, f"{result.name}-COLUMN")
    return [
        opened,
        Step("Try another number of clusters", command=other),
        Step("Are these batches? Compare them with a column of your table", command=batches),
    ]


def _command(settings: Mapping[str, Any], changes: Mapping[str, Any], output: str) -> str:
    """Write the command that repeats the run of a table with some settings changed."""
    # The command's own configurations name a table from their folder; it is typed beside that.
    words = ["sparsekm", "run", str(settings["path"]).removeprefix("../")]
    for name, value in {**settings, **changes}.items():
        option = "--" + {"n_clusters": "clusters"}.get(name, name).replace("_", "-")
        if name == "path" or value is None or value == "auto":
            continue
        if isinstance(value, bool):
            words.append(option if value else option.replace("--", "--no-"))
        else:
            words += [option, *map(str, value if isinstance(value, list | tuple) else [value])]
    return shlex.join([*words, "--output", output])
