"""The candidates repeated on folds: every sample is left out once in each repeat.

In each fold the drawn samples rank the features, and every start and number of features is fitted
anew. If features are independent, a better start is a vote of the optima of all folds: k-means on
the shares of partitions in which two samples are together (Fred & Jain 2005,
doi:10.1109/TPAMI.2005.113).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import clone

from sparsekm.cluster.description import Description
from sparsekm.cluster.kmeans.many_samples import label_samples
from sparsekm.cluster.matrices.dense_parts import as_dense, feature_means
from sparsekm.cluster.matrices.matrix import CentredMatrix
from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.cluster.matrices.sparse_matrix import cluster_centers
from sparsekm.cluster.matrices.varying_features import count_distinct
from sparsekm.cluster.sparsity_path import Fit
from sparsekm.cluster.validation import check_count
from sparsekm.metrics import label_codes
from sparsekm.runtime.random_state import draw_samples
from sparsekm.runtime.threads import run_side_by_side
from sparsekm.tuning.candidates import (
    N_INIT,
    N_SCREENED,
    STARTS,
    Candidate,
    Samples,
    fit_optima,
    kept_features,
)
from sparsekm.tuning.feature_ranking import (
    count_units,
    first_features,
    number_units,
    rank_features,
)
from sparsekm.tuning.partitions import FoldFit

N_REPEATS = 5
N_FOLDS = 10
# Restarts, which suffice because many fits are compared.
N_INIT_OF_FOLD = 5
# The optimum is searched among at most this number of features.
N_SEARCHED = 2000
# Folds of less data are mostly Python, of which one thread runs at a time: side by side they take
# up to half more CPU time and no less wall time.
BYTES_WORTH_THREADS = 2**20


def draw_folds(
    fitted: np.ndarray, *, seed: int, blocks: np.ndarray | None = None
) -> list[np.ndarray]:
    """Draw the samples left out in each fold, ascending, in whole `blocks`, repeat after repeat.

    Only samples in `fitted` are drawn; `blocks`, (n_samples,), are of all samples.
    """
    own = np.arange(len(fitted))
    if blocks is not None:
        own = np.unique(blocks[fitted], return_inverse=True)[1]
    n_blocks = int(own.max()) + 1
    n_folds = min(N_FOLDS, n_blocks)
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0, 6)))
    folds = []
    for _ in range(N_REPEATS):
        fold = (rng.permutation(n_blocks) % n_folds)[own]
        folds += [fitted[fold == number] for number in range(n_folds)]
    return folds


@dataclass(frozen=True)
class Folds:
    """A data set, how it is clustered, and which samples each fold leaves out.

    The results do not depend on the number of folds that threads fit in parallel.
    """

    data: ScaledData
    # An L0KMeans or L1KMeans with a number of clusters, a seed and, if it is given, the sparsity.
    estimator: Any
    screening: str
    fitted: np.ndarray  # (m,): the samples that are clustered, ascending; others are set aside
    left_out: Sequence[np.ndarray]

    @cached_property
    def aside(self) -> np.ndarray:
        """The samples that are not clustered."""
        return np.setdiff1d(np.arange(self.data.X.shape[0]), self.fitted)

    @property
    def n_first_repeat(self) -> int:
        """The number of folds that leave out every sample once."""
        return len(self.left_out) // N_REPEATS

    @cached_property
    def whole(self) -> Samples:
        """All samples that are clustered."""
        return self.take_whole(N_SCREENED)

    def take_whole(self, n_screened: int) -> Samples:
        """Return all samples that are clustered, with a number of features for their starts."""
        data, fitted = self.data, self.fitted
        matrix = data.matrix.take(fitted) if len(self.aside) else data.matrix
        screened = self._screen(fitted, n_screened)
        return Samples(
            matrix,
            take_features(data, screened, fitted),
            clone(self.estimator).set_params(feature_groups=data.unit_numbers, n_init=N_INIT),
            self._group(screened),
            kept_features(self.estimator.n_clusters, data.n_units),
        )

    def cluster_into(self, n_clusters: int) -> Folds:
        """Return the same folds with another number of clusters."""
        own = clone(self.estimator).set_params(n_clusters=n_clusters)
        return replace(self, estimator=own)

    def repeat(
        self,
        indices: Iterable[int],
        wanted: Sequence[Candidate] | None = None,
        progress: Callable[[], None] | None = None,
    ) -> list[dict[Candidate, FoldFit]]:
        """Fit the candidates, or only those that are wanted, in some folds: a dictionary each."""
        starts = STARTS if wanted is None else dict.fromkeys(one.start for one in wanted)

        def work(index):
            drawn, screened, samples = self._draw(index, N_SCREENED)
            fits: dict[Candidate, FoldFit] = {}
            for start in starts:
                names = {one for one in wanted or () if one.start == start}
                for candidate, fit in STARTS[start](samples):
                    if wanted is None or candidate in names:
                        fits[candidate] = self._extend(index, drawn, screened, fit)
                    # The requested features are among the first.
                    if names and names <= fits.keys():
                        break
            return fits

        return self._run(work, list(indices), N_SCREENED, progress)

    def repeat_optima(self, progress: Callable[[], None] | None = None) -> list[list[FoldFit]]:
        """Find in every fold the optima at three numbers of features."""

        def work(index):
            drawn, screened, samples = self._draw(index, N_SEARCHED)
            return [self._extend(index, drawn, screened, fit) for fit in fit_optima(samples)]

        return self._run(work, range(len(self.left_out)), N_SEARCHED, progress)

    def refine(
        self, folds: Sequence[list[FoldFit]], starts: Sequence[FoldFit]
    ) -> list[list[FoldFit]]:
        """Run Algorithm 1 in each fold from the labels of a fit, and settle it.

        It begins with the number of features that the fit keeps. Folds that lack a cluster do not
        change.
        """

        def work(index):
            drawn, screened = starts[index].drawn, starts[index].screened
            labels = starts[index].labels[drawn].astype(np.int32)
            if len(np.unique(labels)) < self.estimator.n_clusters:
                return folds[index]
            samples = self._take(index, drawn, screened)
            count = count_units(starts[index].kept, self.data.unit_numbers)
            fit = samples.settle(samples.fit(labels, count))
            return [self._extend(index, drawn, screened, fit)]

        return self._run(work, range(len(folds)), N_SCREENED)

    def _run(self, work, indices, n_features, progress=None) -> list:
        _ = self.data.matrix  # It is made here, and not by every thread.
        size = self.data.X.shape[0] * min(n_features, self.data.X.shape[1]) * 8
        n_jobs = self.estimator.n_jobs if size >= BYTES_WORTH_THREADS else 1
        results = []
        for one in run_side_by_side(work, indices, n_jobs, size):
            results.append(one)
            if progress is not None:
                progress()
        return results

    def _draw(self, index: int, n_features: int) -> tuple[np.ndarray, np.ndarray, Samples]:
        """Return the samples of a fold, and the features that these samples rank first."""
        drawn = np.setdiff1d(self.fitted, self.left_out[index])
        # If the drawn samples cannot be clustered, use all samples and, if necessary, all features.
        every, enough = self.data.n_units, self.estimator.n_clusters
        for own, most in ((drawn, n_features), (self.fitted, n_features), (self.fitted, every)):
            screened = self._screen(own, most)
            samples = self._take(index, own, screened)
            if count_distinct(samples.matrix, enough) == enough:
                break
        return own, screened, samples

    def _take(self, index: int, drawn: np.ndarray, screened: np.ndarray) -> Samples:
        """Return some samples and features, with the fold's own seed and guard."""
        seed = np.random.SeedSequence(self.estimator.random_state, spawn_key=(index, 7))
        share = len(drawn) / len(self.fitted)
        groups = self._group(screened)
        estimator = clone(self.estimator).set_params(
            feature_groups=groups,
            min_cluster_size=max(1, int(self.estimator.min_cluster_size * share)),
            random_state=int(seed.generate_state(1)[0]),
            n_init=N_INIT_OF_FOLD,
            n_jobs=1,
        )
        n_kept = kept_features(self.estimator.n_clusters, self.data.n_units)
        matrix = take_features(self.data, screened, drawn)
        return Samples(matrix, matrix, estimator, groups, n_kept)

    def _group(self, screened: np.ndarray) -> np.ndarray | None:
        numbers = self.data.unit_numbers
        return None if numbers is None else number_units(screened, numbers)

    def _screen(self, samples: np.ndarray, most: int) -> np.ndarray:
        """Return the features that some samples rank first, `N_SEARCHED` from memory."""
        data, everything = self.data, most > N_SEARCHED
        key = self.screening, samples.tobytes()
        if everything or key not in data.ranked:
            ranked = rank_features(data, self.screening, samples)
            if everything:
                return ranked
            data.ranked[key] = first_features(ranked, N_SEARCHED, data.unit_numbers)
        return first_features(data.ranked[key], most, data.unit_numbers)

    def _extend(self, index, drawn, screened, fit: Fit) -> FoldFit:
        places = np.flatnonzero(fit.weights)
        values, kept = as_dense(self.data.X[:, screened[places]]), screened[places]
        labels = extend_labels(values, values[drawn], fit.labels, fit.weights[places])
        left_out = np.setdiff1d(self.left_out[index], drawn)
        return FoldFit(drawn, left_out, labels.astype(np.int16), kept, screened)


def take_features(data: ScaledData, features: np.ndarray, samples: np.ndarray) -> CentredMatrix:
    """Copy some features of some samples, centred anew."""
    if issparse(data.X):
        return CentredMatrix(as_dense(data.X[:, features])[samples])
    # The copy is stored feature after feature, as it is read.
    columns = np.take(data.matrix.columns[features], samples, axis=1, mode="clip")
    return CentredMatrix(columns.T, copy=False)


def extend_labels(X, part, labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Label all samples by the nearest centre of a partition of `part`, in its kept features."""
    kept = part[:, np.flatnonzero(weights)]
    centers = cluster_centers(kept, labels, int(labels.max()) + 1)
    # Values are centred at the means of the part: distances do not change, and rounding stays
    # small.
    shift = feature_means(kept)
    return label_samples(X, weights, shift, (centers - shift).T)


BLOCKS_PER_CLUSTER = 4
"""The number of blocks of space per cluster.

Blocks should be longer than the range of spatial correlation. With fewer blocks, a half may lack
whole clusters that are regions (Kunsch 1989, doi:10.1214/aos/1176347265).
"""


def check_groups(groups: ArrayLike | None, n_samples: int) -> np.ndarray | None:
    """Check a caller's groups, and number them: (n_samples,), int64, or None."""
    if groups is None:
        return None
    if np.shape(groups) != (n_samples,):
        raise ValueError(f"groups: shape={np.shape(groups)} should be ({n_samples},).")
    numbers = label_codes(groups, "groups")
    if not numbers.any():
        raise ValueError(f"groups={np.asarray(groups)[:1].tolist()} should be at least two groups.")
    return numbers


def blocks_of(about: Description, n_clusters: int) -> np.ndarray | None:
    """Return the groups of samples, (n,), or blocks of space, if either is known."""
    if about.groups is not None:
        return check_groups(about.groups, len(about.groups))
    if about.positions is None:
        return None
    return space_blocks(about.positions, BLOCKS_PER_CLUSTER * n_clusters)


def space_blocks(positions: np.ndarray, n_blocks: int) -> np.ndarray:
    """Halve space repeatedly across its longest side, into blocks with equal numbers of samples.

    Returns the block of each of the `positions`, (n_samples, n_dimensions). There are `n_blocks` or
    the next lower power of two.

    Examples
    --------
    >>> space_blocks(np.array([[0.0, 0], [9, 1], [8, 0], [1, 1]]), 2)
    array([0, 1, 1, 0])
    """
    positions = np.asarray(positions, dtype=np.float64)
    parts = [np.arange(len(positions))]
    while 2 * len(parts) <= min(n_blocks, len(positions)):
        halves = []
        for part in parts:
            axis = int(np.ptp(positions[part], axis=0).argmax())
            order = part[np.argsort(positions[part, axis], kind="stable")]
            halves += [order[: len(order) // 2], order[len(order) // 2 :]]
        parts = halves
    blocks = np.empty(len(positions), dtype=np.int64)
    for number, part in enumerate(parts):
        blocks[part] = number
    return blocks


def tuning_sample(n_samples: int, max_samples: int | None, estimator: Any) -> np.ndarray | None:
    """Draw the samples on which a sparsity is tuned, ascending.

    They depend only on the estimator's seed and the numbers. None draws all. A sample size that is
    too small for the estimator is refused.
    """
    if max_samples is None or n_samples <= check_count("max_samples", max_samples):
        return None
    parameters = estimator.get_params()
    fewest = parameters.get("n_clusters", 1) * parameters.get("min_cluster_size", 1)
    if max_samples < fewest:
        raise ValueError(
            f"max_samples={max_samples} should be >= n_clusters * min_cluster_size = {fewest}."
        )
    rng = np.random.default_rng(np.random.SeedSequence(estimator.random_state, spawn_key=(0, 8)))
    return draw_samples(n_samples, int(max_samples), rng)
