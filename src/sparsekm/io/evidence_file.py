"""The file ``evidence.csv``: one row on whether a data set has clusters at all."""

from __future__ import annotations

from sparsekm.io.checked_table import NUMBER, NUMBER_OR_NOTHING, WHOLE, WORD
from sparsekm.io.table_format import TableFormat

EVIDENCE = TableFormat(
    "test_clusterability",
    {
        "dataset": WORD,
        "method": WORD,
        "noise_correlation": NUMBER,
        "reference": WORD,
        "n_references": WHOLE,
        "n_samples": WHOLE,
        # Empty if there are too few samples for the test.
        "stability": NUMBER_OR_NOTHING,
        "reference_mean": NUMBER_OR_NOTHING,
        "reference_max": NUMBER_OR_NOTHING,
        "strength": NUMBER_OR_NOTHING,
        "conclusion": WORD,
    },
)
