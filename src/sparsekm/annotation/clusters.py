"""What the clusters are: known classes, associations, the features that are high in them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import anndata
import numpy as np
import pandas as pd
from scipy.stats import chi2_contingency, false_discovery_control, kruskal
from scipy.stats.contingency import association

from sparsekm.annotation.gene_table import rank_scores
from sparsekm.io.known_classes import distinct_classes, is_known
from sparsekm.io.normalised_file import Source, row_blocks
from sparsekm.io.store import TunedFit
from sparsekm.io.tables import TABLES

OVERLAP = TABLES["contingency.csv"]


def count_overlap(labels: np.ndarray, regions: np.ndarray, order: list[str]) -> pd.DataFrame:
    """Count the samples of each cluster (row, if it has any) in each known region (column)."""
    known = is_known(regions)
    clusters = pd.Series(np.asarray(labels)[known], name="cluster")
    counts = pd.crosstab(clusters, pd.Series(np.asarray(regions)[known], name="label"))
    return counts.reindex(columns=order, fill_value=0)


def tabulate_overlap(
    clusters: Mapping[str, np.ndarray],
    labels: np.ndarray | None,
    regions: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Tabulate clusters against known classes, for every method, with the columns of `OVERLAP`.

    The order of `regions` decides ties; other classes follow in alphabetical order, without name
    and colour. ``is_best`` marks the class with most of a cluster.
    """
    if labels is None or not clusters:
        return pd.DataFrame({column: [] for column in OVERLAP.columns})
    labels = np.asarray(labels).astype(str)
    known = pd.DataFrame({"name": [], "color": []}, dtype=object)
    if regions is not None:
        known = regions.set_index(regions["acronym"].astype(str))[["name", "color"]].astype(str)
    present = distinct_classes(labels)
    order = [a for a in known.index if a in present] + [a for a in present if a not in known.index]
    parts = []
    for method, found in clusters.items():
        counts = count_overlap(found, labels, order)
        rows = counts.stack().rename("n_shared").reset_index()
        rows = rows.assign(
            method=method,
            n_cluster=rows["cluster"].map(counts.sum(axis=1)),
            n_label=rows["label"].map(counts.sum(axis=0)),
            **{column: rows["label"].map(known[column]).fillna("") for column in known},
            is_best=rows["label"] == rows["cluster"].map(counts.idxmax(axis=1)),
        )
        rows["share_of_cluster"] = rows["n_shared"] / rows["n_cluster"]
        rows["share_of_label"] = rows["n_shared"] / rows["n_label"]
        by = ["cluster", "n_shared", "is_best"]
        rows = rows.sort_values(by, ascending=[True, False, False], kind="stable")
        parts.append(rows.loc[rows["n_shared"] > 0, list(OVERLAP.columns)])
    return pd.concat(parts, ignore_index=True)


class Highest(NamedTuple):
    """Where each feature is highest: arrays of shape (p,)."""

    group: np.ndarray
    effect: np.ndarray
    lead: np.ndarray


def find_highest(X: Source, codes: np.ndarray, n_groups: int) -> Highest:
    """Find the group in which each feature has its largest mean, its effect size and lead there.

    The effect is Cohen's d against all other samples; the lead is how far the mean exceeds that of
    the next group; both are NaN where they are not defined. `X` (n, p) is read twice, in blocks;
    samples with code -1 are left out. Ties go to the lowest group.
    """
    codes = np.asarray(codes, dtype=np.intp)
    sizes = np.bincount(codes[codes >= 0], minlength=n_groups)
    sums, scale = np.zeros((n_groups, 1)), np.zeros(1)
    for groups, block in _grouped_blocks(X, codes):
        sums = sums + [block[groups == group].sum(axis=0) for group in range(n_groups)]
        scale = np.maximum(scale, np.abs(block).max(axis=0, initial=0))
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(sizes[:, None] > 0, sums / sizes[:, None], -np.inf)
        best = means.argmax(axis=0)
        inside = np.take_along_axis(means, best[None], axis=0)[0]
        other_sums = sums.sum(axis=0) - np.take_along_axis(sums, best[None], axis=0)[0]
        outside = other_sums / (sizes.sum() - sizes[best])
        squares = np.zeros(len(best))
        for groups, block in _grouped_blocks(X, codes):
            block -= np.where(groups[:, None] == best, inside, outside)
            squares += np.square(block, out=block).sum(axis=0)
        pooled = np.sqrt(squares / (sizes.sum() - 2))
        effect = (inside - outside) / pooled
    # For a constant feature, rounding can leave a small nonzero divisor.
    effect[~(pooled > 1e-12 * np.maximum(scale, np.finfo(float).tiny))] = np.nan
    np.put_along_axis(means, best[None], -np.inf, axis=0)
    second = means.max(axis=0)
    return Highest(best, effect, np.where(np.isfinite(second), inside - second, np.nan))


def _grouped_blocks(X: Source, codes: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the groups and values, copied, of the samples that have a group, block by block."""
    for rows, block in row_blocks(X):
        grouped = codes[rows] >= 0
        yield codes[rows][grouped], block[grouped]


def locate_features(
    X: Source, clusters: np.ndarray, labels: np.ndarray | None = None
) -> pd.DataFrame:
    """Tabulate the cluster and the known class in which each feature is highest."""
    clusters = np.asarray(clusters)
    found = {"cluster": find_highest(X, clusters, int(clusters.max()) + 1)}
    if labels is not None:
        known, codes = is_known(labels), np.full(len(labels), -1)
        names, codes[known] = np.unique(labels[known].astype(str), return_inverse=True)
        highest = find_highest(X, codes, len(names))
        found["label"] = highest._replace(group=names[highest.group].astype(object))
    return pd.DataFrame(
        {
            f"{measure}_{what}": values
            for what, where in found.items()
            for measure, values in zip(("highest", "effect", "lead"), where, strict=True)
        }
    )


def add_clusters(data: anndata.AnnData, fits: Mapping[str, TunedFit]) -> None:
    """Add the results of each method to a data set, in place; it becomes ``clusters.h5ad``.

    For a method m these are ``cluster_m`` (missing where a sample was set aside), ``score_m``,
    ``rank_m``, ``weight_m``, ``kept_m`` and ``centers_m``, if it resamples ``reproducibility_m``
    and ``selection_frequency_m``, and in uns how the fit was made.
    """
    found: dict[str, Any] = {}
    for method, fit in fits.items():
        numbers = [str(k) for k in range(int(fit.attributes["n_clusters"]))]
        data.obs[f"cluster_{method}"] = pd.Categorical.from_codes(fit.clustered, numbers)
        data.var[f"score_{method}"] = fit.scores
        data.var[f"rank_{method}"] = rank_scores(fit.scores)
        data.var[f"weight_{method}"] = fit.weights
        data.var[f"kept_{method}"] = fit.weights != 0
        data.varm[f"centers_{method}"] = np.ascontiguousarray(fit.centers.T)
        if fit.reproducibility is not None:
            data.obs[f"reproducibility_{method}"] = fit.reproducibility
        if fit.selection_frequency is not None:
            data.var[f"selection_frequency_{method}"] = fit.selection_frequency
        found[method] = {
            "sparsity": fit.sparsity,
            "objective": fit.objective,
            "n_features_kept": int(np.count_nonzero(fit.weights)),
            "conclusion": str(fit.attributes.get("conclusion", "")),
            # HDF5 has no type for nested settings.
            "versions": json.dumps(fit.attributes["versions"], sort_keys=True),
        }
    data.uns["sparsekm"] = found


def tabulate_clusters(
    samples: Sequence[str], labels: Sequence[str] | None, fits: Mapping[str, TunedFit]
) -> pd.DataFrame:
    """Tabulate the clusters of every sample by each method; labels are known classes."""
    table = pd.DataFrame({"sample": list(samples), "label": "" if labels is None else list(labels)})
    for method, fit in fits.items():
        table[f"cluster_{method}"] = np.asarray(fit.clustered, dtype=np.int64)
        if fit.reproducibility is not None:
            table[f"reproducibility_{method}"] = fit.reproducibility
    return table


STRONG = 0.5
"""Cramer's V above which a column and the clusters are nearly the same."""
CATEGORY_EFFECT = "V"


def associate(labels: np.ndarray, annotations: Mapping[str, pd.Series]) -> pd.DataFrame:
    """Test for each annotation (n_samples,) whether it differs between clusters.

    Numbers are compared by the test of Kruskal and Wallis, with epsilon squared as effect size;
    categories by the chi-square test, with Cramer's V. Missing values are left out. The largest
    effect is first; q is the false discovery rate over the columns.
    """
    rows = [_associate_one(str(name), labels, values) for name, values in annotations.items()]
    names = ["column", "test", "n", "effect", "effect_name", "p"]
    table = pd.DataFrame(rows, columns=names)
    table["q"] = false_discovery_control(table["p"]) if len(table) else table["p"]
    return table.sort_values(["effect", "column"], ascending=[False, True], ignore_index=True)


def _associate_one(name: str, labels: np.ndarray, values: pd.Series) -> tuple:
    known = values.notna().to_numpy()
    values, labels = values[known], labels[known]
    is_numeric = pd.api.types.is_numeric_dtype(values) and values.dtype != bool
    test, about = ("Kruskal-Wallis", "ε²") if is_numeric else ("chi-square", CATEGORY_EFFECT)
    effect, p = 0.0, 1.0
    if values.nunique() > 1 and len(np.unique(labels)) > 1:
        if is_numeric:
            statistic, p = kruskal(*(own for _, own in values.groupby(labels)))
            effect = statistic / (len(values) - 1)
        else:
            table = pd.crosstab(labels, values.astype(str).to_numpy()).to_numpy()
            p = chi2_contingency(table, correction=False).pvalue
            effect = association(table, method="cramer")
    return name, test, len(values), float(effect), about, float(p)
