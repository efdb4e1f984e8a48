"""Which genes are kept at which ages, and which enter and leave from one age to the next.

This module defines two files. ``kept_by_age.csv`` has a row per gene: ``symbol``, its verdict at
each age ("kept" or "dropped" if only one sparse method ran; empty if it was not analysed),
``n_analysed``, ``n_kept``, and the first and last age at which it is kept. ``changes.csv`` has a
row per pair of consecutive ages: ``earlier``, ``later``, and the numbers and names of genes that
``enter``, ``leave`` and ``stay``, among those analysed at both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from sparsekm.annotation.gene_table import VERDICTS
from sparsekm.io.checked_hdf5 import DamagedFileError
from sparsekm.io.checked_table import WHOLE, WORD
from sparsekm.io.table_format import TableFormat

KEPT, DROPPED = "kept", "dropped"
KEEPING = (VERDICTS[0], VERDICTS[1], KEPT)
"""The verdicts on a gene that is kept."""

_RULE = "compare_ages"
KEPT_BY_AGE = TableFormat(
    _RULE,
    {"symbol": WORD, "n_analysed": WHOLE, "n_kept": WHOLE, "first": WORD, "last": WORD},
    others={"": WORD},
)
_KINDS = ("enter", "leave", "stay")
CHANGES = TableFormat(
    _RULE,
    {
        "earlier": WORD,
        "later": WORD,
        **{f"n_{kind}": WHOLE for kind in _KINDS},
        **dict.fromkeys(_KINDS, WORD),
    },
)


def tabulate_ages(genes: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Tabulate whether each gene is kept at each age, from the tables of genes by age.

    "Kept" refers to l0, or to l1 if l0 did not run, or to sparse if neither did. Genes are sorted
    by the number of ages at which they are kept, then by the first of these ages.
    """
    said = {age: _judge(table) for age, table in genes.items()}
    symbols = sorted(set().union(*(words.index for words in said.values())))
    table = pd.DataFrame({"symbol": symbols})
    for age, words in said.items():
        table[age] = words.reindex(symbols).fillna("").to_numpy(dtype=object)
    ages = list(genes)
    kept = table[ages].isin(KEEPING).to_numpy()
    table["n_analysed"] = (table[ages] != "").sum(axis=1)
    table["n_kept"] = kept.sum(axis=1)
    names = np.array([*ages, ""], dtype=object)
    table["first"] = names[np.where(kept.any(axis=1), kept.argmax(axis=1), -1)]
    last = len(ages) - 1 - kept[:, ::-1].argmax(axis=1)
    table["last"] = names[np.where(kept.any(axis=1), last, -1)]
    # Sort by the pattern of ages, read as a number: kept at E11.5 before kept at E13.5, and so on.
    pattern = kept @ (2 ** np.arange(len(ages))[::-1])
    order = np.lexsort((table["symbol"], -pattern, -table["n_kept"]))
    return table.iloc[order].reset_index(drop=True)


def _judge(genes: pd.DataFrame) -> pd.Series:
    if "verdict" in genes:
        words = genes["verdict"].to_numpy(dtype=object)
    else:
        selecting = ("l0", "l1", "sparse")
        weights = next((f"weight_{m}" for m in selecting if f"weight_{m}" in genes), None)
        if weights is None:
            raise ValueError(f"genes: columns should include a weight of one of {selecting}.")
        words = np.where(genes[weights] != 0, KEPT, DROPPED).astype(object)
    said = pd.Series(words, index=genes["symbol"].astype(str))
    # Tables are sorted by rank: if a gene has several features, the best one represents it.
    return said[~said.index.duplicated()]


def tabulate_changes(table: pd.DataFrame, ages: Sequence[str]) -> pd.DataFrame:
    """List the genes that enter, leave and stay between consecutive ages of `tabulate_ages`."""
    rows = []
    for earlier, later in pairwise(ages):
        both = table[(table[earlier] != "") & (table[later] != "")]
        before, after = both[earlier].isin(KEEPING), both[later].isin(KEEPING)
        members = {
            "enter": both["symbol"][~before & after],
            "leave": both["symbol"][before & ~after],
            "stay": both["symbol"][before & after],
        }
        rows.append(
            {"earlier": earlier, "later": later}
            | {f"n_{kind}": len(found) for kind, found in members.items()}
            | {kind: ";".join(sorted(found)) for kind, found in members.items()}
        )
    return pd.DataFrame(rows, columns=list(CHANGES.columns))


def read_ages(file: str | Path) -> tuple[pd.DataFrame, list[str]]:
    """Read ``kept_by_age.csv``: the table, and its ages in their order."""
    table = KEPT_BY_AGE.read(file)
    ages = [column for column in table.columns if column not in KEPT_BY_AGE.columns]
    said = {"", KEPT, DROPPED, *VERDICTS}
    if not table[ages].isin(said).all(axis=None):
        raise DamagedFileError(file, f"each verdict should be one of {sorted(said)}", _RULE)
    return table, ages
