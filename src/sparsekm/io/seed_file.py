"""The file ``seeds.csv``: the scores of the fit that is shown, then of those from other seeds.

Seed 0 is that of the tuning.
"""

from __future__ import annotations

from sparsekm.io.checked_table import NUMBER, NUMBER_OR_NOTHING, WHOLE
from sparsekm.io.table_format import TableFormat

SEEDS = TableFormat(
    "refit_other_seeds",
    {
        "seed": WHOLE,
        "objective": NUMBER,
        "n_nonzero_weights": WHOLE,
        # Features that the fit shown keeps too, and the adjusted Rand index with its clusters.
        "n_kept_too": WHOLE,
        "agreement": NUMBER,
        # These require known classes.
        "cer": NUMBER_OR_NOTHING,
        "cer_chance": NUMBER_OR_NOTHING,
        "ari": NUMBER_OR_NOTHING,
        "ami": NUMBER_OR_NOTHING,
    },
)
