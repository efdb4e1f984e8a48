"""The genes that can be analysed at all ages.

A gene is common if at every age it has a grid and passes quality control: enough data, and not
constant. The matrices of all ages then have the same columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from sparsekm.atlas.expression_file import read_expression
from sparsekm.atlas.quality_control import screen_expression
from sparsekm.io.checked_table import FLAG, WHOLE, WORD
from sparsekm.io.table_format import TableFormat

COMMON_GENES = TableFormat(
    "find_common_genes", {"gene_id": WHOLE, "gene": WORD, "common": FLAG}, others={"": WORD}
)
"""The file ``common_genes.csv``, with a further column for each age."""


def find_common_genes(
    expressions: Mapping[str, str | Path],
    *,
    max_missing_per_gene: float = 0.3,
    max_missing_per_voxel: float = 0.3,
) -> pd.DataFrame:
    """Tabulate which genes are common to several ages, and why the others are not.

    The files ``expression.h5ad`` are read one age at a time; the thresholds are those of
    `screen_expression`. Each gene of any age has a row, sorted by id: gene_id, gene (symbol),
    common (bool), and for each age "absent", "missing", "constant", or "" if the gene passes.
    """
    if not expressions:
        raise ValueError("n_ages=0 should be >= 1.")
    columns, symbols = {}, {}
    for age, path in expressions.items():
        data = read_expression(path)
        screening = screen_expression(
            data.X,
            max_missing_per_gene=max_missing_per_gene,
            max_missing_per_voxel=max_missing_per_voxel,
        )
        ids = data.var["gene_id"].to_numpy()
        columns[age] = pd.Series(screening.reasons(), index=ids)
        symbols |= dict(zip(ids, data.var["symbol"], strict=True))
        del data
    reasons = pd.DataFrame(columns).reindex(sorted(symbols)).fillna("absent")
    common = (reasons == "").all(axis=1)
    if not common.any():
        raise ValueError(
            f"n_common=0 of {len(reasons)} genes at {', '.join(expressions)} should be >= 1."
        )
    reasons.insert(0, "gene_id", reasons.index)
    reasons.insert(1, "gene", [symbols[gene_id] for gene_id in reasons.index])
    reasons.insert(2, "common", common)
    return reasons.reset_index(drop=True)


def read_common_genes(path: str | Path) -> set[int]:
    """Read the ids of the common genes."""
    table = COMMON_GENES.read(path)
    return set(table.loc[table["common"], "gene_id"].tolist())
