"""Clusters on the page: their colours, markers, known classes and regions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.colors import to_hex

from sparsekm.annotation.clusters import ClusterOverlap, overlap_clusters
from sparsekm.figures.style import DROPPED, categorical_colors, shades
from sparsekm.io.known_classes import UNKNOWN, distinct_classes
from sparsekm.reporting.page_tables import (
    MISSING,
    Cell,
    Column,
    Nouns,
    TableView,
    make_table,
    name_some,
    nouns,
)
from sparsekm.reporting.results import DatasetResult

_SINGULAR = {"regions": "region", "classes": "class"}


@dataclass(frozen=True)
class AnatomyView:
    """Clusters of one method against known classes."""

    sentence: str
    contingency: TableView  # samples of each cluster in each class
    file: str


def view_anatomy(result: DatasetResult, file: str) -> AnatomyView | None:
    """Compare clusters with known classes, if any, for the method that ranks the genes.

    `file` contains the comparison for all methods.
    """
    table = result.overlap
    if table is None:
        return None
    colors = region_colors(result) if result.is_atlas else {}
    order = [label for label in colors if label in set(table["label"])]
    order += sorted(set(table["label"]) - set(order))
    return AnatomyView(
        sentence=_summarise(table, order, result),
        contingency=_view_contingency(table, order, colors, nouns(result), result.is_simulated),
        file=file,
    )


def _view_contingency(
    table: pd.DataFrame, order: list[str], colors: Mapping[str, str], words: Nouns, simulated: bool
) -> TableView:
    """Count the samples of each cluster in each class, shaded by share of the cluster."""
    names = dict(zip(table["label"], table["name"], strict=True))
    rows = []
    for cluster, group in table.groupby("cluster"):
        counts = group.set_index("label")["n_shared"].reindex(order).fillna(0).astype(int)
        whole = int(counts.sum())
        cells = [Cell(f"{n:,}" if n else "", shade=round(100 * n / whole)) for n in counts]
        rows.append([cluster, *cells])
    caption = (
        f"{words.samples.capitalize()} of each cluster (row) in each {_SINGULAR[words.labels]} "
        "(column); darker cells are larger shares of the cluster"
    )
    heads = [Column(label, color=colors.get(label, ""), hover=names[label]) for label in order]
    heads.insert(0, Column("cluster"))
    return make_table(caption, heads, rows, simulated, kind="numbers contingency")


def _summarise(table: pd.DataFrame, order: list[str], result: DatasetResult) -> str:
    words, best = nouns(result), table[table["is_best"]]
    label, matched = _SINGULAR[words.labels], set(best["label"])
    share = best["n_shared"].sum() / table["n_shared"].sum()
    unmatched = ", ".join(name for name in order if name not in matched)
    text = (
        f"{share:.0%} of the {words.samples} belong to the majority {label} of their cluster; "
        f"{len(matched)} of {len(order)} {words.labels} are the majority {label} of at least one "
        f"cluster{f' (not {unmatched})' if unmatched else ''}."
    )
    if result.n_unlabelled:
        left = f"{result.n_unlabelled:,} {words.samples}"
        text += f" These counts, CER and ARI leave out {left} without a known label."
    return text


def view_regions(result: DatasetResult, colors: Mapping[str, str]) -> TableView:
    """List the regions of an atlas age in the order of `colors`.

    Each has its colour, name and size; with the overlap of clusters, the cluster of the primary
    method that shares most voxels with it (ties go to the lowest); with planted truth, the number
    of markers planted in it and how many of them the primary method keeps.
    """
    regions = result.regions.astype(str)
    names = dict(zip(regions["acronym"], regions["name"], strict=True))
    voxels = result.obs["region"].astype(str).value_counts()
    method, overlap = result.primary, result.overlap
    heads = {"acronym": "", "name": "text", "voxels": ""}
    caption = f"Regions of {result.name}"
    rows: dict[str, list] = {
        acronym: [
            Cell(acronym, color=color),
            names.get(acronym, ""),
            f"{voxels.get(acronym, 0):,}",
        ]
        for acronym, color in colors.items()
    }
    if overlap is not None:
        heads |= {"best cluster": "", "covered": "", "purity": ""}
        caption += (
            f". Best cluster: that of {method.title} with most voxels of the region; covered: its "
            "share of the region; purity: the region’s share of the cluster"
        )
        best = _best_clusters(overlap)
        for acronym, row in rows.items():
            row += best.get(acronym, [MISSING] * 3)
    recall = planted_recall(result)
    if recall is not None:
        heads |= {"planted": "", "kept": ""}
        caption += (
            f". Planted: genes planted as markers of the region; kept: those that {method.title} "
            "keeps. A gene planted in several regions counts in each"
        )
        for acronym, row in rows.items():
            row += recall.get(acronym, (0, 0))
    return make_table(caption, heads, rows.values(), simulated=result.is_simulated)


def _best_clusters(overlap: pd.DataFrame) -> dict[str, list[str]]:
    best = overlap.sort_values(["n_shared", "cluster"], ascending=[False, True])
    return {
        row.label: [str(row.cluster), f"{row.share_of_label:.0%}", f"{row.share_of_cluster:.0%}"]
        for row in best.drop_duplicates("label").itertuples()
    }


def planted_recall(result: DatasetResult) -> dict[str, tuple[int, int]] | None:
    """Count for each region the genes planted there, and those of them that are kept.

    None without planted regions, or if the primary method keeps every gene by design.
    """
    genes, method = result.genes, result.primary
    if "planted_regions" not in genes or not method.is_sparse:
        return None
    counts: dict[str, list[bool]] = {}
    planted = genes[genes["relevant"].astype(bool)]
    kept = planted[f"weight_{method.name}"] != 0
    for regions, is_kept in zip(planted["planted_regions"], kept, strict=True):
        for region in filter(None, str(regions).split(";")):
            counts.setdefault(region, []).append(bool(is_kept))
    return {region: (len(found), sum(found)) for region, found in counts.items()}


_SHOWN = 5
_SMALLEST = 0.05  # a lead that is written as more than 0


def view_markers(result: DatasetResult, file: str) -> TableView | None:
    """Make a row for each cluster of the answer: the kept features highest, and lowest, in it.

    Features are sorted by how far the mean of the cluster is from that of all other samples.
    `file` has those of all features.
    """
    words, method = nouns(result), result.primary
    numbers, sizes = np.unique(method.labels, return_counts=True)
    if method.centers is None or len(numbers) < 2:
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
        cells = [_name_leads(names[kept], lead[kept]), _name_leads(names[kept], -lead[kept], "−")]
        if method.cluster_signatures is not None:
            few = np.flatnonzero(method.cluster_signatures[number])
            cells.append(_name_signature(names, lead, few, method.cluster_agreements[number]))
        rows.append([number, f"{size:,}", *majority, *cells])
    heads = {"cluster": "", words.samples: "", **({"majority": "text"} if best else {})}
    heads |= {"higher than in the others": "text", "lower than in the others": "text"}
    caption = (
        f"Kept {words.features} whose mean in the cluster is farthest from that of all other "
        f"{words.samples}, in standard deviations. Optimistic: they were chosen because they "
        f"differ; do not test them again on the same {words.samples}. All: {file}"
    )
    if method.cluster_signatures is not None:
        heads["told from the others by"] = "text"
        caption += (
            f". Told from the others by: the smallest set that puts left-out {words.samples} into "
            "the cluster, or not, and how well (1: always, 0: by chance)"
        )
    return make_table(caption, heads, rows, result.is_simulated, kind="numbers markers")


def _name_signature(names: np.ndarray, lead: np.ndarray, few: np.ndarray, agrees: float) -> str:
    ranked = few[np.argsort(-np.abs(lead[few]), kind="stable")]
    signed = [f"{names[at]} {'−' if lead[at] < 0 else '+'}{abs(lead[at]):.1f}" for at in ranked]
    return f"{name_some(signed, _SHOWN) or 'none'} ({agrees:.2f})"


def _name_leads(names: np.ndarray, leads: np.ndarray, sign: str = "+") -> str:
    ranked = np.argsort(-leads, kind="stable")[: np.count_nonzero(leads >= _SMALLEST)]
    return ", ".join(f"{names[at]} {sign}{leads[at]:.1f}" for at in ranked[:_SHOWN]) or "none"


def color_clusters(overlap: ClusterOverlap, known: Mapping[str, str]) -> dict[int, str]:
    """Assign each cluster the colour of its majority region, in shades if several share a region.

    The cluster with the most samples of the region gets the colour of the region itself.
    """
    colors = {}
    for region, clusters in overlap.best_region.groupby(overlap.best_region).groups.items():
        shared = overlap.counts.loc[clusters, region].sort_values(ascending=False, kind="stable")
        others = [color for name, color in known.items() if name != region]
        own = shades(known[region], len(shared), avoid=others)
        colors.update(zip(shared.index, own, strict=True))
    return {int(cluster): colors[cluster] for cluster in overlap.counts.index}


def region_colors(result: DatasetResult) -> dict[str, str]:
    """Return the colours of the occurring regions by acronym, in the order of the atlas.

    Regions without a colour in the table get another colour.
    """
    present = set(result.obs["region"].astype(str))
    table = result.regions
    listed = {
        # The ontology omits the # before a colour.
        str(acronym): to_hex("#" + str(color).removeprefix("#"))
        for acronym, color in zip(table["acronym"], table["color"], strict=True)
        if str(acronym) in present
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
    numbers = [int(number) for number in np.unique(clusters)]
    if result.labels is None:
        return dict(zip(numbers, categorical_colors(len(numbers)), strict=True))
    known = {name: color for name, color in class_colors(result).items() if name != UNKNOWN}
    overlap = overlap_clusters(clusters, result.labels, list(known))
    return dict.fromkeys(numbers, DROPPED) | color_clusters(overlap, known)


def _natural(name: str) -> tuple[int, float, str]:
    """Order "2" before "10", and numbers before words."""
    try:
        return 0, float(name), name
    except ValueError:
        return 1, 0.0, name
