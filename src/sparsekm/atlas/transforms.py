"""Transforms of expression energies before the z-score, in place; missing values stay missing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit

from sparsekm.atlas.quality_control import row_blocks

_CELLS_AT_ONCE = 2**20


def transform_energies(X: np.ndarray, name: str) -> None:
    """Transform energies (n_voxels, n_genes), non-negative or NaN, in place.

    ``none`` leaves them, ``log2`` is log2(x + 1), ``robust_sigmoid`` maps every gene to [0, 1] as
    `scaled_robust_sigmoid` does.
    """
    if name not in TRANSFORMS:
        raise ValueError(f"transform={name!r} should be one of {', '.join(TRANSFORMS)}.")
    TRANSFORMS[name](X)


def _leave(X: np.ndarray) -> None:
    """Leave energies as they are."""


def _take_log2(X: np.ndarray) -> None:
    for rows in row_blocks(X.shape):
        block = X[rows]
        np.log1p(block, out=block)
        block /= np.float32(np.log(2))


def scaled_robust_sigmoid(values: np.ndarray) -> np.ndarray:
    r"""Squash the measured values of genes to [0, 1], so that outliers weigh little.

    With the median m and the interquartile range IQR of a gene's measured values,

    .. math:: z = \frac{1}{1 + \exp\left(-\frac{x - m}{\mathrm{IQR} / 1.35}\right)},
        \qquad y = \frac{z - \min z}{\max z - \min z}.

    IQR / 1.35 is the standard deviation where the gene is normal. A gene with IQR = 0, of which at
    least half the values are the same, has no such z: there the mean stands for m and the standard
    deviation (ddof = 1) for IQR / 1.35. A gene that is constant becomes 0. Quantiles are
    interpolated linearly.

    Parameters
    ----------
    values : ndarray of shape (n_voxels, n_genes)
        NaN is missing.

    Returns
    -------
    ndarray of float64 of shape (n_voxels, n_genes)
        NaN where `values` are.

    References
    ----------
    .. [1] Fulcher, Little & Jones (2013). Highly comparative time-series analysis: the empirical
       structure of time series and their methods. J. R. Soc. Interface 10, 20130048.
       https://doi.org/10.1098/rsif.2013.0048
    """
    squashed = np.full(values.shape, np.nan)
    for gene in range(values.shape[1]):
        measured = ~np.isnan(values[:, gene])
        x = values[measured, gene].astype(np.float64)
        if len(x):
            squashed[measured, gene] = _squash_gene(x)
    return squashed


def _squash_gene(x: np.ndarray) -> np.ndarray:
    if x.min() == x.max():
        return np.zeros_like(x)
    low, middle, high = np.quantile(x, [0.25, 0.5, 0.75])
    scale = (high - low) / 1.35
    if scale == 0:
        middle, scale = x.mean(), x.std(ddof=1)
    z = expit((x - middle) / scale)
    return (z - z.min()) / (z.max() - z.min())


def _take_robust_sigmoid(X: np.ndarray) -> None:
    n_rows, n_columns = X.shape
    step = max(1, _CELLS_AT_ONCE // max(1, n_rows))
    for start in range(0, n_columns, step):
        genes = slice(start, start + step)
        X[:, genes] = scaled_robust_sigmoid(X[:, genes])


TRANSFORMS: dict[str, Callable[[np.ndarray], None]] = {
    "none": _leave,
    "log2": _take_log2,
    "robust_sigmoid": _take_robust_sigmoid,
}
"""Transforms by name. Each maps 0 to 0 where that is a gene's lowest energy, so that a gap filled
with zero afterwards stands for no expression."""
