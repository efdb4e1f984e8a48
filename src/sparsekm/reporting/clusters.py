"""The result on the page: the first screen of a data set, then tables about its clusters."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import to_hex
from sklearn.metrics import adjusted_rand_score

from sparsekm.annotation.clusters import (
    CATEGORY_EFFECT,
    associate,
    average_within,
    count_overlap,
    cover_features,
    majority_classes,
)
from sparsekm.cluster.batches import COINCIDE, LEAST_AGREEMENT, WITHIN_SUFFIX, describe_association
from sparsekm.figures.style import DROPPED, categorical_colors, shades
from sparsekm.io.known_classes import UNKNOWN, distinct_classes
from sparsekm.io.readers.messages import name_some
from sparsekm.pipeline.registry import method_look
from sparsekm.reporting.page import Cell, TableView, caption, make_table, write_text
from sparsekm.reporting.results import DatasetResult
from sparsekm.tuning.separation import LEVEL, could_tell

# Adjusted Rand index below which another fit found other clusters, and another method disagrees.
SAME, DISAGREES = 0.9, 0.8
# Share of fits below which the cluster of a sample is uncertain.
REPRODUCIBLE = 0.9
_FACTS = (
    *("How many", "Set aside", "Separated?", "Reproducible?", "Signature", "Differ at all"),
    *("Known classes", "Regions", "Planted"),
)
_WARNINGS = ("simulated", "batch", "batches", "seeds", "methods", "drawn")


def view_answer(result: DatasetResult, settings: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """State the result of a data set: lead, clusters, facts, warnings and commands to copy.

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
        "look": method_look(method.name),
        **_separation_facts(method.separation),
        **_comparison_facts(result),
    }

    def tell(part: str) -> str:
        return " ".join(write_text("answer_text.html", part=part, **known).split("\n"))

    return {
        "lead": tell("lead"),
        "noun": "part" if method.is_division else "cluster",
        "sizes": dict(zip(numbers.tolist(), counts.tolist(), strict=True)),
        "colors": cluster_colors(result),
        "majorities": result.majorities,
        "has_classes": result.labels is not None,
        "facts": [(part, text) for part in _FACTS if (text := tell(part))],
        "warnings": [
            *(text for part in _WARNINGS if (text := tell(part))),
            *(f"Input file: {remark}" for remark in result.provenance.get("remarks", ())),
        ],
        "other_scale": _other_scale(result, settings),
        "commands": _commands(result, settings, len(numbers)),
        "within": view_within(result),
    }


def _separation_facts(table: pd.DataFrame | None) -> dict[str, Any]:
    """Name the pairs of clusters that are separated, overlapping, or too small to tell."""
    if table is None:
        return {"apart": [], "touch": [], "few": []}
    names = table["cluster_a"].astype(str) + " and " + table["cluster_b"].astype(str)
    is_apart, can_tell = table["p_adjusted"] <= LEVEL, could_tell(table)
    kinds = {"apart": is_apart, "touch": can_tell & ~is_apart, "few": ~can_tell}
    return {kind: names[of].tolist() for kind, of in kinds.items()}


def agreements(result: DatasetResult) -> dict[str, float]:
    """Compute the adjusted Rand index of every other method's clusters with the result."""
    method = result.primary
    return {
        name: float(adjusted_rand_score(method.labels, other.labels))
        for name, other in result.methods.items()
        if name != method.name
    }


def _comparison_facts(result: DatasetResult) -> dict[str, Any]:
    """List the methods that disagree, and columns and batches that nearly equal the clusters."""
    found = agreements(result).items()
    table = associate(result.primary.labels, _unnamed(result))
    is_alike = (table["effect_name"] == CATEGORY_EFFECT) & (table["effect"] >= COINCIDE)
    # With few samples the effect is large by chance.
    alike = table[is_alike & (table["q"] <= LEVEL)]
    associated, centred, sizes = "", 1.0, []
    if result.batches is not None:
        (counts, within), centred = result.batches
        associated = describe_association(counts.to_numpy())
        sizes = within.sum(axis=1).tolist()
    return {
        "of_batches": associated,
        "centred": centred,
        "sizes_within": sizes,
        "others": [f"{method_look(m).title} ({v:.2f})" for m, v in found if v < DISAGREES],
        "batches": [f"{row.column} (Cramér’s V {row.effect:.2f})" for row in alike.itertuples()],
    }


def _unnamed(result: DatasetResult) -> dict[str, pd.Series]:
    """Return the annotations without batches, which are described separately."""
    return {k: v for k, v in result.annotations.items() if k != "batch" or not result.batches}


def _commands(
    result: DatasetResult, settings: Mapping[str, Any], n_clusters: int
) -> dict[str, str]:
    """Write commands to copy: with another K, and with a column that may be batches."""
    if result.is_atlas or not settings.get("path"):
        return {}
    other = {**settings, "n_clusters": n_clusters + 1}
    found = {"Try another number of clusters": _command(other, f"{result.name}-{n_clusters + 1}")}
    if result.batches is None and not result.primary.is_division:
        columns = [*(settings.get("annotate") or ()), "COLUMN"]
        asked = {**settings, "n_clusters": n_clusters, "annotate": columns}
        text = "Are these batches? Compare them with a column of your table"
        found[text] = _command(asked, f"{result.name}-COLUMN")
    return found


def _other_scale(result: DatasetResult, settings: Mapping[str, Any]) -> str:
    """Write the command with the other normalisation if it is doubtful whether these are counts."""
    other = result.provenance.get("doubted_for")
    if not other or not settings.get("path"):
        return ""
    without = {key: of for key, of in settings.items() if key != "n_top_features"}
    return _command({**without, "normalise": other}, f"{result.name}-{other}")


def _command(settings: Mapping[str, Any], output: str) -> str:
    """Write the command that runs a table with these settings."""
    # The command's configurations name a table relative to their folder; here it is relative to the
    # parent folder.
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


_SHOWN, _MOST_CLASSES = 5, 8
_SMALLEST = 0.5  # standard deviations from which a difference marks a cluster


def view_markers(result: DatasetResult) -> TableView | None:
    """Make a row for each cluster of the result: its classes, and the features that mark it."""
    words, method = result.words, result.primary
    if len(np.unique(method.labels)) < 2:
        return None
    every, names = cover_features(result.normalised, {"": method})[1][""], result.all_features
    n_unused, kept = len(names) - result.n_features, every.weights != 0
    is_used = np.ones(len(names), bool)
    if n_unused:
        is_used = np.isin(names, result.var.index.astype(str))
    # Features that were not clustered, too, if they differ as much as those kept.
    kept |= ~is_used & (every.scores >= every.scores[kept].min())
    centers = every.centers.copy()
    centers[:, is_used] = method.measured_centers
    means, place = pd.DataFrame(centers).loc[np.unique(method.labels)], 2
    table, leads = _mark(result, method.labels, means, kept, names)
    if result.labels is not None:
        best, colors = result.majorities, class_colors(result)
        shares = pd.crosstab(method.labels, result.labels, normalize="index")
        told = []
        for cluster, own in shares.rename(columns={UNKNOWN: "unknown"}).iterrows():
            own = own[own >= 0.005].sort_values(ascending=False, kind="stable")
            text = name_some([f"{name} {share:.0%}" for name, share in own.items()], _MOST_CLASSES)
            told.append(Cell(text, color=colors[best[cluster]] if cluster in best else ""))
        table.insert(place, words.labels, told)
    if method.cluster_signatures is not None:
        told, of_used = [], np.flatnonzero(is_used)
        for lead, cluster in zip(leads, means.index, strict=True):
            own, agrees = method.cluster_signatures[cluster], method.cluster_agreements[cluster]
            few = [] if own is None else _leads(names, lead, of_used[own])
            told.append(f"{name_some(few, _SHOWN) or 'none'} ({agrees:.2f})")
        table["identified by"] = told
    parts = ["markers", *["markers_of_all"] * (n_unused > 0)]
    parts += [] if method.cluster_signatures is None else ["signatures"]
    text = caption(*parts, words=words, name=result.name, smallest=_SMALLEST, n=n_unused)
    kinds = dict.fromkeys(table.columns[2:], "text")
    return make_table(text, table, kinds, result.is_simulated, kind="numbers markers")


def view_within(result: DatasetResult) -> TableView | None:
    """Make a row for each cluster of values centred within batches, where they differ."""
    if result.batches is None:
        return None
    (counts, _), agreement = result.batches
    if agreement >= LEAST_AGREEMENT and not describe_association(counts.to_numpy()):
        return None
    labels, batch = result.primary.batch_centred, result.obs["batch"].astype(str).to_numpy()
    means = average_within(result.normalised, labels, batch)
    names = result.var.index.astype(str).to_numpy()
    table, _ = _mark(result, labels, means, np.ones(len(names), bool), names)
    text = caption("within", column=f"cluster_{result.primary.name}{WITHIN_SUFFIX}")
    kinds = dict.fromkeys(table.columns[2:], "text")
    return make_table(text, table, kinds, result.is_simulated, kind="numbers markers")


def _mark(
    result: DatasetResult,
    labels: np.ndarray,
    means: pd.DataFrame,
    among: np.ndarray,
    names: np.ndarray,
) -> tuple[pd.DataFrame, np.ndarray]:
    """Name the features that are highest, and lowest, in each cluster; return also their leads.

    `means` (n_clusters, n_features) are those of the clusters, its index. `among` (n_features,) are
    the features that may be named, and `names` the names of all.
    """
    sizes = pd.Series(labels).value_counts().reindex(means.index).to_numpy()
    # How far each mean is from that of all other samples.
    rest = (sizes @ means.to_numpy() - sizes[:, None] * means) / (sizes.sum() - sizes)[:, None]
    leads = (means - rest).to_numpy()
    table = pd.DataFrame({"cluster": ["none" if k < 0 else k for k in means.index]})
    table[result.words.samples] = sizes
    for head, sign in (("higher", 1), ("lower", -1)):
        far = [np.flatnonzero(among & (sign * lead >= _SMALLEST)) for lead in leads]
        named = [_leads(names, *own)[:_SHOWN] for own in zip(leads, far, strict=True)]
        table[f"{head} than in the others"] = [", ".join(own) or "none" for own in named]
    return table, leads


def _leads(names: np.ndarray, leads: np.ndarray, those: np.ndarray) -> list[str]:
    """Write the leads of those features, by index, the farthest first."""
    ranked = those[np.argsort(-np.abs(leads[those]), kind="stable")]
    return [f"{names[at]} {'−' if leads[at] < 0 else '+'}{abs(leads[at]):.1f}" for at in ranked]


def view_meanings(result: DatasetResult) -> TableView | None:
    """Show which annotations of the samples go with the clusters."""
    columns = _unnamed(result)
    if not columns:
        return None
    table = associate(result.primary.labels, columns)
    table["effect"] = table["effect_name"] + table["effect"].map(" {:.2f}".format)
    table = table[["column", "test", "n", "effect", "p", "q"]].rename(columns={"n": "known"})
    kinds = {"test": "text", "p": ".2g", "q": ".2g"}
    return make_table(caption("meanings"), table, kinds, result.is_simulated)


def color_clusters(
    labels: np.ndarray, classes: np.ndarray, known: Mapping[str, str]
) -> dict[int, str]:
    """Assign each cluster the colour of its majority class, in shades if several share a class.

    The cluster with the most samples of the class gets the colour of the class itself, and one
    without a majority class a colour that no class has. `known` are the colours of the classes.
    """
    counts, best = count_overlap(labels, classes, list(known)), majority_classes(labels, classes)
    named: dict[str, list[int]] = {}
    for cluster, label in best.items():
        named.setdefault(label, []).append(cluster)
    colors: dict[int, str] = {}
    for label, clusters in named.items():
        ranked = counts.loc[clusters, label].sort_values(ascending=False, kind="stable").index
        others = [color for name, color in known.items() if name != label]
        own = shades(known[label], len(ranked), avoid=others)
        colors.update(zip(map(int, ranked), own, strict=True))
    numbers = np.unique(labels).tolist()
    free = categorical_colors(len(numbers) - len(colors), [*known.values(), *colors.values()])
    colors.update(zip([k for k in numbers if k not in colors], free, strict=True))
    return {cluster: colors[cluster] for cluster in numbers}


def class_colors(result: DatasetResult) -> dict[str, str]:
    """Return the colour of every known class; samples without a class are grey.

    Regions come in the order and colours of the atlas; other classes follow.
    """
    labels, listed = result.labels, {}
    if labels is None:
        return {}
    present = set(distinct_classes(labels))
    if result.is_atlas:
        regions = result.regions[["acronym", "color"]].astype(str).itertuples(index=False)
        # The ontology omits the # before a colour.
        listed = {r: to_hex("#" + c.removeprefix("#")) for r, c in regions if r in present}
    others = sorted(present - set(listed))
    unknown = {UNKNOWN: DROPPED} if UNKNOWN in labels else {}
    return listed | dict(zip(others, categorical_colors(len(others)), strict=True)) | unknown


def cluster_colors(result: DatasetResult) -> dict[int, str]:
    """Return the colour of every cluster of the answer, see `color_clusters`."""
    known = {name: color for name, color in class_colors(result).items() if name != UNKNOWN}
    classes = np.full(result.n_samples, UNKNOWN) if result.labels is None else result.labels
    return color_clusters(result.primary.labels, classes, known)
