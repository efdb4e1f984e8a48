"""Reference data without clusters, each made when it is needed and seeded by its index."""

from __future__ import annotations

import gc
from collections.abc import Callable

import numpy as np
from scipy.sparse import csc_array, csr_array, issparse
from sklearn.base import clone

from sparsekm.cluster.matrices.dense_parts import stored_bytes
from sparsekm.cluster.matrices.sparse_matrix import as_matrix
from sparsekm.tuning.gaussian_mixing import correlation_shrinkage, mix_rows
from sparsekm.tuning.spatial_reference import spatial_reference


def permuted_reference(
    X: np.ndarray | csr_array, *, index: int, seed: int
) -> np.ndarray | csr_array:
    """Permute every column separately: margins remain, dependence between features is removed.

    The stored values of each column of a sparse matrix are moved to random rows. The reference
    depends only on (`seed`, `index`) and `X`, so any batch of references can be made anywhere in
    any order; it has the shape and dtype of `X`.
    """
    rng = _reference_generator(seed, index)
    if issparse(X):
        return _permute_stored(X, rng)
    # Columns are shuffled as contiguous rows of the transpose; the result is its view.
    columns = np.ascontiguousarray(X.T)
    if np.shares_memory(columns, X):
        columns = columns.copy()
    for column in columns:
        rng.shuffle(column)
    return columns.T


def gaussian_reference(X: np.ndarray | csr_array, *, index: int, seed: int) -> np.ndarray:
    """Draw from a single Gaussian: means, spreads and correlations remain, clusters are removed.

    `index`, `seed` and the dtype are as in `permuted_reference`. This takes the memory of one more
    matrix. See `sparsekm.tuning.gaussian_mixing` for the method.
    """
    return mix_rows(X, _reference_generator(seed, index))


def shrunk_reference(X: np.ndarray | csr_array, *, index: int, seed: int) -> np.ndarray:
    """Draw from a single Gaussian with the data's correlations, less what may be due to chance.

    Correlations of n samples of independent features vary by about 1 / sqrt(n), and
    `gaussian_reference` reproduces them. Here they are shrunk towards 0 by Ledoit & Wolf's
    intensity, so that independent features remain independent in the reference
    (`sparsekm.tuning.gaussian_mixing`). `index`, `seed` and the dtype are as in
    `permuted_reference`. This takes the memory of one more matrix.
    """
    return mix_rows(X, _reference_generator(seed, index), correlation_shrinkage(X))


REFERENCES: dict[str, Callable[..., np.ndarray]] = {
    "permutation": permuted_reference,
    "gaussian": gaussian_reference,
    "shrunk": shrunk_reference,
}


SPATIAL = "spatial"
"""The kind of references that needs positions: `sparsekm.tuning.spatial_reference`."""


_WORTH_COLLECTING = 2**26  # bytes


def reference_seed(seed: int, index: int) -> int:
    """Return the `random_state` for the path on the reference `index`."""
    return int(np.random.SeedSequence(seed, spawn_key=(index, 1)).generate_state(1)[0])


def check_reference(reference: str, X: np.ndarray | csr_array) -> None:
    """Refuse references that are not of the kind of the data."""
    if issparse(X) and reference != "permutation":
        raise ValueError(
            f"reference={reference!r} makes a dense matrix of a sparse X: should be "
            "'permutation', or X.toarray() where it fits into memory."
        )


def reference_objectives(
    estimator,
    X: np.ndarray | csr_array,
    sparsities: np.ndarray,
    *,
    index: int,
    seed: int,
    reference: str = "permutation",
    positions: np.ndarray | None = None,
) -> np.ndarray:
    """Search one reference like the data; return an objective for each sparsity.

    `reference` is a key of `REFERENCES`, or `SPATIAL` for samples at `positions`, (n_samples,
    n_dimensions); a sparse matrix can only be permuted. The estimator's own `random_state` is not
    used.
    """
    check_reference(reference, X)
    # The reference is nobody else's: it is centred where it is, without another copy.
    if reference == SPATIAL:
        made = spatial_reference(X, positions=positions, index=index, seed=seed)
    else:
        made = REFERENCES[reference](X, index=index, seed=seed)
    data = as_matrix(made, copy=False)
    fitted = clone(estimator).set_params(random_state=reference_seed(seed, index))
    objectives = fitted.search_objectives(data, sparsities)
    # Compiling a kernel leaves a circle of frames, which would hold these data beside those of
    # the next reference. To look for it takes longer than to search small data.
    del made, data
    if stored_bytes(X) > _WORTH_COLLECTING:
        gc.collect()
    return objectives


def _permute_stored(X: csr_array, rng: np.random.Generator) -> csr_array:
    columns = csc_array(X)
    for start, stop in zip(columns.indptr[:-1], columns.indptr[1:], strict=True):
        columns.indices[start:stop] = rng.choice(X.shape[0], stop - start, replace=False)
    columns.has_sorted_indices = False
    return columns.tocsr()


def _reference_generator(seed: int, index: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index, 0)))
