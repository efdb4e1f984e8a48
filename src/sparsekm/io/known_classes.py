"""Known classes of samples, of which some samples may have none.

In memory classes are an object array of str, in which `UNKNOWN` stands for a sample without one;
a file holds a missing category there. Such a sample is clustered like any other and left out of
whatever compares clusters with classes.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

UNKNOWN = ""


def class_names(column: pd.Series) -> np.ndarray:
    """Give the classes that a column of a table holds: object array of str, shape (n,)."""
    return column.astype(object).where(column.notna(), UNKNOWN).astype(str).to_numpy(dtype=object)


def class_column(labels: pd.Series) -> pd.Series:
    """Make of classes in memory the column of a table: a category of strings, or missing."""
    names = labels.astype(str)
    return names.where(names != UNKNOWN).astype("category")


def is_known(labels: np.ndarray) -> np.ndarray:
    """Tell which samples have a class: bool array of shape (n,)."""
    return np.asarray(labels, dtype=object) != UNKNOWN


def distinct_classes(labels: np.ndarray) -> list[str]:
    """List the classes that occur, in alphabetical order."""
    return sorted(set(labels) - {UNKNOWN})
