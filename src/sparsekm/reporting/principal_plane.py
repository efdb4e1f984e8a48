r"""The first two principal components of a matrix that is read block by block.

Two directions do not need the decomposition of a p x p matrix. Where there are many features, the
two are found inside a block Krylov space: the span of :math:`B, A B, A^2 B, ...` with
:math:`A = X^\top X` and a few random columns B, in which the best directions of A are soon exact
to what a figure shows.

References
----------
C. Musco, C. Musco (2015), Randomized block Krylov methods for stronger and faster approximate
singular value decomposition. NeurIPS 28. https://doi.org/10.48550/arXiv.1504.05477
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sparsekm.io.matrix_file import RowSource, row_blocks
from sparsekm.runtime.threads import one_blas_thread

_WIDTH, _DEPTH = 10, 6  # columns of B, and how often they are multiplied


@one_blas_thread
def first_components(X: RowSource, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Project samples on the first two principal components of the weighted features.

    Each feature of X (n, k) is scaled by the square root of its positive weight, as in the
    distances of weighted k-means. Returns the components (n, 2), of which the second is zero if
    only one feature is kept, and their shares of the variance. The largest loading of each
    component is positive, so that signs do not depend on the linear algebra library.
    """
    scaled = _Scaled(X, weights)
    basis = _krylov_basis(scaled) if weights.size > _WIDTH * _DEPTH else np.eye(weights.size)
    projected = (block @ basis for _, block in scaled.blocks())
    values, vectors = np.linalg.eigh(sum(block.T @ block for block in projected))
    values, axes = np.clip(values[::-1][:2], 0, None), basis @ vectors[:, ::-1][:, :2]
    largest = axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])]
    axes *= np.where(largest < 0, -1.0, 1.0)
    components, variance = np.zeros((X.shape[0], 2)), 0.0
    for rows, block in scaled.blocks():
        components[rows, : axes.shape[1]] = block @ axes
        variance += float(np.square(block).sum())
    explained = values / max(variance, np.finfo(float).tiny)
    return components, np.pad(explained, (0, 2 - values.size))


class _Scaled:
    """The matrix, centred and scaled, block by block."""

    def __init__(self, X: RowSource, weights: np.ndarray) -> None:
        self._X, self._scale = X, np.sqrt(weights)
        self.n_features = weights.size
        self._mean = sum(block.sum(axis=0) for _, block in row_blocks(X)) / X.shape[0]

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        for rows, block in row_blocks(self._X):
            block -= self._mean
            block *= self._scale
            yield rows, block


def _krylov_basis(scaled: _Scaled) -> np.ndarray:
    """Return orthonormal columns that span the Krylov space, always the same for a matrix."""
    random = np.random.default_rng(0)
    columns = random.standard_normal((scaled.n_features, _WIDTH))
    found = []
    for _ in range(_DEPTH):
        columns = sum(block.T @ (block @ columns) for _, block in scaled.blocks())
        columns = np.linalg.qr(columns)[0]
        found.append(columns)
    return np.linalg.qr(np.hstack(found))[0]
