"""The file ``clusters.csv``: every sample's known class and its cluster by each method.

Columns: ``sample``, ``label`` (empty where none is known), and ``cluster_m`` for each
method m, a number counted from 0 as in ``tuned.h5``; behind it ``confidence_m``, the share of
resampled fits that agree, where m resamples. Rows stand in the order of the matrix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from sparsekm.io.atomic import write_table
from sparsekm.io.checked_hdf5 import DamagedFileError
from sparsekm.io.checked_table import (
    NUMBER,
    WHOLE,
    WORD,
    convert_columns,
    read_words,
    require_columns,
)
from sparsekm.io.fit_file import Fit

_RULE = "export_clusters"
_FIXED = ("sample", "label")
_KINDS = {"cluster_": WHOLE, "confidence_": NUMBER}


def write_cluster_table(
    file: str | Path,
    samples: Sequence[str],
    labels: Sequence[str] | None,
    fits: Mapping[str, Fit],
) -> None:
    """Write the clusters of every sample whole or not at all.

    Parameters
    ----------
    samples : sequence of str of length n
    labels : sequence of str of length n, or None
        Known classes.
    fits : mapping of method name to Fit
    """
    table = pd.DataFrame({"sample": list(samples), "label": "" if labels is None else list(labels)})
    for method, fit in fits.items():
        table[f"cluster_{method}"] = np.asarray(fit.labels, dtype=np.int64)
        if fit.confidence is not None:
            table[f"confidence_{method}"] = fit.confidence
    write_table(table, file)


def read_cluster_table(file: str | Path) -> pd.DataFrame:
    """Read what `write_cluster_table` wrote; a sample called "NA" or "1" stays that string."""
    table = read_words(file, _RULE)
    require_columns(file, table, _FIXED, _RULE)
    kinds = dict.fromkeys(_FIXED, WORD)
    for name in table.columns[len(_FIXED) :]:
        kind = next((kind for start, kind in _KINDS.items() if name.startswith(start)), None)
        if kind is None:
            raise DamagedFileError(
                file, f"column {name!r} should be one of {[*_KINDS]} and a method", _RULE
            )
        kinds[name] = kind
    return convert_columns(file, table, kinds, _RULE)
