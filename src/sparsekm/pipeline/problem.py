"""The clustering problem defined by a data set, a method and settings.

The rules `cluster_path` and `reference_path` solve the same problem on the data and on references.
It is defined in one place, so that their grids, seeds and search effort agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils import get_tags

from sparsekm.cluster.matrices.dense_parts import as_dense, feature_means
from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.cluster.matrices.streamed_matrix import in_blocks
from sparsekm.cluster.sample_weights import repeat_samples
from sparsekm.cluster.sparsity_path import ChosenFit, Fit
from sparsekm.cluster.weight_step import resolve_sparsities
from sparsekm.io.known_classes import count_clusters
from sparsekm.io.normalised_file import NormalisedData, read_normalised
from sparsekm.pipeline.provenance import derive_seed, input_digest, package_versions
from sparsekm.pipeline.registry import get_method
from sparsekm.tuning import fold_fits
from sparsekm.tuning.chosen_fit import (
    MOST_SAMPLES,
    average_clusters,
    find_clusters,
    place_samples,
)
from sparsekm.tuning.gap import default_sparsities


@dataclass(frozen=True)
class ClusteringProblem:
    """The data to cluster, the estimator and its settings."""

    whole: NormalisedData
    # The clustered data, and the positions of their samples in `whole`: all samples or, for a
    # method without weights, some of them, ascending, repeated by their weights.
    data: ScaledData
    rows: np.ndarray
    samples: np.ndarray | None  # those to tune the sparsity on, ascending; None for all
    # The estimator is not fitted. Its `random_state` is `seed` or, for `SparseKMeans`, the seed of
    # its folds.
    estimator: Any
    settings: Any  # the `SparseKMeans` that made the estimator, maybe with K "auto", or None
    # (m,), ascending; None for a method without a grid
    sparsities: np.ndarray | None
    numbers: pd.DataFrame | None  # the numbers of clusters that were tried, if one was chosen
    seed: int  # of the data set, the same for every method
    attributes: dict[str, Any]  # of the files of this problem

    @cached_property
    def tuning(self) -> ScaledData:
        """The samples on which the sparsity is tuned; dense if the method needs that."""
        tuned = self.data if self.samples is None else self.data.take(self.samples)
        is_ready = get_tags(self.estimator).input_tags.sparse or isinstance(tuned.X, np.ndarray)
        return tuned if is_ready else replace(tuned, X=as_dense(tuned.X))

    def find(self, data: ScaledData | None = None, **options: Any) -> ChosenFit:
        """Find the clusters as `SparseKMeans` does, by `find_clusters`, also of other values."""
        return find_clusters(self.settings, data or self.whole, numbers=self.numbers, **options)

    def kept_by(self, fit: ChosenFit) -> tuple[ScaledData, np.ndarray]:
        """Return the tuning samples that a fit did not set aside, and their labels."""
        labels = fit.clustered[self.rows]
        labels = labels if self.samples is None else labels[self.samples]
        inside = np.flatnonzero(labels >= 0)
        if self.settings is None or len(inside) == len(labels):
            return self.tuning, labels
        return self.tuning.standardise_by(inside).take(inside), labels[inside]

    @property
    def each_once(self) -> np.ndarray | slice:
        """The positions in the tuning samples at which each sample occurs first."""
        rows = self.rows if self.samples is None else self.rows[self.samples]
        first = np.unique(rows, return_index=True)[1]
        return slice(None) if len(first) == len(rows) else first


def cluster_means(data: ScaledData, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Average the z-scores of every cluster: (K, p); an empty cluster gets the overall mean."""
    means = average_clusters(data, labels, n_clusters)
    if np.isnan(means).any():
        overall = feature_means(data.X) - (0 if data.center is None else data.center)
        means = np.where(np.isnan(means), overall, means)
    return means


def describe_fit(
    problem: ClusteringProblem, fit: Fit, attributes: Mapping[str, Any], n_clusters: int
) -> ChosenFit:
    """Return a fit with the means of its clusters, for all samples.

    Trimmed samples, with the label -1, and samples of weight 0 are not used for the means, and get
    the nearest cluster.
    """
    whole, inside = problem.whole, fit.labels >= 0
    samples, labels = problem.rows[inside], fit.labels[inside]
    everyone = np.full(whole.X.shape[0], -1, np.int32)
    everyone[samples] = labels
    out = everyone < 0
    is_trimmed = problem.attributes["parameters"].get("trim") and out.any()
    result = ChosenFit.of(
        fit,
        labels=everyone,
        centers=cluster_means(whole.take(samples), labels, n_clusters),
        trimmed=out if is_trimmed else None,
        attributes=attributes,
    )
    if out.any():
        everyone[out] = place_samples(result, whole.X[out], whole.center)
    return result


def define_problem(
    file: str | Path,
    dataset: str,
    method: str,
    *,
    seed: int,
    n_clusters: int | str,
    search: Mapping[str, Any],
    grid: Mapping[str, Any],
    max_samples: int | None = None,
    most_bytes: int | None = None,
    numbers: pd.DataFrame | None = None,
    code_digest: str,
) -> ClusteringProblem:
    """Read the ``normalised.h5ad`` of a data set and define its clustering problem.

    `search` has parameters of estimators, such as ``n_init``; parameters that a method does not
    have are ignored. `grid` has ``sparsities``, "auto" or a list, and ``n_sparsities``, the length
    of an "auto" grid. It is empty for a method without a sparsity, or with its own grid. If there
    are more than `max_samples` samples, this number is drawn to tune the sparsity. A dense X is
    read into memory if it takes no more than `most_bytes`; no result depends on this. If
    `n_clusters` is "auto", the data determine it; `numbers` is the table of the numbers that were
    tried, once they were.
    """
    data = read_normalised(file, most_bytes)
    entry = get_method(method)
    n_samples, n_features = data.X.shape
    is_auto = n_clusters == "auto" or numbers is not None
    if numbers is not None:
        chosen = numbers[numbers["chosen"]].iloc[0]
        n_clusters = int(chosen["n_groups"] if chosen["n_groups"] > 1 else chosen["n_clusters"])
    elif is_auto:
        n_clusters = 2
    k = count_clusters(dataset, n_clusters, data.about.labels, n_samples)
    own_seed = derive_seed(seed, dataset)
    is_resampled = entry.tuning == "resampling"
    settings, estimator = None, entry.estimator(n_clusters=k, random_state=own_seed)
    parameters = {**search, "max_samples": max_samples}
    if is_resampled:
        parameters["max_samples"] = min(max_samples or MOST_SAMPLES, MOST_SAMPLES)
    if data.about.feature_groups is not None:
        parameters["feature_groups"] = data.about.feature_groups
        n_features = len(np.unique(data.about.feature_groups))
    accepted = estimator.get_params()
    asked = {"trim": "set samples aside"} if parameters.get("trim") else {}
    # k-means on all features or on components does not choose features.
    if "feature_groups" in parameters and method not in ("kmeans", "pca"):
        asked["feature_groups"] = "choose groups"
    for name, verb in asked.items():
        if name not in accepted:
            raise ValueError(
                f"matrices.{dataset}.{name}: {method} cannot {verb}. Leave {method} out of "
                f"methods, or leave out {name}."
            )
    estimator.set_params(**{name: parameters[name] for name in parameters if name in accepted})
    described = estimator.get_params()
    for hidden in ("n_jobs", "feature_groups"):
        described.pop(hidden, None)
    clustered, rows = data, np.arange(n_samples)
    if is_resampled:
        settings, estimator = estimator, estimator.make_estimator()
        settings.set_params(n_clusters="auto" if is_auto else k)
    elif data.about.weights is not None:
        rows = repeat_samples(data.about.weights, n_samples)
        clustered = data.take(rows).standardise_by(np.arange(len(rows)))
        if data.about.groups is None and len(np.unique(rows)) < len(rows):
            # Copies of a sample are held out together.
            clustered = replace(clustered, about=replace(clustered.about, groups=rows))
    sparsities, chosen = None, grid.get("sparsities", "auto")
    if entry.penalty is not None and not is_resampled:
        if chosen == "auto":
            n_sparsities = grid.get("n_sparsities", 10)
            sparsities = default_sparsities(entry.penalty, n_features, n_sparsities)
        else:
            # Shares become counts.
            resolved = resolve_sparsities(entry.penalty, chosen, n_features)
            sparsities = np.unique(resolved).astype(np.float64)
    most = parameters["max_samples"]
    samples = fold_fits.tuning_sample(clustered.X.shape[0], most, estimator)
    return ClusteringProblem(
        whole=data,
        data=clustered,
        rows=rows,
        samples=samples,
        estimator=estimator,
        settings=settings,
        sparsities=sparsities,
        numbers=numbers,
        seed=own_seed,
        attributes={
            "method": method,
            "dataset": dataset,
            "n_clusters": k,
            "search": str(described.get("search", "alternate")),
            "seed": seed,
            "parameters": described,
            "versions": package_versions(),
            "input_digest": input_digest(file),
            "code_digest": code_digest,
            **({} if samples is None else {"n_tuned": len(samples)}),
        },
    )


def refit(problem: ClusteringProblem, fit: ChosenFit, number: int) -> ChosenFit:
    """Fit a problem again like its chosen fit, with another numbered seed."""
    seed = derive_seed(problem.seed, "refit", number)
    if problem.settings is not None:
        return replace(problem.find(seed=seed), attributes=fit.attributes)
    estimator = clone(problem.estimator).set_params(random_state=seed)
    again = estimator.path(in_blocks(problem.tuning.X), [fit.sparsity]).fit_at(0)
    return describe_fit(problem, again, fit.attributes, int(again.labels.max()) + 1)


def order_fits(fits: Sequence[ChosenFit], maximises: bool) -> list[int]:
    """Order fits from the seeds 0, 1, 2, ...: the fit to show, then the others.

    For a method that maximises its objective, the best fit is shown (the first one, if several
    tie); otherwise the first fit, which the tuning chose.
    """
    seeds = range(len(fits))
    best = max(seeds, key=lambda seed: fits[seed].objective) if maximises else 0
    return sorted(seeds, key=lambda seed: seed != best)
