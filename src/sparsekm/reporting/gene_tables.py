"""Genes on the page: chosen ones, tables, over-represented terms, those kept at each age."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from sparsekm.annotation.enrichment import GROUPS, least_q
from sparsekm.annotation.gene_table import DROPPED, KEPT, VERDICTS
from sparsekm.figures import style
from sparsekm.io.readers.messages import name_some
from sparsekm.reporting.page import (
    WORDS,
    caption,
    caption_figure,
    make_table,
    write_text,
)
from sparsekm.reporting.results import DatasetResult

ATLAS_GENES = ("Scn4b", "Neurog1")
"""The paper's examples: a channel subunit needed everywhere and a marker."""


def choose_genes(result: DatasetResult, wanted: Sequence[str] | str = "auto") -> list[int]:
    """Find the rows of ``result.genes`` of the genes of interest, in the requested order.

    Missing symbols are skipped, and the asterisk at the end of some symbols may be omitted. "auto"
    means the paper's examples, or for the phantom the first housekeeping gene and marker.
    """
    genes = result.genes
    symbols = genes["symbol"].astype(str)
    if wanted == "auto":
        wanted = ATLAS_GENES if result.source == "allen" else _first_of_kinds(genes)
    found = [
        symbols.index[(symbols == name) | (symbols.str.rstrip("*") == name)] for name in wanted
    ]
    return list(dict.fromkeys(int(row) for rows in found for row in rows[:1]))


def _first_of_kinds(genes: pd.DataFrame) -> list[str]:
    if "planted_kind" not in genes:
        return []
    kind, relevant = genes["planted_kind"], genes.get("relevant", pd.Series(True, genes.index))
    # A gene may be a marker only at other ages.
    groups = kind == "housekeeping", (kind == "marker") & relevant.astype(bool)
    return [name for of in groups for name in sorted(genes["symbol"][of].astype(str))[:1]]


def top_kept(result: DatasetResult, n_genes: int, without: Sequence[int] = ()) -> list[int]:
    """Find the rows of the kept genes with the highest scores, at most `n_genes`."""
    table, method = result.genes.drop(index=list(without)), result.primary.name
    kept = table.loc[table[f"weight_{method}"] != 0, f"rank_{method}"]
    return [int(row) for row in kept.sort_values(kind="stable").index[:n_genes]]


MOST_FEATURES = 4000
"""The number of features on the page, those with the highest ranks; the file has all."""
MOST_SAMPLES = 20_000
_WIDE = ("name", "terms")
_SYMBOLS = {"l0": "ℓ₀", "l1": "ℓ₁", "kmeans": "k-means"}


def _browse(
    table: pd.DataFrame,
    about: Mapping[str, tuple[str, str]],
    file: str,
    title: str,
    hint: str,
) -> dict[str, Any]:
    """Prepare a table that the script of the page sorts and searches; `file` has all of it.

    `about` has the title of each column that is shown, and a sentence about it. Other columns are
    searched and downloaded.
    """
    fields = list(table)
    data = {
        "columns": [about[name][0] if name in about else name for name in fields],
        "fields": fields,
        "rows": [[_plain(value) for value in row] for row in table.itertuples(index=False)],
        "shown": [fields.index(name) for name in about],
        "wide": [fields.index(name) for name in about if name in _WIDE],
    }
    title = f"{title}: search and sort"
    return {"title": title, "hint": hint, "file": file, "about": dict(about.values()), "data": data}


def view_genes(result: DatasetResult, chosen: Sequence[int]) -> dict[str, Any]:
    """Prepare a browser of the genes of interest, then of the highest ranks."""
    genes, noun = result.genes, result.words.features
    title = f"All {len(genes):,} {noun}"
    if len(genes) > MOST_FEATURES:
        title = f"The {MOST_FEATURES:,} highest-ranked of {len(genes):,} {noun}"
    rows = [*chosen, *genes.index.difference(chosen, sort=False)][:MOST_FEATURES]
    about = {name: _describe(name, result) for name in _shown(result)}
    file, hint = f"{result.name}/genes.csv", "name, term or cluster"
    return _browse(genes.loc[rows], about, file, title, hint)


def view_samples(result: DatasetResult) -> dict[str, Any] | None:
    """Prepare the table of samples; a file has the clusters of all methods.

    Voxels have no names, and of very many samples the file alone has the clusters.
    """
    if result.is_atlas or result.n_samples > MOST_SAMPLES:
        return None
    columns: dict[str, Any] = {
        "sample": result.obs.index.astype(str),
        "cluster": result.primary.labels,
        "reproducibility": result.primary.reproducibility,
        "class": result.labels,
        **{name: values.to_numpy() for name, values in result.annotations.items()},
    }
    table = pd.DataFrame({name: of for name, of in columns.items() if of is not None}, dtype=object)
    title, file = f"All {len(table):,} samples with their clusters", f"{result.name}/clusters.csv"
    told = WORDS["columns_of_samples"]
    about = {name: (name, told.get(name, "a column of your table")) for name in table}
    return _browse(table, about, file, title, "sample, cluster or class")


def _shown(result: DatasetResult) -> list[str]:
    """Choose the columns to show, few enough for the width of a page."""
    genes, primary = result.genes, result.primary.name
    wanted = ["symbol", "name"]
    wanted += [f"{what}_{primary}" for what in ("rank", "score", "weight", "stability")]
    wanted += [f"selection_frequency_{primary}", "highest_cluster", "effect_cluster"]
    wanted += ["lead_cluster", "highest_label", "effect_label", "terms"]
    # The kind says more than a flag.
    wanted.append("planted_kind" if "planted_kind" in genes else "relevant")
    # The paper's comparison concerns the atlas.
    wanted += ["weight_l1", "verdict"] if result.is_atlas else []
    return [
        name for name in wanted if name in genes and not (name in _WIDE and not genes[name].any())
    ]


def _describe(column: str, result: DatasetResult) -> tuple[str, str]:
    """Return the title of a column, such as "score ℓ₀" of an atlas, and a sentence about it."""
    for name, (title, text) in WORDS["columns"].items():
        if column == name or (name.endswith("_") and column.startswith(name)):
            method = column.removeprefix(name) if result.is_atlas else ""
            title = title.format(words=result.words, feature=result.words.features[:-1])
            return f"{title} {_SYMBOLS.get(method, method)}".strip(), text
    raise KeyError(f"column={column!r} should be one of {', '.join(WORDS['columns'])}.")


def _plain(value: Any) -> str | float | int | None:
    """Convert a value to a JSON type; floats keep six digits."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if pd.isna(value):
        return None
    if isinstance(value, int | np.integer):
        return int(value)
    return float(f"{value:.6g}") if isinstance(value, float | np.floating) else str(value)


LEVEL = 0.05
"""False discovery rate up to which a term counts as over-represented."""
MOST_TERMS = 12
_GENES_NAMED = 12
_GROUP_TITLES = {"only l1": "kept by ℓ₁ alone"}
_TERM_HEADS = {
    "group": "",
    "term": "term",
    "name": "name",
    "n_shared": "in group",
    "expected": "expected",
    "fold": "fold",
    "p_value": "p",
    "q_value": "q",
    "p_spatial": "p in space",
    "genes": "which",
}


def view_enrichment(result: DatasetResult) -> dict[str, Any] | None:
    """Describe every group, and list the terms found up to a false discovery rate, if any."""
    table, words = result.enrichment, result.words
    if table is None or table.empty:
        return None
    table = table[table["group"].isin(GROUPS)]
    table = table.assign(group=table["group"].replace(_GROUP_TITLES))
    found = table[table["q_value"] <= LEVEL]
    groups = table.groupby("group", sort=False).agg(
        size=("n_group", "first"), smallest=("q_value", "min")
    )
    # In the order of the groups, as in `groups`.
    groups["least"] = [least_q(tests) for _, tests in table.groupby("group", sort=False)]
    groups["n_found"] = found["group"].value_counts().reindex(groups.index, fill_value=0)
    text = write_text(
        "enrichment_text.html",
        n_terms=table["term"].nunique(),
        n_analysed=int(table["n_analysed"].iloc[0]),
        features=words.features,
        groups=list(groups.itertuples()),
        found=list(found[found["p_spatial"].notna()].itertuples()),
        level=LEVEL,
        most=MOST_TERMS,
    )
    shown = found.groupby("group", sort=False).head(MOST_TERMS)
    if table["p_spatial"].isna().all():
        shown = shown.drop(columns="p_spatial")
    shown = shown.assign(
        n_shared=shown["n_shared"].astype(str) + " of " + shown["n_term"].astype(str),
        genes=[name_some(genes.split(";"), _GENES_NAMED) for genes in shown["genes"]],
    )
    heads = _TERM_HEADS | {"group": words.features}
    shown = shown[[name for name in heads if name in shown]].rename(columns=heads)
    kinds = dict.fromkeys(("p", "q", "p in space"), ".2g") | {"expected": ".1f", "fold": ".1f"}
    kinds |= {"name": "wide", "which": "wide"}
    terms = make_table(
        caption("terms", level=LEVEL), shown, kinds, result.is_simulated, kind="genes terms"
    )
    return {"sentences": text.split("\n"), "terms": terms}


_NAMES_SHOWN = 15
LOOKS = {
    VERDICTS[0]: style.BLUE,
    VERDICTS[1]: style.SKY,
    VERDICTS[2]: style.ORANGE,
    VERDICTS[3]: "#e4e4e4",
    KEPT: style.BLUE,
    DROPPED: "#e4e4e4",
    "": "#ffffff",
}
_LABELS = {"": "not analysed", VERDICTS[1]: "only ℓ₀", VERDICTS[2]: "only ℓ₁"}
_NAMED_ROWS = 64
_ROW_HEIGHT = 0.125  # inches, of a row with a name


def view_ages(
    kept: pd.DataFrame, ages: Sequence[str], changes: pd.DataFrame, *, simulated: bool
) -> dict[str, Any]:
    """Prepare the section that compares ages from the tables of `sparsekm.annotation.gene_table`.

    It has a sentence, a heat map, and a table of the genes that enter, leave and stay.
    """
    is_whole = kept["n_analysed"] == len(ages)
    everywhere = int((is_whole & (kept["n_kept"] == len(ages))).sum())
    sentence = caption(
        "ages",
        n_whole=is_whole.sum(),
        n_ages=len(ages),
        everywhere=everywhere,
        never=(kept["n_kept"] == 0).sum(),
        n=len(kept),
    )
    text = ("Simulated data. " if simulated else "") + caption("kept_by_age")
    title = "Which genes are kept at which ages"
    figure = caption_figure("kept_by_age", title, text, age_figure(kept, ages))
    columns, heads = [changes["earlier"] + " to " + changes["later"]], ["ages"]
    for kind in ("enter", "leave", "stay"):
        names = [name_some(genes.split(";"), _NAMES_SHOWN) for genes in changes[kind]]
        columns += [changes[f"n_{kind}"], pd.Series(names, changes.index)]
        heads += [kind, "which"]
    table = pd.concat(columns, axis=1).set_axis(heads, axis=1)
    view = make_table(caption("changes"), table, {"which": "wide"}, kind="genes changes")
    return {"sentence": sentence, "figure": figure, "changes": view}


@style.figure_style()
def age_figure(table: pd.DataFrame, ages: Sequence[str]) -> Figure:
    """Draw a heat map of genes by ages, and the number of genes by number of ages.

    The table is that of `tabulate_ages`. Genes that no method keeps at any age are left out.
    """
    shown = table[~table[list(ages)].isin(["", VERDICTS[3], DROPPED]).all(axis=1)]
    verdicts = shown[list(ages)].to_numpy() if len(shown) else np.full((1, len(ages)), "")
    named = 0 < len(shown) <= _NAMED_ROWS
    height = max(2.6, _ROW_HEIGHT * len(shown)) if named else 5.5
    figure = style.new_figure(7.2, height + 1.0)
    left, right = figure.subplots(1, 2, width_ratios=[2.2, 1])
    pixels = [[to_rgb(LOOKS[verdict]) for verdict in row] for row in verdicts]
    left.imshow(pixels, aspect="auto", interpolation="nearest")
    left.set_xticks(range(len(ages)), ages)
    left.xaxis.tick_top()
    for border in range(1, len(ages)):
        left.axvline(border - 0.5, color="white", linewidth=1.5)
    left.set_yticks([])
    if named:
        left.set_yticks(range(len(shown)), shown["symbol"], fontsize=6)
    else:
        sorted_by = "sorted by the number of ages at which they are kept"
        left.set_ylabel(f"{len(shown):,} genes, {sorted_by}")
    style.remove_frame(left)
    numbers = np.bincount(table["n_kept"], minlength=len(ages) + 1)
    colors = [LOOKS[DROPPED], *[style.BLUE] * len(ages)]
    bars = right.barh(range(len(numbers)), numbers, color=colors)
    right.bar_label(bars, labels=[f"{n:,}" for n in numbers], padding=2, fontsize=7)
    right.set_yticks(range(len(numbers)))
    right.set(xlabel="genes", ylabel="number of ages at which a gene is kept")
    right.margins(x=0.18)
    patches = [
        Patch(facecolor=color, edgecolor=style.INK, lw=0.4, label=_LABELS.get(verdict, verdict))
        for verdict, color in LOOKS.items()
        if verdict in verdicts
    ]
    figure.legend(handles=patches, loc="outside lower left", ncols=len(patches))
    return figure
