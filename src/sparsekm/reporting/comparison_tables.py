"""Tables that compare: data sets, methods, other choices, and the real atlas with the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sparsekm.cluster.sparsity_path import ChosenFit
from sparsekm.pipeline.registry import method_look
from sparsekm.reporting.clusters import agreements
from sparsekm.reporting.page import COUNT, RATE, Cell, TableView, caption, make_table, write_range
from sparsekm.reporting.results import DatasetResult
from sparsekm.tuning.separation import LEVEL, could_tell

_RATES = {"CER": "cer", "chance": "cer_chance", "ARI": "ari", "AMI": "ami"}
_KINDS = {
    **dict.fromkeys(_RATES, RATE),
    **dict.fromkeys(("agreement", "agreement with the result", "reproducible"), ".2f"),
}


def _names(results: Sequence[DatasetResult]) -> list[Cell]:
    """Name data sets; if only some are simulated, their names say so."""
    told = "" if _all_simulated(results) else "simulated"
    return [
        Cell(result.name, url=f"#dataset-{result.name}", note=told if result.is_simulated else "")
        for result in results
    ]


def _all_simulated(results: Sequence[DatasetResult]) -> bool:
    return all(result.is_simulated for result in results)


def _seed_range(method: ChosenFit) -> str | None:
    return None if method.seeds is None else write_range(method.seeds["agreement"].iloc[1:])


def compare_datasets(results: Sequence[DatasetResult]) -> TableView | None:
    """Make a row for each of several data sets: the contents of its first screen, in numbers."""
    if len(results) < 2:
        return None
    table = pd.DataFrame(map(_summarise, results)).dropna(axis=1, how="all")
    table.insert(0, "data set", _names(results))
    titles = dict.fromkeys(method_look(result.primary.name).title for result in results)
    explained = [head for head in ("separated", "reproducible", "restarts", "CER") if head in table]
    text = ". ".join(filter(None, [f"The clusters of {' and '.join(titles)}", caption(*explained)]))
    return make_table(text, table, _KINDS, _all_simulated(results), kind="numbers overview")


def _summarise(result: DatasetResult) -> dict[str, Any]:
    method = result.primary
    pairs, shares = method.separation, method.reproducibility
    none = None if method.signature_agreement is None else "none"
    separated = None
    if pairs is not None and len(pairs):
        n_told = could_tell(pairs).sum()
        separated = f"{(pairs['p_adjusted'] <= LEVEL).sum()} of {n_told}" if n_told else "too few"
    return {
        "samples": result.n_samples,
        "clusters": len(np.unique(method.labels)),
        "separated": separated,
        "reproducible": None if shares is None else np.nanmean(shares),
        "restarts": _seed_range(method),
        "smallest set": none if method.signature is None else f"{len(method.signature):,}",
        "differ": f"{method.n_kept:,} of {result.n_features:,}" if method.is_sparse else None,
        "CER": method.rates.get("cer"),
        "ARI": method.rates.get("ari"),
    }


def method_table(result: DatasetResult) -> pd.DataFrame:
    """Make a row for each method, the one shown first at the top; unknown rates have no column."""
    answer, others = result.primary, agreements(result)
    known = {title: name for title, name in _RATES.items() if name in answer.rates}
    return pd.DataFrame(
        {
            "method": method_look(method.name).title,
            "agreement with the result": others.get(method.name, "the result"),
            "agreement over seeds": _seed_range(method),
            "kept": method.n_kept,
            **{title: method.rates.get(name) for title, name in known.items()},
        }
        for method in (result.methods[name] for name in (answer.name, *others))
    )


def compare_methods(results: Sequence[DatasetResult]) -> TableView:
    """Compare all methods on one data set, or on several."""
    tables = [method_table(result) for result in results]
    if len(results) > 1:
        for table, name in zip(tables, _names(results), strict=True):
            table.insert(0, "data set", [name] * len(table))
    table, words = pd.concat(tables, ignore_index=True), results[0].words
    parts = ["methods", *(["rates"] if "CER" in table else [])]
    return make_table(caption(*parts, words=words), table, _KINDS, _all_simulated(results))


def view_choices(result: DatasetResult) -> TableView | None:
    """Show how much the result depends on choices."""
    table = result.choices
    if table is None:
        return None
    values, words = table["value"], result.words
    heads = {"n_clusters": "clusters", "n_samples": words.samples, "n_features": words.features}
    table = table.assign(choice=table["choice"] + values.where(values == "", ": " + values))
    shown = table[["choice", *heads, "agreement"]].rename(columns=heads)
    return make_table(caption("choices"), shown, _KINDS, result.is_simulated)


_DROPPED = {
    "n_voxels_dropped": "voxels dropped: missing values",
    "n_genes_dropped_missing": "genes dropped: missing values",
    "n_genes_dropped_constant": "genes dropped: constant",
    "n_genes_dropped_not_common": "genes dropped: not common to all ages",
    "n_features_filtered": "features left out by n_top_features",
}


def view_statistics(results: Sequence[DatasetResult]) -> list[TableView]:
    """Make one table for atlas ages and one for matrices, because their row names differ."""
    views = []
    for is_atlas, what in ((True, "ages"), (False, "matrices")):
        group = [result for result in results if result.is_atlas == is_atlas]
        if group:
            table = statistics_table(group).set_axis(_names(group), axis=1)
            text = caption("sizes", what=what, words=group[0].words)
            table.insert(0, "", table.index)
            views.append(make_table(text, table, simulated=_all_simulated(group)))
    return views


def statistics_table(results: Sequence[DatasetResult]) -> pd.DataFrame:
    """Tabulate the size (Int64) of ages, or of matrices, and what was left out of each."""
    columns = {
        result.name: {
            f"number of {result.words.features}": result.n_features,
            f"number of {result.words.samples}": result.n_samples,
            f"number of {result.words.labels}": result.n_classes,
            f"{result.words.samples} without a known label": result.n_unlabelled,
            **_count_excluded(result.provenance),
        }
        for result in results
    }
    table = pd.DataFrame(columns, dtype=object).astype("Int64")
    return table[table.index.str.startswith("number of") | (table.fillna(0) != 0).any(axis=1)]


def _count_excluded(provenance: Mapping[str, Any]) -> dict[str, int]:
    """Count what assembly, quality control and normalisation left out, with readable names."""
    kept = list(provenance.get("settings", {}).get("tissue", ()))
    counts = {
        f"{group} excluded: {name}".replace("_", " "): int(number)
        for group, classes in provenance.get("counts", {}).items()
        for name, number in classes.items()
        if name not in kept
    }
    counts |= {words: int(provenance[key]) for key, words in _DROPPED.items() if key in provenance}
    if "dropped_constant" in provenance and "n_genes_dropped_constant" not in provenance:
        counts["features dropped: constant"] = int(np.size(provenance["dropped_constant"]))
    return counts


_STATISTICS = {"n_genes": "genes", "n_voxels": "voxels", "n_regions": "regions"}


def read_paper_tables(statistics: str | Path, scores: str | Path) -> pd.DataFrame:
    """Read the paper's tables from ``data/paper``: age, name of the number, and its value."""
    sizes, rates = pd.read_csv(statistics), pd.read_csv(scores)
    titles = rates["method"].map(lambda name: method_look(name).title)
    sizes["of"] = sizes["statistic"].map(_STATISTICS)
    rates["of"] = rates["metric"].str.upper() + " of " + titles
    return pd.concat([sizes, rates])[["age", "of", "value"]]


def compare_with_paper(
    results: Sequence[DatasetResult], paper: pd.DataFrame | None
) -> TableView | None:
    """Compare our results on the real atlas, if any, with those of `read_paper_tables`."""
    ages = [r for r in results if r.is_atlas and r.source == "allen" and not r.is_simulated]
    if not ages or paper is None:
        return None
    ours = {}
    for age in ages:
        sizes = (age.n_features, age.n_samples, age.n_classes)
        ours[age.name] = dict(zip(_STATISTICS.values(), sizes, strict=True))
        fits = {method_look(name).title: fit for name, fit in age.methods.items()}
        ours[age.name] |= {f"CER of {title}": fit.rates.get("cer") for title, fit in fits.items()}
        ours[age.name] |= {f"NW of {title}": fit.n_kept for title, fit in fits.items()}
    table = pd.DataFrame(ours).T.astype(float)
    theirs = paper.pivot(index="age", columns="of", values="value").reindex(table.index)
    both = {"ours": table, "the paper’s": theirs}
    rows = pd.MultiIndex.from_product([list(ours), list(both)], names=["age", ""])
    table = pd.concat(both).swaplevel().reindex(rows).reset_index()
    kinds = {head: RATE if head.startswith("CER") else COUNT for head in table} | {"": "text"}
    return make_table(caption("versus_paper"), table, kinds)
