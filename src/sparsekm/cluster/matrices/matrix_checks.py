"""Whether a matrix can be split into the clusters asked for."""

from __future__ import annotations

import numpy as np

from sparsekm.cluster.matrices.scatter import Matrix
from sparsekm.cluster.matrices.sparse_matrix import SparseBlock

# Samples that are made dense at once to see whether they differ.
SAMPLES_AT_ONCE = 64


def check_matrix(X: Matrix, n_clusters: int, min_cluster_size: int) -> None:
    """Check that a finite matrix can be split into the clusters asked for.

    Raises
    ------
    ValueError
        If there are too few samples or too few distinct ones, if every feature is constant, or if
        sums of squares would leave the range of the dtype.
    """
    n_samples = X.n_samples
    if n_samples < n_clusters:
        raise ValueError(f"n_samples={n_samples} should be >= n_clusters={n_clusters}.")
    if n_samples < n_clusters * min_cluster_size:
        raise ValueError(
            f"n_samples={n_samples} should be >= n_clusters * min_cluster_size="
            f"{n_clusters * min_cluster_size}."
        )
    if n_samples > 1 and X.constant.all():
        raise ValueError(
            f"All n_features={X.n_features} features are constant: at least 1 should vary."
        )
    _check_range(X)
    distinct = count_distinct(X, n_clusters)
    if distinct < n_clusters:
        raise ValueError(
            f"n_clusters={n_clusters} should be <= the number of distinct samples, {distinct}."
        )


def count_distinct(X: Matrix, enough: int) -> int:
    """Count distinct samples, but stop at `enough`."""
    seen: set[bytes] = set()
    for _, columns in X.blocks():
        for start in range(0, columns.shape[1], SAMPLES_AT_ONCE):
            stop = min(start + SAMPLES_AT_ONCE, columns.shape[1])
            sparse = isinstance(columns, SparseBlock)
            some = columns.cut(start, stop) if sparse else columns[:, start:stop]
            for row in np.asarray(some).T:
                # Adding 0.0 makes the two zeros one.
                seen.add((row + 0.0).tobytes())
                if len(seen) >= enough:
                    return enough
    return len(seen)


def _check_range(X) -> None:
    """Check that no sum of squares is infinite, and that those of the largest values are exact."""
    bound = float(np.sqrt(np.finfo(X.dtype).max / (4.0 * X.n_samples * X.n_features)))
    if not X.largest <= bound:
        raise ValueError(
            f"X has values up to {X.largest:.1e} from their means; should be <= {bound:.1e}, so "
            f"that sums of squares stay finite in {X.dtype}. Rescale the data."
        )
    limits = np.finfo(X.dtype)
    lowest = float(np.sqrt(limits.tiny / limits.eps))
    if 0 < X.largest < lowest:
        raise ValueError(
            f"X has values up to {X.largest:.1e} from their means; should be >= {lowest:.1e}, so "
            f"that their squares do not vanish in {X.dtype}. Rescale the data."
        )
