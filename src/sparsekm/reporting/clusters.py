"""Clusters on the page: their colours, markers, known classes, regions, batches and annotations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import to_hex

from sparsekm.annotation.clusters import associate, count_overlap
from sparsekm.figures.style import DROPPED, categorical_colors, shades
from sparsekm.io.known_classes import UNKNOWN, distinct_classes
from sparsekm.reporting.page_tables import Cell, Column, TableView, caption, make_table, name_some
from sparsekm.reporting.results import DatasetResult


def view_anatomy(result: DatasetResult) -> dict[str, Any] | None:
    """Compare the clusters of the answer with known classes, if any: a sentence and the counts."""
    table, words = result.overlap, result.words
    if table is None:
        return None
    colors = region_colors(result) if result.is_atlas else {}
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
    counts = table.pivot(index="cluster", columns="label", values="n_shared")
    counts = counts.reindex(columns=order).fillna(0).astype(int)
    names = dict(zip(table["label"], table["name"], strict=True))
    heads = [Column(label, color=colors.get(label, ""), hover=names[label]) for label in order]
    contingency = make_table(
        caption("contingency", samples=words.samples.capitalize(), words=words),
        [Column("cluster"), *heads],
        (
            [cluster, *(_shaded(f"{n:,}" if n else "", n / row.sum()) for n in row)]
            for cluster, row in counts.iterrows()
        ),
        result.is_simulated,
        kind="numbers contingency",
    )
    return {"sentence": text, "contingency": contingency}


def _shaded(text: str, share: float) -> Cell:
    return Cell(text, shade=round(100 * share))


def view_regions(result: DatasetResult) -> TableView | None:
    """List the regions of an atlas age with their colour, name and size.

    With the overlap of clusters, also the cluster of the primary method that shares most voxels
    with the region (ties go to the lowest); with planted truth, the number of markers planted in
    it and how many of them the primary method keeps.
    """
    if not result.is_atlas:
        return None
    colors, title = region_colors(result), result.primary.title
    regions = result.regions.astype(str)
    names = dict(zip(regions["acronym"], regions["name"], strict=True))
    table = pd.DataFrame({"name": [names.get(name, "") for name in colors]}, index=list(colors))
    table["voxels"] = result.obs["region"].astype(str).value_counts()
    parts = ["regions"]
    if result.overlap is not None:
        parts.append("best_cluster")
        best = result.overlap.sort_values(["n_shared", "cluster"], ascending=[False, True])
        best = best.drop_duplicates("label").set_index("label")
        shares = best[["cluster", "share_of_label", "share_of_cluster"]]
        table[["best cluster", "covered", "purity"]] = shares
    recall = planted_recall(result)
    if recall is not None:
        parts.append("planted")
        table = table.join(recall).fillna(dict.fromkeys(recall, 0))
    kinds = {"name": "text", "voxels": ",", "covered": ".0%", "purity": ".0%"}
    return make_table(
        caption(*parts, name=result.name, title=title),
        {"acronym": "", **{head: kinds.get(head, ".0f") for head in table}},
        ([Cell(name, color=colors[name]), *row] for name, *row in table.itertuples()),
        result.is_simulated,
    )


def planted_recall(result: DatasetResult) -> pd.DataFrame | None:
    """Count for each region the genes planted there, and those of them that are kept.

    None without planted regions, or if the primary method keeps every gene by design.
    """
    genes, method = result.genes, result.primary
    if "planted_regions" not in genes or not method.is_sparse:
        return None
    planted = genes[genes["relevant"].astype(bool)]
    regions = planted["planted_regions"].astype(str).str.split(";")
    found = planted.assign(region=regions, kept=planted[f"weight_{method.name}"] != 0)
    found = found.explode("region").query("region != ''")
    return found.groupby("region")["kept"].agg(planted="size", kept="sum")


_SHOWN = 5
_SMALLEST = 0.05  # a lead that is written as more than 0


def view_markers(result: DatasetResult) -> TableView | None:
    """Make a row for each cluster of the answer: the kept features highest, and lowest, in it.

    Features are sorted by how far the mean of the cluster is from that of all other samples.
    """
    words, method = result.words, result.primary
    numbers, sizes = np.unique(method.labels, return_counts=True)
    if len(numbers) < 2:
        return None
    kept, means = np.flatnonzero(method.weights), method.centers[numbers]
    names = result.var.index.astype(str).to_numpy()
    best, colors = result.majorities, class_colors(result)
    rows = []
    for place, (number, size) in enumerate(zip(numbers, sizes, strict=True)):
        others = np.average(means, axis=0, weights=sizes * (numbers != number))
        lead = means[place] - others
        label = best.get(int(number), "")
        majority = [Cell(label, color=colors.get(label, ""))] if best else []
        cells = [_name_leads(names[kept], sign * lead[kept], sign) for sign in (1, -1)]
        if method.cluster_signatures is not None:
            few = np.flatnonzero(method.cluster_signatures[number])
            few = few[np.argsort(-np.abs(lead[few]), kind="stable")]
            signed = [_sign(name, value) for name, value in zip(names[few], lead[few], strict=True)]
            agrees = method.cluster_agreements[number]
            cells.append(f"{name_some(signed, _SHOWN) or 'none'} ({agrees:.2f})")
        rows.append([number, size, *majority, *cells])
    heads = {"cluster": "", words.samples: ",", **({"majority": "text"} if best else {})}
    heads |= {"higher than in the others": "text", "lower than in the others": "text"}
    parts = ["markers"]
    if method.cluster_signatures is not None:
        heads["told from the others by"] = "text"
        parts.append("signatures")
    text = caption(*parts, words=words, name=result.name)
    return make_table(text, heads, rows, result.is_simulated, kind="numbers markers")


def _sign(name: str, lead: float) -> str:
    return f"{name} {'−' if lead < 0 else '+'}{abs(lead):.1f}"


def _name_leads(names: np.ndarray, leads: np.ndarray, sign: int) -> str:
    ranked = np.argsort(-leads, kind="stable")[: np.count_nonzero(leads >= _SMALLEST)]
    return ", ".join(_sign(names[at], sign * leads[at]) for at in ranked[:_SHOWN]) or "none"


_MOST_BATCHES = 8


def view_batches(result: DatasetResult) -> TableView | None:
    """Show the share of each batch in each cluster, as given and after centring within batches."""
    if result.batches is None:
        return None
    both, agreement = result.batches
    largest = both[0].sum().nlargest(_MOST_BATCHES).index
    rows = []
    for cluster in both[0].index.union(both[1].index):
        row = ["none" if cluster < 0 else cluster]
        for counts in both:
            own = counts.reindex([cluster], fill_value=0).iloc[0]
            shares = own[largest] / max(own.sum(), 1)
            row += [f"{own.sum():,}", *(_shaded(f"{share:.0%}", share) for share in shares)]
        rows.append(row)
    samples = result.words.samples
    heads = ["cluster"]
    for answer in ("as given", "centred"):
        heads += [f"{samples}, {answer}", *map(str, largest)]
    columns, text = map(Column, heads), caption("batches", agreement=agreement)
    return make_table(text, columns, rows, result.is_simulated, kind="numbers contingency")


def view_meanings(result: DatasetResult) -> TableView | None:
    """Show which annotations of the samples go with the clusters."""
    if not result.annotations:
        return None
    table = associate(result.primary.labels, result.annotations)
    effects = table["effect_name"] + table["effect"].map(" {:.2f}".format)
    return make_table(
        caption("meanings"),
        {"column": "", "test": "text", "known": ",", "effect": "", "p": ".2g", "q": ".2g"},
        table.assign(effect=effects)[["column", "test", "n", "effect", "p", "q"]].to_numpy(object),
        result.is_simulated,
    )


def color_clusters(counts: pd.DataFrame, known: Mapping[str, str]) -> dict[int, str]:
    """Assign each cluster the colour of its majority region, in shades if several share a region.

    The cluster with the most samples of the region gets the colour of the region itself. `counts`
    are those of `count_overlap`; ties go to the first region.
    """
    colors, best = {}, counts.idxmax(axis=1)
    for region, clusters in best.groupby(best).groups.items():
        shared = counts.loc[clusters, region].sort_values(ascending=False, kind="stable")
        others = [color for name, color in known.items() if name != region]
        own = shades(known[region], len(shared), avoid=others)
        colors.update(zip(shared.index, own, strict=True))
    return {int(cluster): colors[cluster] for cluster in counts.index}


def region_colors(result: DatasetResult) -> dict[str, str]:
    """Return the colours of the occurring regions by acronym, in the order of the atlas.

    Regions without a colour in the table get another colour.
    """
    present, table = set(result.obs["region"].astype(str)), result.regions.astype(str)
    listed = {
        # The ontology omits the # before a colour.
        acronym: to_hex("#" + color.removeprefix("#"))
        for acronym, color in zip(table["acronym"], table["color"], strict=True)
        if acronym in present
    }
    missing = sorted(present - set(listed))
    return listed | dict(zip(missing, categorical_colors(len(missing)), strict=True))


def class_colors(result: DatasetResult) -> dict[str, str]:
    """Return the colour of every known class; samples without a class are grey."""
    if result.is_atlas:
        return region_colors(result)
    labels = result.labels
    if labels is None:
        return {}
    names = sorted(distinct_classes(labels), key=_natural)
    unknown = {UNKNOWN: DROPPED} if UNKNOWN in labels else {}
    return dict(zip(names, categorical_colors(len(names)), strict=True)) | unknown


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
