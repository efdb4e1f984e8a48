"""Reference data without clusters, each made when it is needed and seeded by its index."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import csc_array, csr_array, issparse
from sklearn.base import clone

from sparsekm.cluster.matrices.sparse_matrix import as_matrix
from sparsekm.tuning.correlation_shrinkage import correlation_shrinkage
from sparsekm.tuning.gaussian_mixing import mix_rows


def permuted_reference(
    X: np.ndarray | csr_array, *, index: int, seed: int
) -> np.ndarray | csr_array:
    """Permute every column on its own: the margins stay, all dependence between features goes.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_samples, n_features)
        Of a sparse matrix the stored values of each column go to random rows.
    index : int
        Which reference. It depends on (`seed`, `index`) and `X` alone, so any batch of references
        can be made anywhere in any order.
    seed : int
        Root seed.

    Returns
    -------
    ndarray or csr_array of shape (n_samples, n_features), in the dtype of `X`
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


def gaussian_reference(X: np.ndarray, *, index: int, seed: int) -> np.ndarray:
    """Draw from a single Gaussian: means, spreads and correlations stay, clusters go.

    One more matrix is in memory. See `sparsekm.tuning.gaussian_mixing` for how it is drawn.

    Parameters
    ----------
    X, index, seed
        As in `permuted_reference`.

    Returns
    -------
    ndarray of shape (n_samples, n_features), in the dtype of `X`
    """
    return mix_rows(X, _reference_generator(seed, index))


def shrunk_reference(X: np.ndarray, *, index: int, seed: int) -> np.ndarray:
    """Draw from a single Gaussian whose correlations are the data's, less what may be chance.

    The correlations of n samples vary by about 1 / sqrt(n) where there are none. A Gaussian has
    them all; here they are shrunk towards 0 by Ledoit & Wolf's intensity, so that where features
    are independent those of the reference are so too (`sparsekm.tuning.correlation_shrinkage`).
    One more matrix is in memory.

    Parameters
    ----------
    X, index, seed
        As in `permuted_reference`.

    Returns
    -------
    ndarray of shape (n_samples, n_features), in the dtype of `X`
    """
    return mix_rows(X, _reference_generator(seed, index), correlation_shrinkage(X))


REFERENCES: dict[str, Callable[..., np.ndarray]] = {
    "permutation": permuted_reference,
    "gaussian": gaussian_reference,
    "shrunk": shrunk_reference,
}


def reference_seed(seed: int, index: int) -> int:
    """Return the `random_state` for the path on the reference `index`."""
    return int(np.random.SeedSequence(seed, spawn_key=(index, 1)).generate_state(1)[0])


def reference_objectives(
    estimator,
    X: np.ndarray | csr_array,
    sparsities: np.ndarray,
    *,
    index: int,
    seed: int,
    reference: str = "permutation",
) -> np.ndarray:
    """Search one reference as the data are searched.

    Parameters
    ----------
    estimator : estimator with `search_objectives`
        Its own `random_state` is not used.
    X : ndarray or csr_array of shape (n_samples, n_features)
        Only a permutation can be made of a sparse one.
    sparsities : ndarray of shape (n_sparsities,)
    index : int
        Which reference.
    seed : int
        Root seed.
    reference : str, default="permutation"
        A key of `REFERENCES`: how it is made.

    Returns
    -------
    ndarray of shape (n_sparsities,)
    """
    if issparse(X) and reference != "permutation":
        raise ValueError(
            f"reference={reference!r} makes a dense matrix of a sparse X: should be "
            "'permutation', or X.toarray() where it fits into memory."
        )
    # The reference is nobody else's: it is centred where it is, without another copy.
    data = as_matrix(REFERENCES[reference](X, index=index, seed=seed), copy=False)
    fitted = clone(estimator).set_params(random_state=reference_seed(seed, index))
    return fitted.search_objectives(data, sparsities)


def _permute_stored(X: csr_array, rng: np.random.Generator) -> csr_array:
    columns = csc_array(X)
    rows = np.empty_like(columns.indices)
    for start, stop in zip(columns.indptr[:-1], columns.indptr[1:], strict=True):
        rows[start:stop] = rng.choice(X.shape[0], stop - start, replace=False)
    return csc_array((columns.data, rows, columns.indptr), X.shape).tocsr()


def _reference_generator(seed: int, index: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index, 0)))
