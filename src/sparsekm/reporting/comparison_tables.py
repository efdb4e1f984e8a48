"""Tables that compare: data sets, methods, other choices, and the real atlas with the paper.

No setting was tuned to match the paper, which does not say how it chose its genes and voxels: each
difference comes with counts of what was left out here. A simulated atlas is never compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from sparsekm.pipeline.registry import method_look
from sparsekm.reporting.answer import agreements
from sparsekm.reporting.methods_text import attribute
from sparsekm.reporting.page_tables import (
    COUNT,
    RATE,
    Cell,
    TableView,
    caption,
    joined,
    make_table,
    view_table,
    write_range,
)
from sparsekm.reporting.results import DatasetResult
from sparsekm.tuning.separation import LEVEL

_RATES = {"CER": "cer", "chance": "cer_chance", "ARI": "ari", "AMI": "ami"}
_SCORES = {"cer": RATE, "ari": RATE, "n_kept": COUNT}


def compare_datasets(results: Sequence[DatasetResult]) -> TableView | None:
    """Make a row for each of several data sets: what its first screen says, in numbers."""
    if len(results) < 2:
        return None
    table = pd.DataFrame(map(_summarise, results)).dropna(axis=1, how="all")
    simulated = all(result.is_simulated for result in results)
    names = [
        Cell(
            result.name,
            url=f"#dataset-{result.name}",
            note="simulated" if result.is_simulated and not simulated else "",
        )
        for result in results
    ]
    titles = dict.fromkeys(result.primary.title for result in results)
    explained = [head for head in ("apart", "reproducible", "restarts", "CER") if head in table]
    kinds = {"samples": COUNT, "clusters": COUNT, "reproducible": ".2f", "CER": RATE, "ARI": RATE}
    return make_table(
        ". ".join(filter(None, [f"The clusters of {' and '.join(titles)}", caption(*explained)])),
        {"data set": "", **{head: kinds.get(head, "") for head in table}},
        ([name, *row] for name, row in zip(names, table.to_numpy(object), strict=True)),
        simulated,
        kind="numbers overview",
    )


def _summarise(result: DatasetResult) -> dict[str, Any]:
    method = result.primary
    pairs, shares = method.separation, method.reproducibility
    none = "none" if "signature_agreement" in method.attributes else None
    has_pairs = pairs is not None and len(pairs) > 0
    return {
        "samples": result.n_samples,
        "clusters": len(np.unique(method.labels)),
        "apart": f"{(pairs['p_adjusted'] <= LEVEL).sum()} of {len(pairs)}" if has_pairs else None,
        "reproducible": None if shares is None else np.nanmean(shares),
        "restarts": None
        if method.seeds is None
        else write_range(method.seeds["agreement"].iloc[1:]),
        "smallest set": none if method.signature is None else f"{len(method.signature):,}",
        "differ": f"{method.n_kept:,} of {result.n_features:,}" if method.is_sparse else None,
        "CER": method.rate("cer"),
        "ARI": method.rate("ari"),
    }


def compare_methods(result: DatasetResult) -> TableView:
    """Make a row for each method, the answer first."""
    answer, others, words = result.primary, agreements(result), result.words
    known = {title: name for title, name in _RATES.items() if answer.rate(name) is not None}
    rows = [
        [
            method.title,
            others.get(method.name, "the answer"),
            None if method.seeds is None else write_range(method.seeds["agreement"].iloc[1:]),
            method.n_kept,
            *map(method.rate, known.values()),
        ]
        for method in (result.methods[name] for name in (answer.name, *others))
    ]
    heads = {"method": "", "agreement with the answer": ".2f", "agreement over seeds": ""}
    heads |= {"kept": COUNT, **dict.fromkeys(known, RATE)}
    parts = ["methods", *(["rates"] if known else [])]
    return make_table(caption(*parts, words=words), heads, rows, result.is_simulated)


def view_choices(result: DatasetResult) -> TableView | None:
    """Show how far the answer hangs on the choices that were made."""
    table = result.choices
    if table is None:
        return None
    names = table["choice"] + np.where(table["value"] == "", "", ": ") + table["value"]
    words = result.words
    return make_table(
        caption("choices"),
        {"choice": "", "clusters": "", words.samples: ",", words.features: ",", "agreement": ".2f"},
        zip(
            names,
            *(table[name] for name in ("n_clusters", "n_samples", "n_features", "agreement")),
            strict=True,
        ),
        result.is_simulated,
    )


def score_table(results: Sequence[DatasetResult], score: str) -> pd.DataFrame:
    """Tabulate "n_kept" or a rate, methods by data sets; missing where it is not known."""
    return pd.DataFrame(
        {
            result.name: {
                name: method.n_kept if score == "n_kept" else method.rate(score)
                for name, method in result.methods.items()
            }
            for result in results
        }
    )


def view_scores(results: Sequence[DatasetResult]) -> list[TableView]:
    """Compare methods over data sets, if there are several."""
    tables = {score: score_table(results, score) for score in _SCORES}
    return [
        view_table(
            tables[score].rename(index=lambda name: method_look(name).title),
            caption(score),
            kind=kind,
            corner="method",
            simulated=_origins(results),
        )
        for score, kind in _SCORES.items()
        if len(results) > 1 and tables[score].notna().any(axis=None)
    ]


def _origins(results: Sequence[DatasetResult]) -> dict[str, bool]:
    return {result.name: result.is_simulated for result in results}


_DROPPED = {
    "n_voxels_dropped": "voxels dropped: missing values",
    "n_genes_dropped_missing": "genes dropped: missing values",
    "n_genes_dropped_constant": "genes dropped: constant",
    "n_genes_dropped_not_common": "genes dropped: not common to all ages",
    "n_features_filtered": "features left out by n_top_features",
}
_TAKEN_GENES = ("taken", "with_replicates", "without_delegate", "with_several_delegates")


def view_statistics(results: Sequence[DatasetResult]) -> list[TableView]:
    """Make one table for atlas ages and one for matrices, since their row names differ."""
    views = []
    for is_atlas, what in ((True, "ages"), (False, "matrices")):
        group = [result for result in results if result.is_atlas == is_atlas]
        if group:
            table, title = (
                statistics_table(group),
                caption("sizes", what=what, words=group[0].words),
            )
            views.append(view_table(table, title, kind=COUNT, simulated=_origins(group)))
    return views


def statistics_table(results: Sequence[DatasetResult]) -> pd.DataFrame:
    """Tabulate the size (Int64) of data sets of one kind, and what was left out of each.

    The data sets are either all atlas ages or all matrices. The rows are "number of genes", "number
    of voxels", "number of regions" (or features, samples, classes), then one for each kind of
    exclusion from a data set or from comparisons with labels.
    """
    columns = {
        result.name: {
            f"number of {result.words.features}": result.n_features,
            f"number of {result.words.samples}": result.n_samples,
            f"number of {result.words.labels}": result.n_classes,
            f"{result.words.samples} without a known label": result.n_unlabelled,
            **excluded_counts(result.provenance),
        }
        for result in results
    }
    table = pd.DataFrame(columns, dtype=object).astype("Int64")
    return table[table.index.str.startswith("number of") | (table.fillna(0) != 0).any(axis=1)]


def excluded_counts(provenance: Mapping[str, Any]) -> dict[str, int]:
    """Count the exclusions in ``uns["provenance"]``, with readable names.

    For an atlas age these are voxels outside the selected tissues, unused section data sets and
    genes, and voxels and genes dropped in quality control; for a matrix they are the features in
    ``dropped_constant``.
    """
    # Voxels with unknown ids are among the unassigned ones and would count twice.
    tissues = ("unknown_ids", *map(str, provenance.get("settings", {}).get("tissue", ())))
    kept = {"voxels": tissues, "section_data_sets": (), "genes": _TAKEN_GENES}
    counts = {
        f"{group} excluded: {name}".replace("_", " "): int(number)
        for group, classes in provenance.get("counts", {}).items()
        for name, number in classes.items()
        if name not in kept.get(group, ())
    }
    counts |= {words: int(provenance[key]) for key, words in _DROPPED.items() if key in provenance}
    if "dropped_constant" in provenance and "n_genes_dropped_constant" not in provenance:
        counts["features dropped: constant"] = int(np.size(provenance["dropped_constant"]))
    return counts


_STATISTICS = {"n_genes": "genes", "n_voxels": "voxels", "n_regions": "regions"}
# How the paper clustered: setting, its name, the paper's value.
_PROCEDURE = (
    ("search", "search", "alternate"),
    ("rule", "rule for the sparsity", "max"),
    ("reference", "reference data", "permutation"),
    ("min_cluster_size", "smallest cluster", 1),
)


class PaperTables(NamedTuple):
    """The paper's tables about the atlas.

    `statistics` has the columns age, statistic ("n_genes", "n_voxels", "n_regions") and value,
    `scores` age, method, metric ("cer", "nw") and value.
    """

    statistics: pd.DataFrame
    scores: pd.DataFrame


def read_paper_tables(statistics: str | Path, scores: str | Path) -> PaperTables:
    """Read the paper's tables from ``data/paper``."""
    tables = []
    for path, names in ((statistics, "age statistic value"), (scores, "age method metric value")):
        table = pd.read_csv(path)
        absent = [column for column in names.split() if column not in table]
        if absent:
            raise ValueError(f"{path}: columns should include {', '.join(absent)}.")
        tables.append(table)
    return PaperTables(*tables)


def compare_with_paper(
    results: Sequence[DatasetResult], paper: PaperTables
) -> dict[str, Any] | None:
    """Compare our results on the real atlas, if any, with the paper's, and how they were made."""
    ages = [r for r in results if r.is_atlas and r.source == "allen" and not r.is_simulated]
    if not ages:
        return None
    sizes = pd.DataFrame(
        {a.name: [a.n_features, a.n_samples, a.n_classes] for a in ages}, index=list(_STATISTICS)
    )
    printed = paper.statistics.pivot(index="statistic", columns="age", values="value")
    printed = printed.reindex(sizes.index, columns=sizes.columns)
    theirs = {
        metric: rows.pivot(index="method", columns="age", values="value")
        for metric, rows in paper.scores.groupby("metric")
    }
    tables = [
        _beside("paper_sizes", sizes, printed, COUNT),
        _beside("paper_cer", score_table(ages, "cer"), theirs["cer"], RATE),
        _beside("paper_nw", score_table(ages, "n_kept"), theirs["nw"], COUNT),
    ]
    return {"tables": tables, "procedure": _describe_procedure(ages)}


def _beside(name: str, ours: pd.DataFrame, theirs: pd.DataFrame, kind: str) -> TableView:
    """Set each row of theirs below that of ours."""
    rows = ours.index.union(theirs.index, sort=False)
    both = {"ours": ours.reindex(rows), "the paper's": theirs.reindex(rows, columns=ours.columns)}
    return make_table(
        caption(name),
        {"": "", **dict.fromkeys(ours.columns, kind)},
        (
            [f"{_STATISTICS.get(row) or method_look(row).title}: {whose}", *table.loc[row]]
            for row in rows
            for whose, table in both.items()
        ),
    )


def _describe_procedure(ages: Sequence[DatasetResult]) -> str:
    """Say where l1 and l0 were not fitted as in the paper."""
    fits = [age.methods[name] for age in ages for name in ("l1", "l0") if name in age.methods]
    parts = []
    for setting, noun, theirs in _PROCEDURE:
        other = [value for value in attribute(fits, setting) if value != theirs]
        if other:
            parts.append(f"{noun} {joined(other)} (the paper: {theirs})")
    return caption("not_as_in_paper", parts=joined(parts)) if parts else caption("as_in_paper")
