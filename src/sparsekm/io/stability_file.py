"""The file ``stability_curve.csv``: the stability curve of a path, and the chosen row."""

from __future__ import annotations

from sparsekm.io.checked_table import FLAG, NUMBER, WHOLE
from sparsekm.io.table_format import TableFormat

STABILITY_CURVE = TableFormat(
    "tune_stability",
    {
        "sparsity": NUMBER,
        "n_selected": WHOLE,
        "objective": NUMBER,
        "stability": NUMBER,
        "stability_sd": NUMBER,
        "se": NUMBER,
        "selection_stability": NUMBER,
        "likeness": NUMBER,
        "chosen": FLAG,
    },
)
