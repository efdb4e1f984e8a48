"""Centres that coincide in the kept features: no sample can be told to belong to one of them."""

from __future__ import annotations

import warnings

import numpy as np

# Centres closer than this many units of rounding, relative to the farthest, are the same.
ROUNDING_UNITS = 16


def warn_of_coinciding(centers: np.ndarray, dtype: np.dtype) -> None:
    """Warn where clusters have the same centre, naming them.

    Parameters
    ----------
    centers : ndarray of shape (n_clusters, n_kept)
        Of centred data, in the features that count.
    dtype : dtype
        Of the data: its rounding decides what is the same.
    """
    groups = find_coinciding(centers, ROUNDING_UNITS * float(np.finfo(dtype).eps))
    if groups:
        named = "; ".join(", ".join(map(str, group)) for group in groups)
        warnings.warn(
            f"Clusters with the same centre in the {centers.shape[1]} kept features: {named}. "
            "predict cannot tell them apart and may differ from labels_ on their samples. Keep "
            "more features (sparsity), or ask for fewer clusters (n_clusters).",
            UserWarning,
            stacklevel=5,
        )


def find_coinciding(centers: np.ndarray, tolerance: float) -> list[list[int]]:
    """Return the groups of two or more rows that are the same.

    Parameters
    ----------
    centers : ndarray of shape (n_clusters, n_kept)
    tolerance : float
        Largest difference in a feature, as a share of the largest absolute value.

    Returns
    -------
    list of list of int
        Ascending within and by their first.
    """
    reach = tolerance * float(np.abs(centers).max())
    grouped = np.zeros(len(centers), dtype=bool)
    groups = []
    for k, center in enumerate(centers):
        if grouped[k]:
            continue
        # The first feature rules out nearly all others.
        near = k + 1 + np.flatnonzero(np.abs(centers[k + 1 :, 0] - center[0]) <= reach)
        same = near[(np.abs(centers[near] - center) <= reach).all(axis=1)]
        if len(same):
            grouped[same] = True
            groups.append([k, *same.tolist()])
    return groups
