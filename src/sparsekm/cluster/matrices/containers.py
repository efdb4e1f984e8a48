"""The one edge where data enter: NumPy, SciPy, pandas, or blocks read from a file.

Here they are checked: whether NumPy reads them, which features vary, and whether there are
clusters to find.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse, sparray, spmatrix

from sparsekm.cluster.matrices.dense_parts import as_dense
from sparsekm.cluster.matrices.matrix import (
    CentredMatrix,
    FeatureMatrix,
    average_features,
    subtract_means,
)
from sparsekm.cluster.validation import check_count
from sparsekm.metrics import mark_missing


def check_indices(X: Any) -> None:
    """Refuse, by a ValueError, a CSR or CSC matrix whose indices lie outside its shape."""
    if not issparse(X) or X.format not in ("csr", "csc"):
        return
    n_lines, n_places = X.shape if X.format == "csr" else X.shape[::-1]
    starts, n_stored = X.indptr, min(len(X.indices), len(X.data))
    falls = (np.diff(starts, append=n_stored) < 0).any()
    if len(starts) != n_lines + 1 or starts[0] != 0 or falls:
        raise ValueError(
            f"X.indptr should rise from 0 to at most the number of stored values, {n_stored}, in "
            f"{n_lines + 1} steps of the {X.format.upper()} format."
        )
    used = X.indices[: starts[-1]]
    if len(used) and (used.min() < 0 or used.max() >= n_places):
        wrong = used.min() if used.min() < 0 else used.max()
        n_what = "n_features" if X.format == "csr" else "n_samples"
        raise ValueError(f"X.indices holds {wrong}; should be >= 0 and < {n_what}={n_places}.")


def in_canonical_format(X: Any) -> np.ndarray | csr_array:
    """Return checked data, a CSR or CSC matrix as a csr_array, sorted and without duplicates."""
    if not issparse(X):
        return X
    rows = X.tocsr()
    if not rows.has_canonical_format:
        # Nothing of the caller's is changed.
        rows = rows.copy() if rows is X else rows
        rows.sum_duplicates()
    return csr_array((rows.data, rows.indices, rows.indptr), rows.shape)


_OF_A_FILE = "what the file holds, or on the command line `sparsekm run FILE`"

# By package and class: what to give in place of such data, {}.
INSTEAD = {
    "anndata.AnnData": "{0}.X, one of {0}.layers, or sparsekm.tl.sparse_kmeans({0}, n_clusters)",
    "anndata.BaseCompressedSparseDataset": "{}.to_memory()",
    "anndata.Raw": "{}.X",
    "builtins.dict": "pandas.DataFrame({})",
    "builtins.generator": "list({})",
    "builtins.str": _OF_A_FILE,
    "pandas.Series": "{}.to_frame() if it is the only feature",
    "pathlib.PurePath": _OF_A_FILE,
    "sparsekm.StreamedMatrix": "its source as an array in memory; only `fit` and `path` of "
    "L0KMeans, L1KMeans and KMeans read blocks",
}


def as_readable(X: Any, name: str = "X") -> Any:
    """Return data as scikit-learn reads them: an array, a sparse matrix or a data frame.

    What dask holds is computed, what is masked is NaN. What NumPy cannot read as numbers is a
    TypeError, texts that are none, or indices outside the shape, are a ValueError.
    """
    if type(X) is np.ndarray and X.dtype.kind == "f":
        return X
    X = mark_missing(compute(X))
    # A data frame has its columns as attributes, a type has not.
    if hasattr(type(X), "to_scipy_sparse"):
        X = X.to_scipy_sparse()
    if issparse(X):
        check_indices(X)
        return mark_missing(X)
    X = mark_missing(X)
    if isinstance(X, pd.DataFrame):
        for place, dtype in enumerate(X.dtypes):
            what = f"{name} has the column {X.columns[place]!r} of dtype {dtype}"
            _check_numbers(X.iloc[:, place], what)
        return X
    is_plain = isinstance(X, np.ndarray | Sequence) and not isinstance(X, str | bytes)
    try:
        values = np.asanyarray(X if is_plain else X.__array__())
    except Exception as error:
        raise wrong_type(name, X, INSTEAD) from error
    if values.dtype.names or (values.ndim != 2 and not is_plain):
        raise wrong_type(name, X, INSTEAD)
    _check_numbers(values, f"{name} is of type {type_name(X)} and dtype {values.dtype}")
    # The names of the features are read from a frame.
    return X if hasattr(X, "columns") or hasattr(X, "__dataframe__") else values


def compute(X: Any) -> Any:
    """Return what dask holds, or anything else as it is."""
    return X.compute() if hasattr(type(X), "__dask_graph__") else X


def wrong_type(
    name: str,
    value: object,
    instead: Mapping[str, str],
    otherwise: str = "a NumPy array, a CSR or CSC matrix of SciPy or a pandas DataFrame",
) -> TypeError:
    """Make the error that names the type of an argument and what to give in its place."""
    advice = next((instead[kind] for kind in type_names(value) if kind in instead), otherwise)
    return TypeError(f"{name} is of type {type_name(value)}: give {advice.format(name)}.")


def type_name(value: object) -> str:
    """Return the package and the name of a type; of Python's own types, the name alone."""
    return type_names(value)[0].removeprefix("builtins.")


def type_names(value: object) -> list[str]:
    """Return the package and the name of a type, and of those that it inherits from."""
    return [f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in type(value).__mro__]


def _check_numbers(values: np.ndarray | pd.Series, what: str) -> None:
    """Refuse dates, and texts and objects that are no numbers."""
    if values.dtype.kind in "mM":
        raise TypeError(f"{what}: every value should be a number.")
    if values.dtype.kind in "OSU":
        try:
            values.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{what}: every value should be a number; {error}.") from None


class StreamedMatrix(FeatureMatrix):
    """A matrix that is not loaded into memory: every pass reads it again, block by block.

    `L0KMeans`, `L1KMeans` and `KMeans` take it in place of an array, in `fit` and `path`. Labels,
    scores and objectives have the same bits as with the array in memory.

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
        CentredMatrix or StreamedMatrix
            The features, in memory if they fit into a block.
        """
        if len(features) == self.n_features:
            return self
        chosen = copy(self)
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
        """Select samples.

        Parameters
        ----------
        samples : ndarray of int
            Their indices, ascending.

        Returns
        -------
        CentredMatrix
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
                    f"source[{start + i}, {j}]={columns[j, i]} should be finite, as all values."
                )
            self.largest = max(self.largest, 2.0 * float(np.abs(columns).max()))
            yield columns

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


Data = ArrayLike | sparray | spmatrix | StreamedMatrix
Seed = int | np.random.RandomState | np.random.Generator | np.random.SeedSequence | None


@dataclass(frozen=True)
class VaryingFeatures:
    """Which features of given data vary; all, where none does: such data are refused."""

    varies: np.ndarray  # (n_features,), bool
    # (n_features,): the value of each constant feature; elsewhere these mean nothing.
    constants: np.ndarray

    @classmethod
    def of_matrix(cls, matrix: FeatureMatrix) -> VaryingFeatures:
        """Tell the features of a matrix apart."""
        return cls(~matrix.constant | matrix.constant.all(), matrix.means)

    @classmethod
    def of_values(cls, X: np.ndarray | csr_array) -> VaryingFeatures:
        """Tell the features of checked data apart."""
        largest, smallest = X.max(axis=0), X.min(axis=0)
        if issparse(X):
            largest, smallest = largest.toarray(), smallest.toarray()
        varies = largest != smallest
        return cls(varies | ~varies.any(), as_dense(X[:1])[0])

    @property
    def n_features(self) -> int:
        """Number of all features."""
        return len(self.varies)

    @property
    def n_constant(self) -> int:
        """Number of features that do not vary."""
        return int(np.count_nonzero(~self.varies))

    @property
    def counts(self) -> tuple[int, int]:
        """Numbers of all features, and of those that do not vary."""
        return self.n_features, self.n_constant

    def select(self, X: Any) -> Any:
        """Return the data, or the matrix, of the features that vary."""
        if self.n_constant == 0:
            return X
        places = np.flatnonzero(self.varies)
        if isinstance(X, FeatureMatrix):
            return X.keep(places)
        return X[:, places] if issparse(X) else np.take(X, places, axis=1)

    def put_back(self, values: np.ndarray, constants: float | np.ndarray = 0.0) -> np.ndarray:
        """Return values of all features, (..., n_features), from those of the ones that vary."""
        if self.n_constant == 0:
            return values
        everywhere = np.empty((*values.shape[:-1], self.n_features), values.dtype)
        everywhere[...] = constants
        everywhere[..., self.varies] = values
        return everywhere


# Samples, and their values, that are made dense at once to see whether they differ.
SAMPLES_AT_ONCE = 64
VALUES_AT_ONCE = 2**20


def check_matrix(X: FeatureMatrix, n_clusters: int, min_cluster_size: int) -> None:
    """Refuse a finite matrix that cannot be split into the clusters asked for, by a ValueError."""
    n_samples, fewest = X.n_samples, n_clusters * min_cluster_size
    if n_samples < fewest:
        what = "n_clusters" if min_cluster_size == 1 else "n_clusters * min_cluster_size"
        raise ValueError(f"n_samples={n_samples} should be >= {what}={fewest}.")
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


def count_distinct(X: FeatureMatrix, enough: int) -> int:
    """Count distinct samples, but stop at `enough`."""
    seen: set[bytes] = set()
    most = max(1, min(SAMPLES_AT_ONCE, VALUES_AT_ONCE // X.n_features))
    for _, columns in X.blocks():
        start, stop = 0, enough
        while start < columns.shape[1] and len(seen) < enough:
            some = np.asarray(columns[:, start:stop])
            # Adding 0.0 makes the two zeros one.
            seen.update((row + 0.0).tobytes() for row in some.T)
            # The first few samples nearly always are enough.
            start, stop = stop, stop + min(most, stop)
    return min(len(seen), enough)


def _check_range(X: FeatureMatrix) -> None:
    """Check that no sum of squares is infinite, and that those of the largest values are exact."""
    limits, largest = np.finfo(X.dtype), X.largest
    highest = float(np.sqrt(limits.max / (4.0 * X.n_samples * X.n_features)))
    lowest = float(np.sqrt(limits.tiny / limits.eps))
    for fails, rule, aim in (
        (not largest <= highest, f"<= {highest:.1e}", "sums of squares stay finite"),
        (0 < largest < lowest, f">= {lowest:.1e}", "their squares do not vanish"),
    ):
        if fails:
            raise ValueError(
                f"X has values up to {largest:.1e} from their means; should be {rule}, so that "
                f"{aim} in {X.dtype}. Rescale the data."
            )
