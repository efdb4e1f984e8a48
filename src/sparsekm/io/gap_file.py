"""The file ``gap.csv``: the gap curve of a path, ascending in sparsity, and the chosen row."""

from __future__ import annotations

from sparsekm.io.checked_table import FLAG, NUMBER, WHOLE
from sparsekm.io.table_format import TableFormat

GAP = TableFormat(
    "tune_sparsity",
    {
        "sparsity": NUMBER,
        "n_selected": WHOLE,
        "objective": NUMBER,
        "log_objective": NUMBER,
        "reference_mean": NUMBER,
        "reference_sd": NUMBER,
        "gap": NUMBER,
        "se": NUMBER,
        "chosen": FLAG,
    },
)
