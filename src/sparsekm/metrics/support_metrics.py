"""Which features a fit kept, counted against the features known to matter."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sparsekm.metrics.missing_values import mark_missing


def n_nonzero_weights(weights: ArrayLike) -> int:
    """Count the features kept (NW).

    Parameters
    ----------
    weights : array-like of shape (n_features,)
        Feature weights; a boolean support counts as weights of one and zero.

    Returns
    -------
    int
        Number of weights different from zero.

    Raises
    ------
    ValueError
        If `weights` is not one-dimensional, not numeric, or holds NaN or infinity.

    Examples
    --------
    >>> n_nonzero_weights([0.0, 0.6, 0.8])
    2
    """
    return int(np.count_nonzero(_support(weights, "weights")))


def proper_zero_weights(true_support: ArrayLike, weights: ArrayLike) -> int:
    """Count the noise features that were dropped (PZW).

    Parameters
    ----------
    true_support : array-like of shape (n_features,)
        True, or a weight other than zero, where a feature is relevant. Not a list of indices.
    weights : array-like of shape (n_features,)
        Feature weights of the fit.

    Returns
    -------
    int
        Number of features that are not relevant and whose weight is zero.

    Raises
    ------
    ValueError
        If an argument is not one-dimensional, not numeric, or holds NaN or infinity, or if the
        lengths differ.

    Examples
    --------
    >>> proper_zero_weights([True, True, False, False], [1.0, 0.0, 0.0, 1.0])
    1
    """
    relevant, kept = _paired_supports(true_support, weights)
    return int(np.count_nonzero(~relevant & ~kept))


def proper_nonzero_weights(true_support: ArrayLike, weights: ArrayLike) -> int:
    """Count the relevant features that were kept (PNW).

    Parameters
    ----------
    true_support, weights : array-like of shape (n_features,)
        As in `proper_zero_weights`.

    Returns
    -------
    int
        Number of features that are relevant and whose weight is not zero.

    Raises
    ------
    ValueError
        For the same reasons.

    Examples
    --------
    >>> proper_nonzero_weights([True, True, False, False], [1.0, 0.5, 0.0, 1.0])
    2
    """
    relevant, kept = _paired_supports(true_support, weights)
    return int(np.count_nonzero(relevant & kept))


def _paired_supports(true_support, weights):
    relevant = _support(true_support, "true_support")
    kept = _support(weights, "weights")
    if relevant.shape != kept.shape:
        raise ValueError(
            f"true_support and weights should have the same length, got {len(relevant)} and "
            f"{len(kept)}."
        )
    return relevant, kept


def _support(weights, name):
    values = np.asarray(mark_missing(weights))
    if values.ndim != 1:
        raise ValueError(f"{name} should be one-dimensional, got shape {values.shape}.")
    if values.dtype.kind not in "buif":
        raise ValueError(f"{name} should be boolean or numeric, got dtype {values.dtype}.")
    if not np.isfinite(values).all():
        position = np.flatnonzero(~np.isfinite(values))[0]
        raise ValueError(f"{name} should be finite, got {values[position]} at position {position}.")
    return values != 0
