"""Transforms of expression energies before the z-score, in place; missing values stay missing."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from sparsekm.atlas.quality_control import row_blocks

_ENERGIES_AT_ONCE = 2**20


TRANSFORMS = ("none", "log2", "robust_sigmoid")
"""Each maps 0 to 0 if it is the lowest energy of a gene, so that filling with zero afterwards means
no expression."""


def transform_energies(X: np.ndarray, name: str) -> None:
    """Transform energies (n_voxels, n_genes), non-negative or NaN, in place.

    ``none`` leaves them unchanged, ``log2`` is log2(x + 1), and ``robust_sigmoid`` maps every gene
    to [0, 1] by `scaled_robust_sigmoid`.
    """
    if name not in TRANSFORMS:
        raise ValueError(f"transform={name!r} should be one of {', '.join(TRANSFORMS)}.")
    if name == "log2":
        for rows in row_blocks(X.shape):
            block = X[rows]
            np.log1p(block, out=block)
            block /= np.float32(np.log(2))
    elif name == "robust_sigmoid":
        step = max(1, _ENERGIES_AT_ONCE // max(1, len(X)))
        for start in range(0, X.shape[1], step):
            genes = slice(start, start + step)
            X[:, genes] = scaled_robust_sigmoid(X[:, genes])


def scaled_robust_sigmoid(values: np.ndarray) -> np.ndarray:
    r"""Map the measured values of genes to [0, 1], so that outliers have little influence.

    With the median m and the interquartile range IQR of a gene's measured values,

    .. math:: z = \frac{1}{1 + \exp\left(-\frac{x - m}{\mathrm{IQR} / 1.35}\right)},
        \qquad y = \frac{z - \min z}{\max z - \min z}.

    For a normal distribution IQR / 1.35 is the standard deviation. If IQR = 0 (at least half of the
    values are equal), the mean replaces m and the standard deviation (ddof = 1) replaces
    IQR / 1.35. A constant gene becomes 0. Quantiles are interpolated linearly.
    `values` has the shape (n_voxels, n_genes); missing values are NaN and remain so.

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
