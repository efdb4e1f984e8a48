"""A matrix larger than memory, read in blocks of samples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sparsekm.cluster.matrices.containers import INSTEAD, as_readable, wrong_type
from sparsekm.cluster.matrices.dense_parts import as_dense
from sparsekm.cluster.matrices.matrix import CentredMatrix, FeatureMeans, subtract_means
from sparsekm.cluster.validation import check_count


class StreamedMatrix:
    """Data that stay where they are: every pass reads them again, block by block.

    `L0KMeans`, `L1KMeans` and `KMeans` take it in place of an array, in `fit` and `path`. Labels,
    scores and objectives have the same bits as those of the array in memory.

    Parameters
    ----------
    source : array-like of shape (n_samples, n_features), float32 or float64
        Anything that has `shape` and `dtype` and gives rows for ``source[start:stop]``: a dataset
        of h5py, a `numpy.memmap`, an array of dask, X of a backed AnnData, dense or CSR.
    block_size : int, default=4096
        Samples read at a time. Memory in use is a small multiple of
        ``block_size * n_features * itemsize``, plus a few numbers for every sample.

    Attributes
    ----------
    means : ndarray of shape (n_features,), float64
        The feature means.
    constant : ndarray of shape (n_features,), bool
        Which features take one value only.
    largest : float
        No value is farther from the mean of its feature.

    Raises
    ------
    ValueError
        If the source is no matrix of floats, or holds NaN or infinity.

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
        self._average()

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of samples and features."""
        return self.n_samples, self.n_features

    def blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the first sample and the centred columns of each block of samples."""
        for start, columns in self._read():
            subtract_means(columns, self.means)
            yield start, columns

    def select(self, features: np.ndarray) -> CentredMatrix | StreamedMatrix:
        """Return the matrix of some features, ascending; in memory where it fits into a block."""
        if len(features) == self.n_features:
            return self
        chosen = object.__new__(StreamedMatrix)
        chosen.__dict__.update(self.__dict__)
        chosen._features = features if self._features is None else self._features[features]
        chosen.n_features = len(features)
        chosen.means = self.means[features]
        chosen.constant = self.constant[features]
        # Both counted in numbers of a row: what a block takes is what may be kept.
        if self.n_samples * len(features) > self.block_size * self._source.shape[1]:
            return chosen
        columns = np.empty((len(features), self.n_samples), self.dtype)
        for start, block in chosen.blocks():
            columns[:, start : start + block.shape[1]] = block
        return CentredMatrix.from_columns(columns, chosen.means)

    def take(self, samples: np.ndarray) -> CentredMatrix:
        """Return the matrix of some samples, ascending, centred as they are."""
        columns = np.empty((self.n_features, len(samples)), self.dtype)
        for start, block in self.blocks():
            first, last = np.searchsorted(samples, [start, start + block.shape[1]])
            columns[:, first:last] = block[:, samples[first:last] - start]
        return CentredMatrix.from_columns(columns, self.means)

    def _average(self) -> None:
        means = FeatureMeans(self.n_features)
        largest = 0.0
        for start, columns in self._read():
            if not np.isfinite(columns).all():
                j, i = np.argwhere(~np.isfinite(columns))[0]
                raise ValueError(
                    f"source[{start + i}, {j}]={columns[j, i]} should be finite, as all values."
                )
            means.add(columns)
            largest = max(largest, float(np.abs(columns).max()))
        self.means = means.finish()
        self.largest = 2.0 * largest
        self.constant = means.constant

    def _read(self) -> Iterator[tuple[int, np.ndarray]]:
        for start in range(0, self.n_samples, self.block_size):
            block = self._source[start : start + self.block_size]
            rows = np.asarray(as_dense(as_readable(block, "source")), dtype=self.dtype)
            if self._features is not None:
                rows = rows[:, self._features]
            # A copy always: the block is centred in place.
            yield start, np.array(rows.T, order="C")


def in_blocks(X: np.ndarray | csr_array) -> np.ndarray | csr_array | StreamedMatrix:
    """Return data as estimators take them: in blocks if they are an array on disk."""
    return StreamedMatrix(X) if isinstance(X, np.memmap) else X
