"""The clustering problem defined by a data set, a method and settings.

The rules `cluster_path` and `reference_path` solve the same problem on the data and on references;
defining it in one place keeps their grids, seeds and search effort the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.utils import get_tags

from sparsekm.cluster.batches import centre_within, check_batch
from sparsekm.cluster.matrices.containers import in_blocks
from sparsekm.cluster.matrices.dense_parts import as_dense, feature_means, feature_variances
from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.cluster.matrices.sparse_matrix import as_matrix, cluster_centers
from sparsekm.cluster.sparsity_path import SparsityPath
from sparsekm.cluster.unequal_samples import count_trimmed, first_kept, keep_nearest, repeat_samples
from sparsekm.cluster.weight_step import resolve_sparsities
from sparsekm.io.known_classes import count_clusters
from sparsekm.io.normalised_file import read_normalised
from sparsekm.io.store import TunedFit, pick_fit
from sparsekm.pipeline.provenance import derive_seed, input_digest, package_versions
from sparsekm.pipeline.registry import Method, get_method
from sparsekm.tuning import fold_fits
from sparsekm.tuning.chosen_fit import ChosenFit, choose_fit
from sparsekm.tuning.gap import default_sparsities
from sparsekm.tuning.sparse_kmeans import MOST_SAMPLES

# What is known of a number of clusters that was chosen, see `find_clusters`.
NUMBERS = ("n_fitted", "n_numbers", "price")


@dataclass(frozen=True)
class ClusteringProblem:
    """The data to cluster, the estimator and its settings."""

    whole: ScaledData  # the content of the ``normalised.h5ad``
    # What is clustered, and its samples among those of `whole`: all, or some, ascending, repeated
    # by their weights or without outliers.
    data: ScaledData
    rows: np.ndarray
    samples: np.ndarray | None  # those to tune the sparsity on, ascending; None for all
    # Not fitted. Its `random_state` is `seed` or, for `SparseKMeans`, the seed of its folds.
    estimator: Any
    # (m,), ascending; None for a method without a grid
    sparsities: np.ndarray | None
    seed: int  # of the data set, the same for every method
    attributes: dict[str, Any]  # of the files of this problem

    @cached_property
    def tuning(self) -> ScaledData:
        """The samples on which the sparsity is tuned, dense if the method reads no sparse ones."""
        found = self.data if self.samples is None else self.data.take(self.samples)
        is_ready = get_tags(self.estimator).input_tags.sparse or isinstance(found.X, np.ndarray)
        return found if is_ready else replace(found, X=as_dense(found.X))

    @cached_property
    def tested(self) -> ScaledData:
        """The same samples, and after them as large a share of those that were trimmed."""
        aside = np.setdiff1d(np.arange(self.whole.X.shape[0]), self.rows)
        if not self.attributes["parameters"].get("trim") or not len(aside):
            return self.tuning
        step = max(1, len(self.rows) // self.tuning.X.shape[0])
        return self.tuning.append(self.whole.take(aside[::step]))

    def blocks_of(self, data: ScaledData) -> np.ndarray | None:
        """Return the user's groups of samples, (n,), or else blocks of space, if any are known."""
        if data.groups is not None:
            return np.unique(data.groups, return_inverse=True)[1]
        if data.positions is None:
            return None
        n_blocks = fold_fits.BLOCKS_PER_CLUSTER * self.estimator.n_clusters
        return fold_fits.space_blocks(data.positions, n_blocks)

    def of_all(self, values: np.ndarray, unknown: float) -> np.ndarray:
        """Return the values of all samples, (n,), from those of the samples that are clustered."""
        given, first = np.unique(self.rows, return_index=True)
        everyone = np.full(self.whole.X.shape[0], unknown, values.dtype)
        everyone[given] = values[first]
        return everyone

    @property
    def each_once(self) -> np.ndarray | slice:
        """Where, among the samples to tune on, each is for the first time."""
        rows = self.rows if self.samples is None else self.rows[self.samples]
        first = np.unique(rows, return_index=True)[1]
        return slice(None) if len(first) == len(rows) else first

    def trim_again(self, fit: SparsityPath) -> ClusteringProblem:
        """Return the problem without the samples that are farthest from the centres of a fit."""
        centers = describe_fit(self, fit, {}, int(fit.labels.max()) + 1).centers
        centers = centers if self.whole.center is None else centers + self.whole.center
        n_trimmed = self.whole.X.shape[0] - len(self.rows)
        rows = keep_nearest(as_matrix(self.whole.X), centers, fit.weights[0], n_trimmed)
        return replace(self, data=_take_samples(self.whole, rows), rows=rows)

    def centre_batches(self) -> ClusteringProblem:
        """Return the problem of values that are centred within batches."""
        codes, _ = check_batch(self.data.batch, self.data.X)
        centred = replace(self.data, X=centre_within(self.data.X, codes))
        return replace(self, data=_standardise(centred))


def cluster_means(data: ScaledData, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Average the z-scores of every cluster: (K, p), those of all samples for one without any."""
    means = cluster_centers(data.X, labels, n_clusters)
    if np.isnan(means).any():
        means = np.where(np.isnan(means), feature_means(data.X), means)
    return means if data.center is None else means - data.center


def describe_fit(
    problem: ClusteringProblem, path: SparsityPath, attributes: Mapping[str, Any], n_clusters: int
) -> TunedFit:
    """Return the first fit of a path with the means of its clusters, for all samples.

    Samples that were trimmed, which have the label -1, or have weight 0 have no part in the means,
    and get the nearest cluster.
    """
    whole, inside = problem.whole, path.labels[0] >= 0
    given, labels = problem.rows[inside], path.labels[0][inside]
    everyone = np.full(whole.X.shape[0], -1, np.int32)
    everyone[given] = labels
    out = everyone < 0
    own = whole if problem.data is whole and not out.any() else whole.take(given)
    centers = cluster_means(own, labels, n_clusters)
    if out.any():
        others = as_dense(whole.X[out]) - (0 if whole.center is None else whole.center)
        distances = [np.square(others - center) @ path.weights[0] for center in centers]
        everyone[out] = np.argmin(distances, axis=0)
    is_trimmed = problem.attributes["parameters"].get("trim") and out.any()
    fit = pick_fit(path, 0, centers, attributes)
    return replace(fit, labels=everyone, trimmed=out if is_trimmed else None)


def _take_samples(data: ScaledData, rows: np.ndarray) -> ScaledData:
    """Return some samples, or some repeatedly, whose copies are one group."""
    taken = data.take(rows)
    if data.groups is None and len(np.unique(rows)) < len(rows):
        taken = replace(taken, groups=rows)
    return _standardise(taken)


def _standardise(data: ScaledData) -> ScaledData:
    """Make values z-scores again, if they were before samples were taken or values changed."""
    X = data.X
    if data.means is None or data.deviations is None:
        return data
    means = moved = feature_means(X)
    spread = np.sqrt(feature_variances(X) * X.shape[0] / (X.shape[0] - 1))
    spread = np.where(spread > 0, spread, 1.0)
    if data.center is None:
        scaled, center = (X - means) / spread, None
    else:
        scaled, center = csr_array(X.multiply(1 / spread)), means / spread
        moved = means - data.center
    return replace(
        data,
        X=scaled.astype(np.float32),
        center=center,
        means=data.means + data.deviations * moved,
        deviations=data.deviations * spread,
    )


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
    code_digest: str,
) -> ClusteringProblem:
    """Read the ``normalised.h5ad`` of a data set and define its clustering problem.

    `search` are parameters of estimators, such as ``n_init``; those that a method does not have are
    ignored. `grid` has ``sparsities``, "auto" or a list, and ``n_sparsities``, the length of an
    "auto" grid; it is empty for a method without a sparsity, or with its own grid. Of more samples
    than `max_samples`, so many are drawn to tune the sparsity. A dense X is read into memory if it
    takes no more than `most_bytes`; no result depends on that.
    """
    data = read_normalised(file, most_bytes)
    entry = get_method(method)
    n_samples, n_features = data.X.shape
    k = count_clusters(dataset, n_clusters, data.labels, n_samples)
    own_seed = derive_seed(seed, dataset)
    estimator = entry.estimator(n_clusters=k, random_state=own_seed)
    settings = {**search, "max_samples": max_samples}
    if data.feature_groups is not None:
        settings["feature_groups"] = data.feature_groups
        n_features = len(np.unique(data.feature_groups))
    accepted = estimator.get_params()
    _refuse_unknown(dataset, entry, settings, accepted)
    estimator.set_params(**{name: settings[name] for name in settings if name in accepted})
    rows = None
    if data.weights is not None:
        rows = repeat_samples(data.weights, n_samples)
    elif entry.tuning == "resampling" and estimator.trim:
        n_trimmed = count_trimmed(estimator.trim, n_samples, k, int(estimator.min_cluster_size))
        rows = first_kept(as_matrix(data.X), k, n_trimmed, seed=own_seed)
    clustered = data if rows is None else _take_samples(data, rows)
    described = estimator.get_params()
    for hidden in ("n_jobs", "feature_groups"):
        described.pop(hidden, None)
    if entry.tuning == "resampling":
        estimator = estimator.make_estimator()
        max_samples = min(max_samples or MOST_SAMPLES, MOST_SAMPLES)
    samples = fold_fits.tuning_sample(clustered.X.shape[0], max_samples, own_seed, estimator)
    return ClusteringProblem(
        whole=data,
        data=clustered,
        rows=np.arange(n_samples) if rows is None else rows,
        samples=samples,
        estimator=estimator,
        sparsities=_sparsities(entry, n_features, **grid),
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


def _refuse_unknown(dataset: str, entry: Method, settings: Mapping, accepted: Mapping) -> None:
    """Refuse what a user asked for and a method cannot do."""
    asked = {
        "trim": ("set samples aside", settings.get("trim")),
        # k-means, of all features or components, chooses none.
        "feature_groups": (
            "choose groups",
            "feature_groups" in settings and entry.name not in ("kmeans", "pca"),
        ),
    }
    for name, (verb, is_asked) in asked.items():
        if is_asked and name not in accepted:
            raise ValueError(
                f"matrices.{dataset}.{name}: {entry.name} cannot {verb}. Leave it out of methods, "
                f"or leave out {name}."
            )


def _sparsities(
    method: Method,
    n_features: int,
    sparsities: str | Sequence[float] = "auto",
    n_sparsities: int = 10,
) -> np.ndarray | None:
    """Resolve a grid for the number of features, converting shares to counts."""
    if method.penalty is None or method.tuning == "resampling":
        return None
    if sparsities == "auto":
        return default_sparsities(method.penalty, n_features, n_sparsities)
    resolved = resolve_sparsities(method.penalty, sparsities, n_features)
    return np.unique(resolved).astype(np.float64)


def find_clusters(
    problem: ClusteringProblem,
    *,
    numbers: Mapping[str, Any] | None = None,
    seed: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    **choosing: Any,
) -> ChosenFit:
    """Choose the fit of a problem, from its own seed by default.

    `numbers` say how the number of clusters was chosen before: n_fitted, the number that was
    fitted, and n_numbers and price as in `choose_fit`, which gets all of `choosing`.
    """
    own = dict(numbers or {})
    estimator = clone(problem.estimator)
    estimator.set_params(n_clusters=own.pop("n_fitted", estimator.n_clusters))
    found = choose_fit(
        estimator,
        problem.tested,
        seed=estimator.random_state if seed is None else seed,
        blocks=problem.blocks_of(problem.tested),
        fitted=np.arange(problem.tuning.X.shape[0]),
        progress=progress,
        **own,
        **choosing,
    )
    if problem.samples is not None:
        found = found.extend(estimator, problem.data.X, problem.samples)
    return found


def describe_found(
    problem: ClusteringProblem, found: ChosenFit, attributes: Mapping[str, Any]
) -> TunedFit:
    """Return a chosen fit, for all samples."""
    path = replace(found.fit, labels=found.labels[None])
    return describe_fit(problem, path, attributes, found.n_clusters)


def refit(problem: ClusteringProblem, fit: TunedFit, number: int) -> TunedFit:
    """Fit a problem again as its chosen fit, from the seed of this number."""
    seed = derive_seed(problem.seed, "refit", number)
    if get_method(fit.attributes["method"]).tuning == "resampling":
        numbers = {name: fit.attributes[name] for name in NUMBERS if name in fit.attributes}
        found = find_clusters(problem, numbers=numbers, seed=seed)
        return describe_found(problem, found, fit.attributes)
    estimator = clone(problem.estimator).set_params(random_state=seed)
    path = estimator.path(in_blocks(problem.tuning.X), [fit.sparsity])
    return describe_fit(problem, path, fit.attributes, int(path.labels.max()) + 1)


def order_fits(fits: Sequence[TunedFit], maximises: bool) -> list[int]:
    """Order fits from the seeds 0, 1, 2, ...: the one to show, then the others.

    That is the best, and the first of the best, for a method that maximises its objective;
    otherwise the first, which the tuning chose.
    """
    seeds = range(len(fits))
    best = max(seeds, key=lambda seed: fits[seed].objective) if maximises else 0
    return sorted(seeds, key=lambda seed: seed != best)
