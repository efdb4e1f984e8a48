"""The file ``cluster_counts.csv``: the comparison of numbers of clusters, and the one chosen."""

from __future__ import annotations

from sparsekm.io.checked_table import FLAG, NUMBER, WHOLE
from sparsekm.io.table_format import TableFormat

COUNTS = TableFormat(
    "compare_cluster_counts",
    {
        "n_clusters": WHOLE,
        "best_sparsity": NUMBER,
        "n_selected": WHOLE,
        "gap": NUMBER,
        "se": NUMBER,
        "stability": NUMBER,
        "reference_stability": NUMBER,
        "excess": NUMBER,
        "chosen": FLAG,
    },
)
