"""How many clusters a data set should be divided into."""

from __future__ import annotations

from collections.abc import Sequence

from sparsekm.annotation.known_classes import distinct_classes
from sparsekm.expression.raw_matrix import MatrixError


def count_clusters(
    dataset: str, n_clusters: int | str, labels: Sequence[str] | None, n_samples: int
) -> int:
    """Resolve the configured number of clusters.

    Parameters
    ----------
    dataset : str
        For messages.
    n_clusters : int or "regions"
        "regions" counts the known classes: the regions of an atlas age, the labels of a matrix.
    labels : sequence of str of length n, or None
        Samples without a class are `sparsekm.annotation.known_classes.UNKNOWN` and do not count.
    n_samples : int

    Returns
    -------
    n_clusters : int

    Raises
    ------
    MatrixError
        When the number is not known, or there are not more samples than clusters.
    """
    if n_clusters == "regions":
        if labels is None:
            raise MatrixError(
                f"n_clusters='regions' counts the known classes, but data set {dataset!r} has no "
                f"labels: set n_clusters under matrices: {dataset}, or name its labels."
            )
        count, source = len(distinct_classes(labels)), " (its number of classes)"
    else:
        count, source = int(n_clusters), ""
    if not 2 <= count < n_samples:
        raise MatrixError(
            f"n_clusters={count}{source} of data set {dataset!r} should be at least 2 and less "
            f"than n_samples={n_samples}."
        )
    return count
