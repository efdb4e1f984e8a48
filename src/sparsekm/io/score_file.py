"""The file ``scores.csv``: one row with the scores of a tuned fit; empty where truth is unknown."""

from __future__ import annotations

from sparsekm.io.checked_table import NUMBER_OR_NOTHING, WORD
from sparsekm.io.table_format import TableFormat

SCORES = TableFormat(
    "score_clustering",
    {
        "dataset": WORD,
        "method": WORD,
        "n_samples": NUMBER_OR_NOTHING,
        "n_features": NUMBER_OR_NOTHING,
        "n_clusters": NUMBER_OR_NOTHING,
        "sparsity": NUMBER_OR_NOTHING,
        "n_nonzero_weights": NUMBER_OR_NOTHING,
        "objective": NUMBER_OR_NOTHING,
        # These require a known truth.
        "cer": NUMBER_OR_NOTHING,
        "cer_chance": NUMBER_OR_NOTHING,
        "ari": NUMBER_OR_NOTHING,
        "ami": NUMBER_OR_NOTHING,
        "ecr": NUMBER_OR_NOTHING,
        "pzw": NUMBER_OR_NOTHING,
        "pnw": NUMBER_OR_NOTHING,
    },
)
