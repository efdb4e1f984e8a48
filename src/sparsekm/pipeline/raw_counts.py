"""Raw counts from sequencing: how to detect and to transform them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, pairwise

import numpy as np

from sparsekm.cluster.matrices.dense_parts import as_dense, variance_beyond_trend
from sparsekm.io.readers.messages import MatrixError, quoted
from sparsekm.io.readers.raw_matrix import RawMatrix
from sparsekm.io.row_stream import Block, RowStream
from sparsekm.pipeline.zscore import measure_moments

_LARGEST_SCORE = 30
"""Larger values suggest counts: genotypes, scores and small ranks are whole numbers too."""
_LARGEST_GENOTYPE = 2
"""The same of a sparse matrix: scores and ranks are seldom stored as one."""
_LARGEST_LOG = 100
_LOOKED_AT = 2000
_FEWEST = 6
_FAR = 10


def remark_on_scale(raw: RawMatrix, normalise: str) -> list[str]:
    """Return remarks on the scale of the values, with the option that suits it."""
    if normalise == "counts":
        # Values on a log scale are in every block.
        if _largest_count(islice(_stored(raw), 1)) >= 0:
            return []
        return [
            "normalise: counts takes logarithms of values that are not all whole numbers >= 0. If "
            "they are already log-transformed, set normalise: zscore, or layer to one that holds "
            "counts."
        ]
    remark = describe_counts(_stored(raw), is_sparse=raw.X.is_sparse)
    if remark:
        cure = "Set normalise: counts to divide each sample by its total and take logarithms first."
        return [f"{remark} {cure}"]
    _, block = next(raw.X.blocks())
    values = as_dense(block)[:_LOOKED_AT, :_LOOKED_AT].astype(np.float64)
    values = np.ma.masked_invalid(values + raw.offset[:_LOOKED_AT])
    return [*_remark_on_levels(values, normalise), *_remark_on_outlier(values, raw)]


def _remark_on_levels(values: np.ma.MaskedArray, normalise: str) -> list[str]:
    """Say whether values look like intensities, z-scores or centred samples."""
    n, p = values.shape
    if min(n, p) < _FEWEST or normalise == "log2":
        return []
    mean, deviation = values.mean(axis=0), values.std(axis=0, ddof=1)
    if np.ma.median(abs(mean)) < 1e-2 and (abs(deviation - 1) < 0.1).mean() > 0.9:
        return [
            "features have mean 0 and deviation 1: they are z-scores already, which stay as they "
            "are. Set normalise: none to leave out the z-scores."
        ]
    if values.min() >= 0:
        low, middle, high = np.percentile(values.compressed(), [5, 50, 99.5])
        if high > _LARGEST_LOG and high > 20 * max(middle, 1e-9) and p >= 2 * _FEWEST:
            return [
                f"values range from {low:.3g} to {high:.3g}, over orders of magnitude: they look "
                "like intensities that were never logged. Set normalise: log2 to take logarithms "
                "first."
            ]
    elif (abs(values.mean(axis=1)) < 1e-2 * values.std()).all() and np.ma.median(
        abs(mean)
    ) > 1e-1 * values.std():
        return [
            "each sample has mean 0: its values were centred before. Features are still made "
            "z-scores; set normalise: none if they should not."
        ]
    return []


def _remark_on_outlier(values: np.ma.MaskedArray, raw: RawMatrix) -> list[str]:
    """Name a sample that is far from all others."""
    if len(values) < _FEWEST:
        return []
    centre = np.ma.median(values, axis=0)
    scale = np.ma.median(abs(values - centre), axis=0)
    away = (abs(values - centre) / np.ma.maximum(scale, 1e-9)).filled(0)[:, np.asarray(scale > 0)]
    if not away.shape[1]:
        return []
    distance = np.median(away, axis=1)
    at = int(distance.argmax())
    if distance[at] < _FAR * np.sort(distance)[-2] or distance[at] < _FAR:
        return []
    name = raw.samples[at] if raw.samples else f"sample {at + 1}"
    cure = "Delete it if it is no sample."
    if raw.samples and raw.lines:
        cure = f"Set ignore: [{quoted(name)}] to leave it out."
    return [
        f"sample {quoted(name)} is far from all others ({distance[at]:.0f} deviations in the "
        f"median feature; the next {np.sort(distance)[-2]:.0f}). {cure}"
    ]


def describe_counts(parts: Iterable[np.ndarray], *, is_sparse: bool) -> str | None:
    """Say that values, in parts, look like raw counts: whole numbers >= 0 and not all small."""
    limit = _LARGEST_GENOTYPE if is_sparse else _LARGEST_SCORE
    if _largest_count(parts) <= limit:
        return None
    return (
        f"all values are whole numbers >= 0, the largest above {limit}: they look like raw counts, "
        "where a few large values and the sequencing depth would dominate the result."
    )


def file_values(raw: RawMatrix) -> RowStream:
    """Return a matrix with the values of its file, rounded to single precision."""
    if raw.X.is_sparse:
        return raw.X
    offset = raw.offset.astype(np.float32)
    return raw.X.change(lambda block, rows: block + offset)


def log_counts(raw: RawMatrix, library_size: float | None = None) -> tuple[RowStream, float]:
    """Transform counts to ``log(1 + count / total * library size)``; return the size too.

    The total is the sum of a sample over all features, and the library size the median of the
    totals, unless it is given. Negative values, and samples without counts, are refused.
    """
    counts = file_values(raw)
    smallest, totals = np.inf, np.empty(counts.shape[0])
    for rows, block in counts.blocks():
        smallest = min(smallest, _smallest(block))
        totals[rows] = _totals(block)
    if smallest < 0:
        raise MatrixError(
            f"normalise: counts requires values >= 0; the smallest is {smallest}. Set normalise: "
            "zscore if the values are not counts, or already log-transformed."
        )
    empty = np.flatnonzero(totals == 0)
    if len(empty):
        name = "" if raw.samples is None else f" ({raw.samples[empty[0]]!r})"
        raise MatrixError(
            f"normalise: counts requires a total > 0 for each sample; it is 0 for {len(empty)} of "
            f"{len(totals)}, the first of them sample {empty[0] + 1}{name}. Remove them from the "
            "file; of an AnnData, scanpy.pp.filter_cells(adata, min_counts=1) does so."
        )
    size = float(np.median(totals)) if library_size is None else library_size
    shares = (size / totals).astype(np.float32)

    def change(block: Block, rows: slice) -> Block:
        if isinstance(block, np.ndarray):
            return np.log1p(block * shares[rows, np.newaxis])
        changed = block.copy()
        changed.data *= np.repeat(shares[rows], np.diff(block.indptr))
        np.log1p(changed.data, out=changed.data)
        return changed

    return counts.change(change), size


def log_values(raw: RawMatrix) -> RowStream:
    """Transform values to ``log2(1 + value)``; negative ones are refused."""
    values = file_values(raw)
    smallest = min(_smallest(block) for _, block in values.blocks())
    if smallest < 0:
        raise MatrixError(
            f"normalise: log2 requires values >= 0; the smallest is {smallest}. Set normalise: "
            "zscore: they seem to be logarithms already."
        )

    def change(block: Block, rows: slice) -> Block:
        if isinstance(block, np.ndarray):
            return np.log2(1 + block)
        changed = block.copy()
        np.log2(1 + changed.data, out=changed.data)
        return changed

    return values.change(change)


def _smallest(block: Block) -> float:
    """Return the smallest value that is not missing; none is in a sparse matrix."""
    return np.fmin.reduce(block, axis=None) if isinstance(block, np.ndarray) else block.min()


def _totals(block: Block) -> np.ndarray:
    if isinstance(block, np.ndarray):
        return np.nansum(block, axis=1, dtype=np.float64)
    rows = pairwise(block.indptr)
    return np.array([block.data[start:stop].sum(dtype=np.float64) for start, stop in rows])


def most_variable_counts(raw: RawMatrix, n_features: int) -> np.ndarray:
    """Return which features of raw counts vary most for their mean, ascending.

    After `log_counts`, features are ranked by `variance_beyond_trend`, as `SparseKMeans` ranks
    them; ties go to the lowest index. Values that are not counts are refused.
    """
    if _largest_count(_stored(raw)) < 0:
        raise MatrixError(
            "n_top_features chooses by the variance of raw counts: all values should be whole "
            "numbers >= 0. Set layer to one that holds counts and normalise: counts, or leave out "
            "n_top_features if the values are already log-transformed."
        )
    if n_features >= raw.X.shape[1]:
        return np.arange(raw.X.shape[1])
    moments = measure_moments(log_counts(raw)[0])
    variances = np.where(moments.constant, 0, moments.deviation**2)
    beyond = variance_beyond_trend(moments.mean, variances)
    return np.sort(np.argsort(-beyond, kind="stable")[:n_features])


def _stored(raw: RawMatrix) -> Iterator[np.ndarray]:
    """Yield the values of the file; of a sparse matrix those that it stores."""
    for _, block in raw.X.blocks():
        yield block.data if raw.X.is_sparse else block + raw.offset


def _largest_count(parts: Iterable[np.ndarray]) -> float:
    """Return the largest value, or -1 if some value is negative or not a whole number."""
    largest = 0.0
    for values in parts:
        values = values[~np.isnan(values)] if np.isnan(values).any() else values
        if (values < 0).any() or (values != np.rint(values)).any():
            return -1.0
        largest = max(largest, float(values.max(initial=0)))
    return largest


def are_counts(X: np.ndarray, offset: np.ndarray) -> bool:
    """Tell whether all values of an array that are not missing are whole numbers >= 0."""
    return all(_largest_count([X[at : at + 100] + offset]) >= 0 for at in range(0, len(X), 100))
