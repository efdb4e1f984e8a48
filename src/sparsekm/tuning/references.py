r"""Reference data without clusters, each made when it is needed and seeded by its index.

*Gaussian* references are random mixtures of rows: with G of independent standard normals and n
centred rows X, the rows of :math:`G X / \sqrt{n}` are independent draws from
:math:`N(0, X^T X / n)`. *Shrunk* references add a share of independent normals, see
`correlation_shrinkage`. *Spatial* references are permuted like random fields, see
`spatial_reference`.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import cache
from itertools import pairwise

import numpy as np
from scipy import fft
from scipy.optimize import nnls
from scipy.sparse import csc_array, csr_array, issparse, vstack
from scipy.special import ndtri
from scipy.stats import rankdata
from sklearn.base import clone

from sparsekm.cluster.imputation import fill_missing
from sparsekm.cluster.matrices.dense_parts import (
    feature_means,
    feature_variances,
    stored_bytes,
    take_rows,
)
from sparsekm.cluster.matrices.sparse_matrix import as_matrix
from sparsekm.cluster.trimming import count_trimmed, first_kept
from sparsekm.metrics import label_codes
from sparsekm.runtime.threads import one_blas_thread


def permuted_reference(
    X: np.ndarray | csr_array, *, index: int, seed: int, groups: np.ndarray | None = None
) -> np.ndarray | csr_array:
    """Permute every column separately: margins remain, and dependence between features is removed.

    Columns of one group, by their numbers in `groups` (n_features,), are permuted together. The
    stored values of each column of a sparse matrix are moved to random rows.
    """
    rng, n_samples = _generator(seed, index), X.shape[0]
    # The new position of each row, drawn once for every group.
    move = cache(lambda group: rng.permutation(n_samples))
    if issparse(X):
        made = csc_array(X)
        for j, (start, stop) in enumerate(pairwise(made.indptr)):
            rows = made.indices[start:stop]
            if groups is None:
                rows[:] = rng.choice(n_samples, len(rows), replace=False)
            else:
                rows[:] = move(groups[j])[rows]
        made.has_sorted_indices = False
        return made.tocsr()
    if groups is not None:
        made = np.empty_like(X)
        for j, group in enumerate(groups):
            made[move(group), j] = X[:, j]
        return made
    # Columns are shuffled as contiguous rows of the transpose; the result is its view.
    columns = np.ascontiguousarray(X.T)
    if np.shares_memory(columns, X):
        columns = columns.copy()
    for column in columns:
        rng.shuffle(column)
    return columns.T


# Up to this number, all rows mix with all. Beyond it, they mix only within random blocks of about
# this size, so that time and memory stay linear in the number of samples.
BLOCK = 512


def gaussian_reference(
    X: np.ndarray, *, index: int, seed: int, shrinkage: float = 0.0
) -> np.ndarray:
    """Draw from a single Gaussian: means, spreads and correlations remain, clusters are removed.

    Correlations are multiplied by 1 - `shrinkage`, in expectation. With more than `BLOCK` samples
    there is one Gaussian for each block of random rows.
    """
    # One layout, one order of summation: the bits do not depend on how the caller's array lies.
    X = np.ascontiguousarray(X)
    n, rng = X.shape[0], _generator(seed, index)
    means = feature_means(X)
    spreads = np.sqrt(feature_variances(X))
    mixed = np.empty(X.shape, dtype=X.dtype)
    for rows in np.array_split(rng.permutation(n), -(-n // BLOCK)):
        centred = X[rows] - means
        factors = rng.standard_normal((len(rows), len(rows)))
        with one_blas_thread:
            draws = factors @ centred
        draws /= np.sqrt(len(rows))
        if shrinkage > 0:
            draws *= np.sqrt(1 - shrinkage)
            draws += np.sqrt(shrinkage) * spreads * rng.standard_normal(draws.shape)
        mixed[rows] = draws
    own = np.sqrt(feature_variances(mixed))
    scales = np.divide(spreads, own, out=np.zeros_like(own), where=own > 0)
    shifts = means - feature_means(mixed) * scales
    mixed *= scales
    mixed += shifts
    return mixed


def shrunk_reference(X: np.ndarray, *, index: int, seed: int) -> np.ndarray:
    """Draw from a single Gaussian with the data's correlations, without the part due to chance."""
    return gaussian_reference(X, index=index, seed=seed, shrinkage=correlation_shrinkage(X))


REFERENCES: dict[str, Callable[..., np.ndarray]] = {
    "permutation": permuted_reference,
    "gaussian": gaussian_reference,
    "shrunk": shrunk_reference,
}
SPATIAL = "spatial"
"""The kind of references that needs positions."""

_WORTH_COLLECTING = 2**26  # bytes


def _generator(seed: int, index: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index, 0)))


def reference_seed(seed: int, index: int) -> int:
    """Return the `random_state` for the path on the reference `index`."""
    return int(np.random.SeedSequence(seed, spawn_key=(index, 1)).generate_state(1)[0])


def check_reference(reference: str, X: np.ndarray | csr_array) -> None:
    """Refuse a kind of references that does not fit the data."""
    if issparse(X) and reference != "permutation":
        raise ValueError(
            f"reference={reference!r} makes a dense matrix of a sparse X; it should be "
            "'permutation', or give X.toarray() if it fits into memory."
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
    holes: np.ndarray | None = None,
) -> np.ndarray:
    """Search one reference like the data; return an objective for each sparsity.

    Spatial references need `positions`, (n_samples, n_dimensions). `holes`, of the shape of X,
    marks missing values; as many are removed from references and filled in the same way.
    """
    check_reference(reference, X)
    outliers = None
    if getattr(estimator, "trim", 0):
        # Samples that trimmed k-means sets aside stay unchanged. If they were permuted with the
        # others, every sample would have values of outliers.
        n_trimmed = count_trimmed(estimator.trim, X.shape[0], estimator.n_clusters, 1)
        kept = first_kept(as_matrix(X), estimator.n_clusters, n_trimmed, seed=seed)
        outliers = X[np.setdiff1d(np.arange(X.shape[0]), kept)]
        X, positions, holes = take_rows(kept, X, positions, holes)
    permuted = reference == "permutation"
    if reference == SPATIAL:
        made = spatial_reference(X, positions=positions, index=index, seed=seed)
    elif permuted:
        groups = getattr(estimator, "feature_groups", None)
        groups = None if groups is None else label_codes(groups, "feature_groups")
        source = X if holes is None else np.where(holes, np.nan, X)
        made = permuted_reference(source, index=index, seed=seed, groups=groups)
    else:
        made = REFERENCES[reference](X, index=index, seed=seed)
    if holes is not None:
        made = fill_missing(np.where(np.isnan(made) if permuted else holes, np.nan, made))
    if outliers is not None:
        join = vstack if issparse(X) else np.concatenate
        made = join([made, outliers])
    # The reference is not used elsewhere, so it is centred in place, without another copy.
    data = as_matrix(csr_array(made) if issparse(made) else made, copy=False)
    fitted = clone(estimator).set_params(random_state=reference_seed(seed, index))
    objectives = fitted.search_objectives(data, sparsities)
    # Compiling a kernel leaves a reference cycle of frames, which would keep these data in memory
    # together with the next reference. Collecting it takes longer than searching small data.
    del made, data
    if stored_bytes(X) > _WORTH_COLLECTING:
        gc.collect()
    return objectives


# The number of samples whose differences from others give the variogram, at fixed ranks of
# distance.
N_ANCHORS = 500
# The largest number of points of the grid, with its margin.
MOST_POINTS = 2**19
# The grid is this much longer than the data, because opposite sides of a Fourier transform are
# close.
MARGIN = 2
# Smaller values of a variogram are rounding errors.
SMALLEST_VARIOGRAM = 1e-3


def spatial_reference(X: np.ndarray, *, positions: np.ndarray, index: int, seed: int) -> np.ndarray:
    r"""Permute every column separately, and approximately keep its variogram.

    Neighbours in space resemble each other, so even independent features differ from their
    permutations. A random field with a variogram like the feature's gets the feature's values in
    the order of the field (Viladomat et al. 2014, doi:10.1111/biom.12139; Burt et al. 2020,
    doi:10.1016/j.neuroimage.2020.117038). The variogram of normal scores, half the mean squared
    difference of two samples, is fitted by a mixture of :math:`1 - \exp(-h^2 / (2 \ell^2))` of
    several ranges :math:`\ell` of the distance h and a nugget. Fields are white noise on a grid,
    filtered in its Fourier transform and read off at the grid point nearest to each sample.
    """
    rng = _generator(seed, index)
    anchors, partners, curves, spectra, shape, points = _field_space(positions, seed)
    n_samples, n_features = X.shape
    drawn = np.empty((n_features, n_samples), dtype=X.dtype)
    for feature in range(n_features):
        column = X[:, feature]
        scores = ndtri((rankdata(column) - 0.5) / n_samples)
        variogram = np.square(scores[anchors] - scores[partners]).mean(axis=1) / 2
        # Errors are relative, because short distances matter most.
        scale = 1 / np.maximum(variogram, SMALLEST_VARIOGRAM)
        *of_ranges, nugget = nnls(curves * scale[:, None], variogram * scale)[0]
        noise = fft.rfftn(rng.standard_normal(shape))
        noise *= np.sqrt(np.tensordot(np.array(of_ranges), spectra, 1))
        field = fft.irfftn(noise, shape)[points]
        field = field + np.sqrt(nugget) * rng.standard_normal(n_samples)
        drawn[feature, np.argsort(field)] = np.sort(column)
    return drawn.T


def _field_space(positions: np.ndarray, seed: int) -> tuple:
    """Return what the fields of all features share.

    These are the anchor samples; for each, other samples at increasing distances, (n_ranks,
    n_anchors); their mean variogram for each range and last for the nugget; the filters of the
    ranges; the shape of the grid; and the grid point of each sample.
    """
    positions = np.asarray(positions, dtype=np.float64)
    n_samples = len(positions)
    ranks = 2 ** np.arange(max(1, int(np.log2(n_samples - 1)) + 1))
    anchors = np.random.default_rng(seed).permutation(n_samples)[:N_ANCHORS]
    distances = np.empty((len(ranks), len(anchors)))
    partners = np.empty((len(ranks), len(anchors)), dtype=np.int64)
    for at, anchor in enumerate(anchors):
        squares = np.square(positions - positions[anchor]).sum(axis=1)
        # The anchor itself has rank 0.
        squares[anchor] = -1
        partners[:, at] = np.argpartition(squares, ranks)[ranks]
        distances[:, at] = np.sqrt(squares[partners[:, at]])
    typical = np.median(distances, axis=1)
    ranges = typical[typical > 0]
    ratios = distances[:, :, None] / ranges
    curves = (1 - np.exp(-(ratios**2) / 2)).mean(axis=1)
    curves = np.column_stack([curves, (distances > 0).mean(axis=1)])
    sides = np.ptp(positions, axis=0)
    # The smallest range, or a larger one if the grid would be too large.
    step = float(ranges.min(initial=sides.max() or 1.0))
    while np.prod(MARGIN * sides / step + 1) > MOST_POINTS:
        step *= 1.1
    points = np.rint((positions - positions.min(axis=0)) / step).astype(int)
    shape = tuple(fft.next_fast_len(MARGIN * int(most) + 1, real=True) for most in points.max(0))
    spectra = np.array([_spectrum(shape, each / step) for each in ranges])
    return anchors, partners, curves, spectra, shape, tuple(points.T)


def _spectrum(shape: tuple[int, ...], length: float) -> np.ndarray:
    """Return the power of a field with the range `length`, in steps of the grid; variance 1."""
    whole = [fft.fftfreq(side) for side in shape[:-1]]
    axes = np.meshgrid(*whole, fft.rfftfreq(shape[-1]), indexing="ij", sparse=True)
    power = np.exp(-2 * (np.pi * length) ** 2 * sum(axis**2 for axis in axes))
    # A constant does not vary.
    power.flat[0] = 0
    # Frequencies other than 0 and the middle one count twice.
    counts = np.full(shape[-1] // 2 + 1, 2.0)
    counts[0] = 1
    if shape[-1] % 2 == 0:
        counts[-1] = 1
    return power * (np.prod(shape) / max((power * counts).sum(), 1e-300))


def correlation_shrinkage(X: np.ndarray) -> float:
    r"""Compute the share of the identity in the shrunk correlation matrix, from 0 to 1.

    For n standardised samples z with correlation matrix R, it is Ledoit & Wolf's intensity (2004,
    doi:10.1016/S0047-259X(03)00096-4), the chance variation of R relative to its distance from the
    identity, :math:`\min(1, n^{-2} \sum_i \lVert z_i z_i^T - R \rVert^2 / \lVert R - I \rVert^2)`.
    The function in scikit-learn takes a hundred times as long for 60 samples of 20,000 features. At
    most `BLOCK` samples are used, evenly spaced, and constant features are left out.
    """
    n = X.shape[0]
    rows = np.linspace(0, n - 1, min(n, BLOCK)).round().astype(int)
    # One layout, one order of summation: the bits do not depend on how the caller's array lies.
    z = np.array(X[rows], dtype=np.float64, order="C")
    z = np.ascontiguousarray(z[:, np.ptp(z, axis=0) > 0])
    z -= z.mean(axis=0)
    z /= z.std(axis=0)
    n, p = z.shape
    if p < 2:
        return 0.0
    # ||z_i||^2 squared is the squared norm of z_i z_i^T; the norms of R are summed over the
    # product.
    squares = np.einsum("ij,ij->i", z, z)
    with one_blas_thread:
        product = z @ z.T if n <= p else z.T @ z
    norm = np.einsum("ij,ij->", product, product) / n**2
    chance = (np.einsum("i,i->", squares, squares) / n - norm) / n
    distance = norm - p
    return float(min(1.0, max(chance, 0.0) / distance)) if distance > 0 else 0.0
