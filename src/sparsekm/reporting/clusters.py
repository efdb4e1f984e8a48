"""Clusters on the page: their colours, markers, known classes, batches and annotations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import to_hex

from sparsekm.annotation.clusters import associate, count_overlap
from sparsekm.figures.style import DROPPED, categorical_colors, shades
from sparsekm.io.known_classes import UNKNOWN, distinct_classes
from sparsekm.reporting.page_tables import Cell, TableView, caption, make_table, name_some
from sparsekm.reporting.results import DatasetResult


def view_anatomy(result: DatasetResult) -> dict[str, Any] | None:
    """Compare the clusters of the answer with known classes, if any: a sentence and the counts."""
    table, words = result.overlap, result.words
    if table is None:
        return None
    colors = class_colors(result) if result.is_atlas else {}
    present = set(table["label"])
    order = [label for label in colors if label in present]
    order += sorted(present - set(order))
    best = table[table["is_best"]]
    unmatched = ", ".join(label for label in order if label not in set(best["label"]))
    text = caption(
        "anatomy",
        share=best["n_shared"].sum() / table["n_shared"].sum(),
        words=words,
        n_matched=best["label"].nunique(),
        n_labels=len(order),
        unmatched=f" (not {unmatched})" if unmatched else "",
    )
    if result.n_unlabelled:
        text += " " + caption("unlabelled", n=result.n_unlabelled, words=words)
    counts = table.pivot_table("n_shared", "cluster", "label", "sum", fill_value=0)[order]
    cells = pd.DataFrame({"cluster": counts.index})
    for label, of_label in counts.items():
        shares = of_label / counts.sum(axis=1)
        texts = (f"{n:,}" if n else "" for n in of_label)
        head = Cell(str(label), color=colors.get(label, ""))
        cells[head] = [*map(_shaded, texts, shares)]
    contingency = make_table(
        caption("contingency", samples=words.samples.capitalize(), words=words),
        cells,
        simulated=result.is_simulated,
        kind="numbers contingency",
    )
    return {"sentence": text, "contingency": contingency}


def _shaded(text: str, share: float) -> Cell:
    return Cell(text, shade=round(100 * share))


_SHOWN = 5
_SMALLEST = 0.05  # a lead that is written as more than 0


def view_markers(result: DatasetResult) -> TableView | None:
    """Make a row for each cluster of the answer: the kept features highest, and lowest, in it."""
    words, method = result.words, result.primary
    numbers, sizes = np.unique(method.labels, return_counts=True)
    if len(numbers) < 2:
        return None
    kept, means = method.weights != 0, method.centers[numbers]
    names = result.var.index.astype(str).to_numpy()
    best, colors = result.majorities, class_colors(result)
    rows = []
    for place, (number, size) in enumerate(zip(numbers.tolist(), sizes, strict=True)):
        others = np.average(means, axis=0, weights=sizes * (numbers != number))
        lead = means[place] - others
        row = {"cluster": number, words.samples: size}
        if best:
            label = best.get(number, "")
            row["majority"] = Cell(label, color=colors.get(label, ""))
        for head, sign in (("higher", 1), ("lower", -1)):
            those = kept & (sign * lead >= _SMALLEST)
            found = _leads(names, lead, those)[:_SHOWN]
            row[f"{head} than in the others"] = ", ".join(found) or "none"
        if method.cluster_signatures is not None:
            few = _leads(names, lead, method.cluster_signatures[number] != 0)
            agrees = method.cluster_agreements[number]
            row["told from the others by"] = f"{name_some(few, _SHOWN) or 'none'} ({agrees:.2f})"
        rows.append(row)
    parts = ["markers", *([] if method.cluster_signatures is None else ["signatures"])]
    text, table = caption(*parts, words=words, name=result.name), pd.DataFrame(rows)
    kinds = dict.fromkeys(table.columns[2:], "text")
    return make_table(text, table, kinds, result.is_simulated, kind="numbers markers")


def _leads(names: np.ndarray, leads: np.ndarray, those: np.ndarray) -> list[str]:
    """Write the leads of those features, the farthest first."""
    ranked = np.flatnonzero(those)
    ranked = ranked[np.argsort(-np.abs(leads[ranked]), kind="stable")]
    return [f"{names[at]} {'−' if leads[at] < 0 else '+'}{abs(leads[at]):.1f}" for at in ranked]


_MOST_BATCHES = 8


def view_batches(result: DatasetResult) -> TableView | None:
    """Show the share of each batch in each cluster, as given and after centring within batches."""
    if result.batches is None:
        return None
    both, agreement = result.batches
    largest = both[0].sum().nlargest(_MOST_BATCHES).index
    clusters = both[0].index.union(both[1].index)
    parts = [pd.Series(["none" if cluster < 0 else cluster for cluster in clusters], clusters)]
    for counts in both:
        own = counts.reindex(clusters, fill_value=0)
        sizes = own.sum(axis=1)
        shares = own[largest].div(sizes.clip(lower=1), axis=0)
        parts += [sizes, shares.map(lambda share: _shaded(f"{share:.0%}", share))]
    answers, samples = ("as given", "centred"), result.words.samples
    heads = ["cluster"]
    for answer in answers:
        heads += [f"{samples}, {answer}", *map(str, largest)]
    table, text = pd.concat(parts, axis=1), caption("batches", agreement=agreement)
    table.columns = heads
    return make_table(text, table, {}, result.is_simulated, kind="numbers contingency")


def view_meanings(result: DatasetResult) -> TableView | None:
    """Show which annotations of the samples go with the clusters."""
    if not result.annotations:
        return None
    table = associate(result.primary.labels, result.annotations)
    table["effect"] = table["effect_name"] + table["effect"].map(" {:.2f}".format)
    table = table[["column", "test", "n", "effect", "p", "q"]].rename(columns={"n": "known"})
    kinds = {"test": "text", "p": ".2g", "q": ".2g"}
    return make_table(caption("meanings"), table, kinds, result.is_simulated)


def color_clusters(counts: pd.DataFrame, known: Mapping[str, str]) -> dict[int, str]:
    """Assign each cluster the colour of its majority class, in shades if several share a class.

    The cluster with the most samples of the class gets the colour of the class itself. `counts`
    are those of `count_overlap`; ties go to the first class.
    """
    colors, best = {}, counts.idxmax(axis=1)
    for label, clusters in best.groupby(best).groups.items():
        shared = counts.loc[clusters, label].sort_values(ascending=False, kind="stable")
        others = [color for name, color in known.items() if name != label]
        own = shades(known[label], len(shared), avoid=others)
        colors.update(zip(shared.index, own, strict=True))
    return {int(cluster): colors[cluster] for cluster in counts.index}


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
    others = sorted(present - set(listed), key=_natural)
    unknown = {UNKNOWN: DROPPED} if UNKNOWN in labels else {}
    return listed | dict(zip(others, categorical_colors(len(others)), strict=True)) | unknown


def cluster_colors(result: DatasetResult) -> dict[int, str]:
    """Return the colour of every cluster of the answer: that of its majority class, if any.

    Clusters that share a class have different shades; those without any known class are grey.
    """
    clusters = result.primary.labels
    numbers = np.unique(clusters).tolist()
    if result.labels is None:
        return dict(zip(numbers, categorical_colors(len(numbers)), strict=True))
    known = {name: color for name, color in class_colors(result).items() if name != UNKNOWN}
    counts = count_overlap(clusters, result.labels, list(known))
    return dict.fromkeys(numbers, DROPPED) | color_clusters(counts, known)


def _natural(name: str) -> tuple[int, float, str]:
    """Order "2" before "10", and numbers before words."""
    try:
        return 0, float(name), name
    except ValueError:
        return 1, 0.0, name
