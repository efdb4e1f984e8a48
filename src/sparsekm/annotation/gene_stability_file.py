"""The file ``stability.csv``: how often each feature is kept again.

A row per feature in the order of the matrix, with the columns ``symbol``, ``kept`` and
``subsamples`` (counts) and ``stability``, their ratio.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from sparsekm.storage.atomic import write_table
from sparsekm.storage.checked_hdf5 import DamagedFileError
from sparsekm.storage.checked_table import NUMBER, WHOLE, WORD, read_table

_RULE = "gene_stability"
_CONTRACT = {"symbol": WORD, "kept": WHOLE, "subsamples": WHOLE, "stability": NUMBER}
COLUMNS = tuple(_CONTRACT)


def write_stability(
    file: str | Path, symbols: Sequence[str], counts: np.ndarray, n_subsamples: int
) -> None:
    """Write how often each feature is kept, whole or not at all."""
    counts = np.asarray(counts, dtype=np.int64)
    table = pd.DataFrame(
        {
            "symbol": np.asarray(symbols, dtype=object),
            "kept": counts,
            "subsamples": n_subsamples,
            "stability": counts / n_subsamples,
        }
    )
    write_table(table, file)


def read_stability(file: str | Path, symbols: Sequence[str]) -> np.ndarray:
    """Read the share of subsamples that keep each feature.

    Parameters
    ----------
    file : path
    symbols : sequence of str
        The features that the file should be about, in its order.

    Returns
    -------
    stability : float64 array of shape (p,), in [0, 1]

    Raises
    ------
    ValueError
        If it is about other features, or its counts make no shares.
    """
    table = read_table(file, _CONTRACT, _RULE)
    if list(table["symbol"]) != [str(s) for s in symbols]:
        raise DamagedFileError(
            file, f"symbols should be the {len(symbols)} features of the data set", _RULE
        )
    kept, subsamples = table["kept"].to_numpy(), table["subsamples"].to_numpy()
    if not ((kept >= 0) & (kept <= subsamples) & (subsamples > 0)).all():
        raise DamagedFileError(file, "kept should lie between 0 and subsamples in every row", _RULE)
    return kept / subsamples
