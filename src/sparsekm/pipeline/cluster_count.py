"""The number of clusters of a data set."""

from __future__ import annotations

from collections.abc import Sequence

from sparsekm.io.known_classes import distinct_classes
from sparsekm.io.readers.messages import MatrixError


def count_clusters(
    dataset: str, n_clusters: int | str, labels: Sequence[str] | None, n_samples: int
) -> int:
    """Resolve the configured number of clusters: a number, or "regions" for the known classes.

    The classes are the regions of an atlas age or the labels of a matrix, ignoring samples without
    a class. There must be more samples than clusters.
    """
    if n_clusters == "regions":
        if labels is None:
            raise MatrixError(
                f"n_clusters='regions' counts the known classes, but data set {dataset!r} has no "
                f"labels. Set n_clusters under matrices: {dataset} to a number, or to auto."
            )
        count, source = len(distinct_classes(labels)), " (its number of classes)"
    else:
        count, source = int(n_clusters), ""
    if not 2 <= count < n_samples:
        raise MatrixError(
            f"n_clusters={count}{source} of data set {dataset!r} should be at least 2 and less "
            f"than n_samples={n_samples}. Set n_clusters to such a number."
        )
    return count
