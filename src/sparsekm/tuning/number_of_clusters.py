r"""Comparison of numbers of clusters. It is a ranking, not a test: some number is always the best.

`sparsekm.tuning.evidence` tests whether there are clusters at all.

For every number the sparsity is tuned by the gap, and the fit at this sparsity is judged:

* by its gap, with the rule of Tibshirani, Walther & Hastie (2001, doi:10.1111/1467-9868.00293);
* by its stability: the mean adjusted Rand index of the partition with those fitted to four fifths
  of the samples;
* by its excess: its stability minus that of data without clusters for the same number, since few
  clusters are stable even without structure (Clest does the same with predictions: Dudoit &
  Fridlyand 2002, doi:10.1186/gb-2002-3-7-research0036).

Each number is judged at its own best sparsity. This sparsity rather than the mean over all, four
fifths of the samples rather than halves, and permuted references were chosen on designs of
`benchmarks/tuning_rules.py`, where they found the known number as often as any alternative; halves
of small data contain too few samples of each of many clusters. One cluster too many, split off
unevenly, is nearly as stable: if excesses are similar, use more references or a larger
`min_cluster_size`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.base import clone

from sparsekm.cluster.matrices.dense_parts import stored_bytes
from sparsekm.cluster.path_estimator import read_varying
from sparsekm.cluster.sparsity_path import SparsityPath
from sparsekm.cluster.validation import check_choice, check_count
from sparsekm.runtime.random_state import seed_sequence
from sparsekm.runtime.threads import grant_threads, run_side_by_side
from sparsekm.tuning.feature_limit import feature_limit
from sparsekm.tuning.gap import gap_curve
from sparsekm.tuning.grid import search_grid
from sparsekm.tuning.references import permuted_reference, reference_seed
from sparsekm.tuning.resampling import SUBSAMPLE, resample
from sparsekm.tuning.selection import select_sparsity

COUNT_RULES = ["gap", "stability", "excess"]
# What is set on the estimator, or asked of it.
NEEDED = {"n_clusters", "min_cluster_size", "sparsity", "random_state"}


def compare_cluster_counts(
    estimator,
    X,
    counts: Iterable[int],
    *,
    sparsities=None,
    n_splits: int = 10,
    n_references: int = 5,
    n_jobs: int | None = None,
    random_state=None,
) -> pd.DataFrame:
    """Tune an estimator for every number of clusters, and compare the numbers.

    Parameters
    ----------
    estimator : estimator with `n_clusters`, `min_cluster_size`, `sparsity` and `path`
        For instance `L0KMeans`. Its own `n_clusters`, `sparsity` and `random_state` are not used.
    X : array-like or sparse matrix of shape (n_samples, n_features)
    counts : iterable of int
        Numbers of clusters, >= 2.
    sparsities : None or array-like, default=None
        The grid, the same for all; None is `sparsekm.tuning.grid.default_sparsities`.
    n_splits : int, default=10
        Number of subsamples of the data, and of each reference.
    n_references : int, default=5
        Number of data sets without clusters, >= 2, with every feature permuted separately. The gap
        and the excess use the same ones.
    n_jobs : int, default=None
        As in `GapSearch`.
    random_state : None, int, RandomState or Generator, default=None
        Every number of clusters uses the same subsamples and references. None draws fresh entropy,
        and never NumPy's global generator.

    Returns
    -------
    pandas.DataFrame
        Ascending in n_clusters: n_clusters, best_sparsity (by the gap's rule "auto"), and at this
        sparsity n_selected, gap, se (of the gap), stability, reference_stability, and
        excess = stability - reference_stability.

    Raises
    ------
    TypeError
        If the estimator lacks a `path` or one of these parameters, as `SparseClustering` does.
    ValueError
        If a number of clusters is below 2, or too large for a subsample.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsekm.cluster.estimators import L0KMeans
    >>> X = np.random.default_rng(0).normal(size=(60, 12))
    >>> X[:20, :4] += 4
    >>> X[20:40, 4:8] += 4
    >>> table = compare_cluster_counts(
    ...     L0KMeans(n_init=2), X, [2, 3, 4], sparsities=[8, 12], n_splits=4, random_state=0
    ... )
    >>> select_cluster_count(table, "excess")
    3
    """
    if not hasattr(estimator, "path") or not estimator.get_params().keys() >= NEEDED:
        raise TypeError(
            f"estimator={estimator!r} should have a `path` and the parameters "
            f"{', '.join(sorted(NEEDED))}, as L0KMeans and L1KMeans have."
        )
    n_splits = check_count("n_splits", n_splits, 1)
    n_references = check_count("n_references", n_references, 2)
    X, features = read_varying(estimator, X)
    counts = _check_counts(
        counts, X.shape[0], check_count("min_cluster_size", estimator.min_cluster_size)
    )
    sparsities = search_grid(estimator.penalty, sparsities, features)
    clone(estimator).set_params(n_clusters=counts[-1], random_state=None).check(X, searched=True)
    tuning = _Tuning(
        X=X,
        sparsities=sparsities,
        n_splits=n_splits,
        n_references=n_references,
        seed=int(seed_sequence(random_state).generate_state(1)[0]),
    )
    with grant_threads(n_jobs):
        rows = [tuning.measure(clone(estimator).set_params(n_clusters=count)) for count in counts]
    table = pd.DataFrame(rows)
    table.insert(0, "n_clusters", counts)
    return table


def select_cluster_count(table: pd.DataFrame, rule: str = "excess") -> int:
    """Choose a number of clusters.

    Parameters
    ----------
    table : pandas.DataFrame
        As `compare_cluster_counts` returns it, ascending in n_clusters.
    rule : {"gap", "stability", "excess"}
        "gap" takes the smallest number whose gap is at least the next one's minus its standard
        error, or the largest number if there is none; "stability" and "excess" take the number with
        the largest value, the smallest if several are equal.

    Returns
    -------
    int
    """
    check_choice("rule", rule, COUNT_RULES)
    counts = table["n_clusters"].to_numpy()
    if rule != "gap":
        return int(counts[table[rule].to_numpy().argmax()])
    gap, se = table["gap"].to_numpy(), table["se"].to_numpy()
    # No number follows the last, so nothing speaks against it.
    enough = np.append(gap[:-1] >= gap[1:] - se[1:], True)
    return int(counts[enough.argmax()])


def largest_count(n_samples: int, min_cluster_size: int = 1) -> int:
    """Return the most clusters that a subsample of so many samples has room for."""
    return int(np.ceil(SUBSAMPLE * n_samples)) // min_cluster_size


def _check_counts(counts: Iterable[int], n_samples: int, min_cluster_size: int) -> list[int]:
    """Return the numbers, ascending and distinct."""
    counts = sorted({check_count("n_clusters", count, 2) for count in counts})
    if not counts:
        raise ValueError("counts should name at least one number of clusters.")
    most = largest_count(n_samples, min_cluster_size)
    if counts[-1] > most:
        raise ValueError(
            f"n_clusters={counts[-1]} should be <= {most}: a subsample of n_samples={n_samples} "
            f"has no room for more clusters of min_cluster_size={min_cluster_size}."
        )
    return counts


@dataclass(frozen=True)
class _Tuning:
    """What the numbers of clusters share: data, grid, effort and seed."""

    X: np.ndarray
    sparsities: np.ndarray
    n_splits: int
    n_references: int
    seed: int

    def measure(self, estimator) -> dict[str, float]:
        """Tune one number of clusters by the gap, and judge the fit that it takes."""
        path = clone(estimator).set_params(random_state=self.seed).path(self.X, self.sparsities)
        objectives, beside = zip(
            *self._side_by_side(partial(self._fit_reference, estimator), self.n_references),
            strict=True,
        )
        own = path.first_objectives
        gaps = gap_curve(self.sparsities, path.n_selected, own, np.array(objectives))
        best = select_sparsity(gaps, "auto", feature_limit(self.X, path))
        agreement = partial(self._agreement, estimator, self.X, path, seed=self.seed)
        agreements = list(self._side_by_side(agreement, self.n_splits))
        stability = float(np.mean(agreements, axis=0)[best])
        reference_stability = float(np.mean(beside, axis=0)[best])
        chosen = gaps.iloc[best]
        return {
            "best_sparsity": self.sparsities[best].item(),
            "n_selected": int(chosen["n_selected"]),
            "gap": float(chosen["gap"]),
            "se": float(chosen["se"]),
            "stability": stability,
            "reference_stability": reference_stability,
            "excess": stability - reference_stability,
        }

    def _side_by_side(self, work: Callable[[int], Any], count: int) -> Iterator[Any]:
        return run_side_by_side(work, range(count), None, stored_bytes(self.X))

    def _fit_reference(self, estimator, index: int) -> tuple[np.ndarray, np.ndarray]:
        """Give a reference's objectives and mean agreement at every sparsity."""
        # Subsamples are rows; the reference is a transpose.
        data = permuted_reference(self.X, index=index, seed=self.seed)
        data = data if issparse(data) else np.ascontiguousarray(data)
        seed = reference_seed(self.seed, index)
        path = clone(estimator).set_params(random_state=seed).path(data, self.sparsities)
        agreements = [
            self._agreement(estimator, data, path, split, seed=seed)
            for split in range(self.n_splits)
        ]
        return path.first_objectives, np.mean(agreements, axis=0)

    def _agreement(
        self, estimator, X: np.ndarray, path: SparsityPath, index: int, *, seed: int
    ) -> np.ndarray:
        return resample(
            estimator,
            X,
            self.sparsities,
            scheme="subsample",
            index=index,
            seed=seed,
            labels=path.labels,
        )
