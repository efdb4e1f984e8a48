"""The scales of a matrix's values: raw counts, logarithms and z-scores, of blocks of its rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sparsekm.cluster.matrices.dense_parts import as_dense, variance_beyond_trend
from sparsekm.cluster.raw_counts import Judgement, judge_counts
from sparsekm.io.readers.messages import MatrixError, say
from sparsekm.io.readers.raw_matrix import Block, RawMatrix

# If counts have more features, the default is to cluster this number of the most variable features,
# as is usual in scanpy.
MANY_FEATURES, N_TOP_FEATURES = 5000, 2000
_CELLS_AT_ONCE = 2**18
_LARGEST_LOG = 100
_LOOKED_AT = 2000
_FEWEST = 6
_FAR = 10


def z_scores(block: Block, mean: np.ndarray, deviation: np.ndarray) -> Block:
    """Return the z-scores of some rows; sparse rows are not centred.

    With ddof = 1 the between-cluster sum of squares of a noise feature has expectation K - 1.
    """
    if isinstance(block, np.ndarray):
        return ((block - mean) / deviation).astype(np.float32)
    return _store(block, block.data / deviation[block.indices])


def standardise(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Turn an array into z-scores, in place, and return its original moments."""
    matrix = RawMatrix.of(X)
    mean, deviation = measure_moments(matrix)
    scale = np.where(deviation > 0, deviation, 1)
    for rows, block in matrix.blocks(max(1, _CELLS_AT_ONCE // X.shape[1])):
        X[rows] = z_scores(block, mean, scale)
    return mean, deviation


def measure_moments(X: RawMatrix) -> tuple[np.ndarray, np.ndarray]:
    """Compute means, less the offset, and standard deviations (ddof = 1), both (p,), float64.

    The deviation is 0 for a feature that does not vary beyond rounding; it has no z-score.
    """
    n, p = X.shape
    total, squares, size = np.zeros(p), np.zeros(p), np.zeros(p)
    epsilon = np.finfo(np.float32).eps
    if X.is_sparse:
        # Rows are added one by one, so that sums do not depend on the blocks.
        for _, block in X.blocks():
            np.add.at(total, block.indices, block.data.astype(np.float64))
        mean = total / n
        for _, block in X.blocks():
            np.add.at(squares, block.indices, (block.data - mean[block.indices]) ** 2)
        squares += (n - X.n_stored) * mean**2
        rounding = epsilon * np.abs(mean)
    else:
        height = max(1, _CELLS_AT_ONCE // p)
        for _, block in X.blocks(height):
            total += block.sum(axis=0, dtype=np.float64)
            np.maximum(size, np.abs(block).max(axis=0), out=size)
        mean = total / n
        for _, block in X.blocks(height):
            centred = block - mean
            squares += np.einsum("ij,ij->j", centred, centred)
        # An offset causes additional rounding.
        rounding = np.maximum(epsilon * size, 8 * np.finfo(np.float64).eps * np.abs(X.offset))
    deviation = np.sqrt(squares / (n - 1))
    return mean, np.where(deviation > rounding, deviation, 0)


def file_values(raw: RawMatrix) -> RawMatrix:
    """Return a matrix with the values of its file, rounded to single precision."""
    if raw.is_sparse:
        return raw
    offset = raw.offset.astype(np.float32)
    return raw.change(lambda block, rows: block + offset, offset=np.zeros_like(raw.offset))


def log_counts(raw: RawMatrix, library_size: float | None = None) -> tuple[RawMatrix, float]:
    """Transform counts to ``log(1 + count / total * library size)``, and return the library size.

    The total is the sum of a sample over all features, and the library size the median of the
    totals, unless it is given. Negative values, and samples without counts, are refused.
    """
    counts = _without_negative(raw, "negative_counts")
    totals = np.concatenate([_totals(block) for _, block in counts.blocks()])
    empty = np.flatnonzero(totals == 0)
    if len(empty):
        names = raw.about.samples
        name = "" if names is None else f" ({names[empty[0]]!r})"
        numbers = {"n": len(empty), "of": len(totals), "first": empty[0] + 1}
        raise MatrixError(say("no_totals", name=name, **numbers))
    size = float(np.median(totals)) if library_size is None else library_size
    shares = (size / totals).astype(np.float32)

    def change(block: Block, rows: slice) -> Block:
        own = shares[rows]
        if isinstance(block, np.ndarray):
            return np.log1p(block * own[:, np.newaxis])
        return _store(block, np.log1p(block.data * np.repeat(own, np.diff(block.indptr))))

    return counts.change(change), size


def log_values(raw: RawMatrix) -> RawMatrix:
    """Transform values to ``log2(1 + value)``; negative values are refused."""

    def change(block: Block, rows: slice) -> Block:
        if isinstance(block, np.ndarray):
            return np.log2(1 + block)
        return _store(block, np.log2(1 + block.data))

    return _without_negative(raw, "negative_log2").change(change)


def _store(block: csr_array, values: np.ndarray) -> csr_array:
    """Return a sparse block with other values at the same positions."""
    parts = values.astype(np.float32, copy=False), block.indices, block.indptr
    return csr_array(parts, shape=block.shape)


def _without_negative(raw: RawMatrix, refusal: str) -> RawMatrix:
    X = file_values(raw)
    # Missing values, which a sparse matrix cannot have, are skipped.
    smallest = min(
        np.fmin.reduce(block, axis=None) if isinstance(block, np.ndarray) else block.min()
        for _, block in X.blocks()
    )
    if smallest < 0:
        raise MatrixError(say(refusal, smallest=smallest))
    return X


def _totals(block: Block) -> np.ndarray:
    if isinstance(block, np.ndarray):
        return np.nansum(block, axis=1, dtype=np.float64)
    return block.astype(np.float64).sum(axis=1)


def refuse_other_than_counts(raw: RawMatrix) -> None:
    """Refuse values that are not counts, because `most_variable_counts` needs counts."""
    if _largest_count(_values(raw)) < 0:
        raise MatrixError(say("top_of_no_counts"))


def judge(raw: RawMatrix) -> Judgement:
    """Judge whether the values of a matrix are raw counts."""
    return judge_counts(block for _, block in file_values(raw).blocks())


def settings_of_counts(
    raw: RawMatrix, judged: Judgement, normalise: str | None, n_top_features: int | str | None
) -> dict[str, Any]:
    """Return the settings that prepare raw counts, if they are open; {} for other values."""
    chosen: dict[str, Any] = {}
    if normalise is None and judged.are_counts:
        normalise = chosen["normalise"] = "counts"
    is_open = normalise == "counts" and n_top_features is None and raw.shape[1] > MANY_FEATURES
    if is_open and _largest_count(_values(raw)) >= 0:
        chosen["n_top_features"] = N_TOP_FEATURES
    return chosen


def doubted_for(judged: Judgement, normalise: str) -> str:
    """Return the other normalisation that should also be tried, or ""."""
    if normalise == "counts":
        return "" if judged.is_sure else "zscore"
    is_counts = judged.are_counts or not judged.is_sure
    return "counts" if normalise == "zscore" and is_counts else ""


def most_variable_counts(raw: RawMatrix, n_features: int) -> np.ndarray:
    """Return the features of raw counts that vary most for their mean, ascending.

    After `log_counts`, features are ranked by `variance_beyond_trend`, as `SparseKMeans` ranks
    them; ties go to the lowest index.
    """
    if n_features >= raw.shape[1]:
        return np.arange(raw.shape[1])
    mean, deviation = measure_moments(log_counts(raw)[0])
    beyond = variance_beyond_trend(mean, deviation**2)
    return np.sort(np.argsort(-beyond, kind="stable")[:n_features])


def _values(raw: RawMatrix) -> Iterator[np.ndarray]:
    """Yield the values of the file; for a sparse matrix, the stored values."""
    for _, block in raw.blocks():
        yield block.data if raw.is_sparse else block + raw.offset


def _largest_count(parts: Iterable[np.ndarray]) -> float:
    """Return the largest value, or -1 if some value is negative or not a whole number."""
    largest = 0.0
    for values in parts:
        values = values[~np.isnan(values)] if np.isnan(values).any() else values
        if (values < 0).any() or (values != np.rint(values)).any():
            return -1.0
        largest = max(largest, float(values.max(initial=0)))
    return largest


def remark_on_scale(raw: RawMatrix, judged: Judgement, normalise: str) -> list[str]:
    """Return remarks on the scale of the values, with a suitable option."""
    if normalise == "counts":
        # Values on a log scale would occur in every block.
        return [] if _largest_count(islice(_values(raw), 1)) >= 0 else [say("no_counts")]
    if judged.are_counts:
        return [say("raw_counts")]
    _, block = next(raw.blocks())
    values = as_dense(block)[:_LOOKED_AT, :_LOOKED_AT].astype(np.float64)
    values = np.ma.masked_invalid(values + raw.offset[:_LOOKED_AT])
    if len(values) < _FEWEST:
        return []
    on_levels = None if normalise == "log2" else _remark_on_levels(values)
    return [*filter(None, [on_levels, _remark_on_outlier(values, raw)])]


def _remark_on_levels(values: np.ma.MaskedArray) -> str | None:
    """Say whether values look like intensities or z-scores."""
    p = values.shape[1]
    if p < _FEWEST:
        return None
    mean, deviation = values.mean(axis=0), values.std(axis=0, ddof=1)
    if np.ma.median(abs(mean)) < 1e-2 and (abs(deviation - 1) < 0.1).mean() > 0.9:
        return say("z_scores")
    low, middle, high = np.percentile(values.compressed(), [5, 50, 99.5])
    is_far = high > _LARGEST_LOG and high > 20 * max(middle, 1e-9) and p >= 2 * _FEWEST
    return say("intensities", low=low, high=high) if is_far and values.min() >= 0 else None


def _remark_on_outlier(values: np.ma.MaskedArray, raw: RawMatrix) -> str | None:
    """Name a sample that is far from all others."""
    away = abs(values - np.ma.median(values, axis=0))
    scale = np.ma.median(away, axis=0)
    away = (away / np.ma.maximum(scale, 1e-9)).filled(0)[:, np.asarray(scale > 0)]
    if not away.shape[1]:
        return None
    distance = np.median(away, axis=1)
    at, second = int(distance.argmax()), np.sort(distance)[-2]
    if distance[at] < _FAR * max(second, 1):
        return None
    name, is_named = raw.sample_names[at], raw.about.samples and raw.lines
    cure = say("ignore_it", ignore=[name]) if is_named else say("delete_it")
    return say("far_sample", name=name, distance=distance[at], second=second, cure=cure)
