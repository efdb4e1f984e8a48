"""A matrix that stays in its file, and is read block by block."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, sparray, spmatrix

from sparsekm.cluster.matrices.dense_parts import as_dense
from sparsekm.cluster.matrices.inputs import INSTEAD, as_readable, wrong_type
from sparsekm.cluster.matrices.matrix import (
    CentredMatrix,
    FeatureMatrix,
    average_features,
    subtract_means,
)
from sparsekm.cluster.validation import check_count


class StreamedMatrix(FeatureMatrix):
    """A matrix that is not loaded into memory: every pass reads it again, block by block.

    `L0KMeans`, `L1KMeans` and `KMeans` take it in place of an array, in `fit` and `path`. Labels,
    scores and objectives are bit-identical to the results for an array in memory.

    Parameters
    ----------
    source : array-like of shape (n_samples, n_features), float32 or float64
        An object with `shape` and `dtype` that returns rows for ``source[start:stop]``: a dataset
        of h5py, a `numpy.memmap`, an array of dask, or the X of a backed AnnData, dense or CSR.
    block_size : int, default=4096
        Number of samples that are read at a time. Memory holds a few such blocks.

    Raises
    ------
    ValueError
        If the source is not a matrix of floats, or contains NaN or infinity.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsekm import L0KMeans, StreamedMatrix
    >>> X = np.random.default_rng(0).normal(size=(3000, 20))
    >>> X[:1500, :4] += 3
    >>> path = L0KMeans(2, random_state=0).path(StreamedMatrix(X, block_size=500), [4, 20])
    >>> np.flatnonzero(path.weights[0])
    array([0, 1, 2, 3])
    """

    def __init__(self, source: Any, block_size: int = 4096) -> None:
        self.block_size = check_count("block_size", block_size)
        if not hasattr(source, "dtype") or isinstance(source, StreamedMatrix):
            raise wrong_type("source", source, INSTEAD, "a dataset of h5py or a numpy.memmap")
        shape, dtype = tuple(source.shape), source.dtype
        if len(shape) != 2 or 0 in shape:
            raise ValueError(f"source of shape {shape} should be samples x features.")
        if dtype not in (np.float32, np.float64):
            raise ValueError(f"source of dtype {dtype} should be float32 or float64.")
        self._source = source
        self._features: np.ndarray | None = None
        self.n_samples, self.n_features = shape
        self.dtype = np.dtype(dtype)
        self.largest = 0.0
        self.means, self.constant = average_features(self._checked_blocks(), self.n_features)

    def blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        """Read the centred values, block by block.

        Yields
        ------
        start : int
            The first sample of the block.
        columns : ndarray of shape (n_features, n_samples_of_block)
            Its centred values.
        """
        for start, columns in self._read():
            subtract_means(columns, self.means)
            yield start, columns

    def select(self, features: np.ndarray) -> CentredMatrix | StreamedMatrix:
        """Select features.

        Parameters
        ----------
        features : ndarray of int
            Their indices, ascending.

        Returns
        -------
        sparsekm.cluster.matrices.matrix.CentredMatrix or StreamedMatrix
            The features, centred by their means; in memory if they fit into a block.
        """
        if len(features) == self.n_features:
            return self
        chosen = copy(self)
        chosen._features = features if self._features is None else self._features[features]
        chosen.n_features = len(features)
        chosen.means = self.means[features]
        chosen.constant = self.constant[features]
        # Both are numbers per row: the kept part may take as much memory as a block.
        if self.n_samples * len(features) > self.block_size * self._source.shape[1]:
            return chosen
        columns = np.empty((len(features), self.n_samples), self.dtype)
        for start, block in chosen.blocks():
            columns[:, start : start + block.shape[1]] = block
        return CentredMatrix.from_columns(columns, chosen.means)

    def take(self, samples: np.ndarray) -> CentredMatrix:
        """Select samples.

        Parameters
        ----------
        samples : ndarray of int
            Their indices, ascending.

        Returns
        -------
        sparsekm.cluster.matrices.matrix.CentredMatrix
            The samples in memory, centred by the means of all samples.
        """
        columns = np.empty((self.n_features, len(samples)), self.dtype)
        for start, block in self.blocks():
            first, last = np.searchsorted(samples, [start, start + block.shape[1]])
            columns[:, first:last] = block[:, samples[first:last] - start]
        return CentredMatrix.from_columns(columns, self.means)

    def _checked_blocks(self) -> Iterator[np.ndarray]:
        for start, columns in self._read():
            if not np.isfinite(columns).all():
                j, i = np.argwhere(~np.isfinite(columns))[0]
                raise ValueError(
                    f"source[{start + i}, {j}]={columns[j, i]} should be finite, like all values."
                )
            self.largest = max(self.largest, 2.0 * float(np.abs(columns).max()))
            yield columns

    def _read(self) -> Iterator[tuple[int, np.ndarray]]:
        for start in range(0, self.n_samples, self.block_size):
            block = self._source[start : start + self.block_size]
            rows = np.asarray(as_dense(as_readable(block, "source")), dtype=self.dtype)
            if self._features is not None:
                rows = rows[:, self._features]
            # It is always copied, because the block is centred in place.
            yield start, np.array(rows.T, order="C")


def in_blocks(X: np.ndarray | csr_array) -> np.ndarray | csr_array | StreamedMatrix:
    """Return data in the form that estimators take: in blocks if they are an array on disk."""
    return StreamedMatrix(X) if isinstance(X, np.memmap) else X


Data = ArrayLike | sparray | spmatrix | StreamedMatrix
