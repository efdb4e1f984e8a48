"""The number of clusters of a data set."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from sparsekm.io.known_classes import distinct_classes
from sparsekm.io.readers.raw_matrix import MatrixError


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


def describe_choice(table: pd.DataFrame) -> str:
    """Say which number of clusters is suggested, and how it compares with the others."""
    ranked = table.sort_values("excess", ascending=False, kind="stable")
    chosen = table[table["chosen"]].iloc[0]
    others = [row for _, row in ranked.iterrows() if row["n_clusters"] != chosen["n_clusters"]]
    text = (
        f"{chosen['n_clusters']} clusters are suggested: fits to four fifths of the samples agree "
        f"with them with an adjusted Rand index of {chosen['stability']:.2f}, compared with "
        f"{chosen['reference_stability']:.2f} on data without clusters (means over resamplings, "
        "without a standard error)."
    )
    if others:
        beside = "; ".join(f"{row['n_clusters']}: {row['excess']:.2f}" for row in others)
        text += f" The difference is {chosen['excess']:.2f}; other numbers do worse ({beside})."
    if chosen["excess"] <= 0:
        text += " No number of clusters does better than on data without clusters."
    return text
