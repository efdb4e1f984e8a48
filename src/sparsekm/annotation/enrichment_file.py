"""The file ``enrichment.csv``: a row per group and term tested, by group and ascending in p."""

from __future__ import annotations

from sparsekm.io.checked_table import NUMBER_OR_NOTHING, WHOLE, WORD
from sparsekm.io.table_format import TableFormat

ENRICHMENT = TableFormat(
    "enrich_genes",
    {
        "group": WORD,
        "term": WORD,
        "name": WORD,
        "n_analysed": WHOLE,
        "n_group": WHOLE,
        "n_term": WHOLE,
        "n_shared": WHOLE,
        "expected": NUMBER_OR_NOTHING,
        "fold": NUMBER_OR_NOTHING,
        "p_value": NUMBER_OR_NOTHING,
        "q_value": NUMBER_OR_NOTHING,
        "genes": WORD,
    },
)
GROUPS = ("kept", "dropped", "only l1")
"""Groups of features, in the order of tables."""
