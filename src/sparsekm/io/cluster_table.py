"""The file ``clusters.csv``: every sample's known class and its cluster by each method.

Columns: ``sample``, ``label`` (empty if unknown), and ``cluster_m`` for each method m, counted from
0 as in ``tuned.h5``; if m resamples, it is followed by ``confidence_m``, the share of resampled
fits that agree (empty if the tuning did not draw the sample). Rows are in the order of the matrix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from sparsekm.io.checked_table import NUMBER_OR_NOTHING, WHOLE, WORD
from sparsekm.io.fit_file import Fit
from sparsekm.io.table_format import TableFormat

CLUSTERS = TableFormat(
    "export_clusters",
    {"sample": WORD, "label": WORD},
    others={"cluster_": WHOLE, "confidence_": NUMBER_OR_NOTHING},
)


def tabulate_clusters(
    samples: Sequence[str], labels: Sequence[str] | None, fits: Mapping[str, Fit]
) -> pd.DataFrame:
    """Tabulate the clusters of every sample by each method; labels are known classes."""
    table = pd.DataFrame({"sample": list(samples), "label": "" if labels is None else list(labels)})
    for method, fit in fits.items():
        table[f"cluster_{method}"] = np.asarray(fit.labels, dtype=np.int64)
        if fit.confidence is not None:
            table[f"confidence_{method}"] = fit.confidence
    return table
