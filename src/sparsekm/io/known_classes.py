"""Known classes of samples, which give the number of clusters; some samples may have no class.

In memory, classes are an object array of str, with `UNKNOWN` for a sample without a class; in a
file the category is missing. Such a sample is clustered like the others, but left out of all
comparisons of clusters with classes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from sparsekm.io.readers.messages import refusal

UNKNOWN = ""


def class_names(column: pd.Series) -> np.ndarray:
    """Return the classes in a column of a table as an object array of str, shape (n,)."""
    return column.astype(object).where(column.notna(), UNKNOWN).astype(str).to_numpy(dtype=object)


def class_column(labels: pd.Series) -> pd.Series:
    """Convert classes in memory to the column of a table: categories of strings, or missing."""
    names = labels.astype(str)
    return names.where(names != UNKNOWN).astype("category")


def is_known(labels: np.ndarray) -> np.ndarray:
    """Return which samples have a class, a bool array of shape (n,)."""
    return np.asarray(labels, dtype=object) != UNKNOWN


def distinct_classes(labels: np.ndarray) -> list[str]:
    """List the classes that occur, in alphabetical order."""
    return sorted(set(labels) - {UNKNOWN})


def count_clusters(
    dataset: str, n_clusters: int | str, labels: Sequence[str] | None, n_samples: int
) -> int:
    """Resolve the configured number of clusters: a number, or "regions" for the known classes.

    The classes are the regions of an atlas age or the labels of a matrix, ignoring samples without
    a class. There must be more samples than clusters.
    """
    if n_clusters == "regions":
        if labels is None:
            raise refusal("no_classes", name=dataset)
        count, source = len(distinct_classes(labels)), " (its number of classes)"
    else:
        count, source = int(n_clusters), ""
    if not 2 <= count < n_samples:
        raise refusal("n_clusters", n=count, source=source, name=dataset, of=n_samples)
    return count
