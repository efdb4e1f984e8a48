"""The file ``clusters.csv``: every sample's known class and its cluster by each method.

Columns: ``sample``, ``label`` (empty where none is known), and ``cluster_m`` for each
method m, a number counted from 0 as in ``tuned.h5``. Rows stand in the order of the matrix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from sparsekm.storage.atomic import write_table
from sparsekm.storage.checked_hdf5 import DamagedFileError
from sparsekm.storage.checked_table import WHOLE, WORD, read_table

_RULE = "export_clusters"
_FIXED = ("sample", "label")
_PREFIX = "cluster_"


def write_cluster_table(
    file: str | Path,
    samples: Sequence[str],
    labels: Sequence[str] | None,
    clusters: Mapping[str, np.ndarray],
) -> None:
    """Write the clusters of every sample whole or not at all.

    Parameters
    ----------
    file : path
    samples : sequence of str of length n
    labels : sequence of str of length n, or None
        Known classes.
    clusters : mapping of method name to int array of shape (n,)
    """
    table = pd.DataFrame({"sample": list(samples), "label": "" if labels is None else list(labels)})
    for method, numbers in clusters.items():
        table[f"{_PREFIX}{method}"] = np.asarray(numbers, dtype=np.int64)
    write_table(table, file)


def read_cluster_table(file: str | Path) -> pd.DataFrame:
    """Read what `write_cluster_table` wrote; a sample called "NA" or "1" stays that string."""
    table = read_table(file, dict.fromkeys(_FIXED, WORD), _RULE, others=WHOLE)
    others = list(table.columns[2:])
    if not all(name.startswith(_PREFIX) for name in others):
        raise DamagedFileError(
            file, f"columns={others} should be {_PREFIX}<method> of each method", _RULE
        )
    return table
