"""The file ``stability.csv``: how often each feature is kept in subsamples.

One row per feature in the order of the matrix, with the columns ``symbol``, ``kept`` and
``subsamples`` (counts) and ``stability``, their ratio.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from sparsekm.io.checked_hdf5 import DamagedFileError
from sparsekm.io.checked_table import NUMBER, WHOLE, WORD
from sparsekm.io.table_format import TableFormat

_FORMAT = TableFormat(
    "gene_stability",
    {"symbol": WORD, "kept": WHOLE, "subsamples": WHOLE, "stability": NUMBER},
)


def write_stability(
    file: str | Path, symbols: Sequence[str], counts: np.ndarray, n_subsamples: int
) -> None:
    """Write how often each feature is kept, atomically."""
    counts = np.asarray(counts, dtype=np.int64)
    table = pd.DataFrame(
        {
            "symbol": np.asarray(symbols, dtype=object),
            "kept": counts,
            "subsamples": n_subsamples,
            "stability": counts / n_subsamples,
        }
    )
    _FORMAT.write(file, table)


def read_stability(file: str | Path, symbols: Sequence[str]) -> np.ndarray:
    """Read the share of subsamples, in [0, 1], that keep each feature; check the symbols."""
    table = _FORMAT.read(file)
    if list(table["symbol"]) != [str(s) for s in symbols]:
        raise DamagedFileError(
            file, f"symbols should be the {len(symbols)} features of the data set", _FORMAT.rule
        )
    kept, subsamples = table["kept"].to_numpy(), table["subsamples"].to_numpy()
    if not ((kept >= 0) & (kept <= subsamples) & (subsamples > 0)).all():
        raise DamagedFileError(
            file, "kept should lie between 0 and subsamples in every row", _FORMAT.rule
        )
    return kept / subsamples
