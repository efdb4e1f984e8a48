"""Description of the clusters: known classes, associations, and their characteristic features."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import anndata
import numpy as np
import pandas as pd
from scipy.sparse import csr_array, hstack
from scipy.stats import chi2_contingency, false_discovery_control, kruskal

from sparsekm.annotation.gene_table import rank_scores
from sparsekm.cluster.batches import WITHIN_SUFFIX, association
from sparsekm.cluster.sparsity_path import ChosenFit
from sparsekm.io.known_classes import UNKNOWN, distinct_classes, is_known
from sparsekm.io.normalised_file import Source, read_var, row_blocks
from sparsekm.io.tables import TABLES

OVERLAP = TABLES["contingency.csv"]


def count_overlap(labels: np.ndarray, regions: np.ndarray, order: list[str]) -> pd.DataFrame:
    """Count the samples of each non-empty cluster (row) in each known region (column)."""
    known = is_known(regions)
    clusters = pd.Series(np.asarray(labels)[known], name="cluster")
    counts = pd.crosstab(clusters, pd.Series(np.asarray(regions)[known], name="label"))
    return counts.reindex(columns=order, fill_value=0)


# A class gives a cluster its name and colour if it has this share of the cluster's samples.
MAJORITY = 2 / 3


def majority_classes(labels: np.ndarray, classes: np.ndarray) -> dict[int, str]:
    """Name the class that has at least `MAJORITY` of the samples of each cluster."""
    shares = pd.crosstab(np.asarray(labels), np.asarray(classes), normalize="index")
    best, largest = shares.drop(columns=UNKNOWN, errors="ignore"), MAJORITY - 1e-9
    return {int(k): str(own.idxmax()) for k, own in best.iterrows() if own.max() >= largest}


def tabulate_overlap(
    clusters: Mapping[str, np.ndarray],
    labels: np.ndarray | None,
    regions: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Tabulate clusters against known classes, for every method, with the columns of `OVERLAP`.

    The order of `regions` decides ties. Other classes follow in alphabetical order, without name
    and colour. ``is_best`` marks the class with the most samples of a cluster.
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


def find_highest(X: Source, *codings: np.ndarray) -> list[Highest]:
    """Find, for each coding of groups, where each feature has its largest mean, and how clearly.

    The effect is Cohen's d against all other samples. The lead is the mean minus the mean of the
    next group. Both are NaN if they are not defined. `X` (n, p) is read once, in blocks; it may be
    the matrix of all features in a file. Samples with code -1 are left out. Ties go to the lowest
    group.
    """
    indicators = [_indicate(np.asarray(codes)) for codes in codings]
    members = hstack(indicators, format="csr")
    sums, squares, scale, origin = np.zeros(1), np.zeros(1), np.zeros(1), None
    for rows, block in row_blocks(X, whole=True):
        # Values are centred at one of them, so that squares of nearly equal values do not cancel.
        origin = block[0].copy() if origin is None else origin
        block -= origin
        own = members[rows].T
        sums = sums + own @ block
        scale = np.maximum(scale, np.maximum(block.max(axis=0), -block.min(axis=0)))
        squares = squares + own @ np.square(block, out=block)
    ends = np.cumsum([indicator.shape[1] for indicator in indicators])[:-1]
    parts = (np.split(values, ends) for values in (members.sum(axis=0), sums, squares))
    return [_compare(*of_groups, scale) for of_groups in zip(*parts, strict=True)]


def _indicate(codes: np.ndarray) -> csr_array:
    """Return a matrix (n, K) with a one where a sample has a group."""
    at = np.flatnonzero(codes >= 0)
    return csr_array((np.ones(len(at)), (at, codes[at])), (len(codes), codes.max() + 1))


def _compare(
    sizes: np.ndarray, sums: np.ndarray, squares: np.ndarray, scale: np.ndarray
) -> Highest:
    """Compare groups of samples, (K,), by the sums of their values and squares, (K, p)."""
    n, sizes = sizes.sum(), sizes[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(sizes > 0, sums / sizes, -np.inf)
        best = means.argmax(axis=0)
        inside, n_inside = np.take_along_axis(means, best[None], axis=0)[0], sizes[best, 0]
        outside = (sums.sum(axis=0) - n_inside * inside) / (n - n_inside)
        within = n_inside * inside**2 + (n - n_inside) * outside**2
        pooled = np.sqrt(np.maximum(squares.sum(axis=0) - within, 0) / (n - 2))
        effect = (inside - outside) / pooled
    # If values are equal in both parts, rounding can leave a small nonzero divisor.
    effect[~(pooled > 1e-6 * scale)] = np.nan
    np.put_along_axis(means, best[None], -np.inf, axis=0)
    second = means.max(axis=0)
    return Highest(best, effect, np.where(np.isfinite(second), inside - second, np.nan))


def locate_features(
    X: Source, clusters: np.ndarray, labels: np.ndarray | None = None
) -> pd.DataFrame:
    """Tabulate, for each feature, the cluster and the known class with the highest mean."""
    codings = {"cluster": np.asarray(clusters)}
    if labels is not None:
        known, codes = is_known(labels), np.full(len(labels), -1)
        names, codes[known] = np.unique(labels[known].astype(str), return_inverse=True)
        codings["label"] = codes
    columns: dict[str, np.ndarray] = {}
    for what, where in zip(codings, find_highest(X, *codings.values()), strict=True):
        group = names[where.group].astype(object) if what == "label" else where.group
        columns[f"highest_{what}"] = group
        columns |= {f"effect_{what}": where.effect, f"lead_{what}": where.lead}
    return pd.DataFrame(columns)


def cover_features(
    file: Path, fits: Mapping[str, ChosenFit]
) -> tuple[pd.DataFrame, dict[str, ChosenFit]]:
    """Return the table of all features of a data set, and its fits extended to all features.

    Features that were not clustered have weight 0, and the scores and centres of the labels.
    """
    used, var = read_var(file)
    if len(var) == len(used):
        return var, dict(fits)
    at = var.index.get_indexer(used.index)
    members = [_indicate(fit.clustered) for fit in fits.values()]
    every, sums = hstack(members, format="csr"), np.zeros(1)
    for rows, block in row_blocks(file, whole=True):
        sums = sums + every[rows].T @ block

    def put(values: np.ndarray, own: np.ndarray) -> np.ndarray:
        values[..., at] = own
        return values

    found, first = {}, 0
    for (name, fit), own in zip(fits.items(), members, strict=True):
        sizes, last = own.sum(axis=0), first + own.shape[1]
        total = sums[first:last]
        means, first = total / np.maximum(sizes, 1)[:, None], last
        scores = sizes @ np.square(means - total.sum(axis=0) / sizes.sum())
        frequency = fit.selection_frequency
        # Fields that refer to features by their number are left out.
        found[name] = ChosenFit(
            fit.labels,
            put(np.zeros(len(var)), fit.weights),
            put(scores, fit.scores),
            fit.objective,
            centers=put(means, fit.centers),
            selection_frequency=None if frequency is None else put(scores * np.nan, frequency),
            attributes=fit.attributes,
        )
    return var, found


def add_clusters(data: anndata.AnnData, fits: Mapping[str, ChosenFit]) -> None:
    """Add the results of each method to a data set, in place; it becomes ``clusters.h5ad``.

    For a method m these are ``cluster_m`` (missing if a sample was set aside), ``score_m``,
    ``rank_m``, ``weight_m``, ``kept_m`` and ``centers_m``. If the method resamples, there are also
    ``reproducibility_m`` and ``selection_frequency_m``. uns describes how the fit was made.
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
            "conclusion": fit.conclusion,
            # HDF5 has no type for nested settings.
            "versions": json.dumps(fit.attributes["versions"], sort_keys=True),
        }
    data.uns["sparsekm"] = found


def average_within(X: Source, labels: np.ndarray, batch: np.ndarray) -> pd.DataFrame:
    """Average each cluster (row) of values centred within batches; X is read once."""
    sums = pd.DataFrame()
    for rows, block in row_blocks(X):
        own = pd.DataFrame(block).groupby([labels[rows], batch[rows]]).sum()
        sums = own if sums.empty else sums.add(own, fill_value=0)
    sizes = pd.crosstab(labels, batch)
    of_batches = sums.groupby(level=1).sum().div(sizes.sum(), axis=0)
    centred = sums.groupby(level=0).sum() - sizes.to_numpy() @ of_batches.to_numpy()
    return centred.div(sizes.sum(axis=1), axis=0)


def tabulate_clusters(
    samples: Sequence[str], labels: Sequence[str] | None, fits: Mapping[str, ChosenFit]
) -> pd.DataFrame:
    """Tabulate the clusters of every sample by each method; labels are known classes."""
    table = pd.DataFrame({"sample": list(samples), "label": "" if labels is None else list(labels)})
    for method, fit in fits.items():
        table[f"cluster_{method}"] = np.asarray(fit.clustered, dtype=np.int64)
        if fit.batch_centred is not None:
            table[f"cluster_{method}{WITHIN_SUFFIX}"] = fit.batch_centred
        if fit.reproducibility is not None:
            table[f"reproducibility_{method}"] = fit.reproducibility
    return table


CATEGORY_EFFECT = "V"


def associate(labels: np.ndarray, annotations: Mapping[str, pd.Series]) -> pd.DataFrame:
    """Test for each annotation (n_samples,) whether it differs between clusters.

    Numbers are compared by the test of Kruskal and Wallis, with epsilon squared as effect size, and
    categories by the chi-square test, with `association`. Missing values are left out. The table
    begins with the largest effect. q is the false discovery rate over the columns.
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
            effect = association(table)
    return name, test, len(values), float(effect), about, float(p)
