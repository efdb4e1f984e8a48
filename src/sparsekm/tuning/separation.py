"""How well clusters are separated in samples that were not used to find them."""

from __future__ import annotations

import numpy as np

from sparsekm.cluster.matrices.scatter import cluster_centers
from sparsekm.runtime.threads import one_blas_thread


def margin_ratio(X: np.ndarray, part: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> float:
    r"""Compare how the distances of samples from the nearest boundary between clusters spread.

    With u the distance of a sample from the boundary between its two nearest centres,
    :math:`E[u^2] / E[u]^2` is returned. It is 1 where all samples are equally far from the
    boundary, as between clusters that a gap separates, 4/3 where a uniform cloud is cut in two, and
    pi/2 where a Gaussian one is. Samples that the clusters were fitted to are farther from the
    boundaries than others, so others should be given.

    `part` are the samples that were clustered, with `labels` in which every label from 0 to the
    largest occurs. The ratio is NaN if there is a single cluster.
    """
    support = np.flatnonzero(weights)
    root = np.sqrt(np.asarray(weights, dtype=np.float64)[support])
    centers = cluster_centers(part[:, support], labels, int(labels.max()) + 1)
    shift = centers.mean(axis=0)
    centers = (centers - shift) * root
    if len(centers) < 2:
        return float("nan")
    values = (X[:, support] - shift) * root
    # Squared distances less those of the samples from the origin, which cancel below.
    with one_blas_thread:
        products = values @ centers.T
    distances = np.square(centers).sum(axis=1) - 2 * products
    order = np.argsort(distances, axis=1)[:, :2]
    nearest, second = np.take_along_axis(distances, order, axis=1).T
    gaps = np.linalg.norm(centers[order[:, 0]] - centers[order[:, 1]], axis=1)
    apart = gaps > 0
    margins = (second - nearest)[apart] / gaps[apart]
    mean = margins.mean() if len(margins) else 0.0
    return float(np.mean(margins**2) / mean**2) if mean > 0 else float("nan")
