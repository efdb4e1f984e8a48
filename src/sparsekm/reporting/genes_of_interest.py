"""The genes that the report shows first."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from sparsekm.atlas.phantom.genes import NEEDED_EVERYWHERE
from sparsekm.reporting.results import DatasetResult

ATLAS_GENES = ("Scn4b", "Neurog1")
"""The paper's examples: a channel subunit needed everywhere and a marker."""
_PHANTOM_KINDS = ("housekeeping", "marker")


def choose_genes(result: DatasetResult, wanted: Sequence[str] | str = "auto") -> list[int]:
    """Find the rows of ``result.genes`` of the genes of interest, in the order wanted.

    Missing symbols are skipped, and the asterisk at the end of some symbols of the atlas may be
    omitted. "auto" means the paper's examples in the real atlas; in the phantom, the first
    housekeeping gene with the term for genes needed everywhere (or else the first housekeeping
    gene) and the first marker.
    """
    genes = result.genes
    if wanted == "auto":
        if result.provenance.get("source") == "allen":
            wanted = ATLAS_GENES
        elif "planted_kind" in genes:
            wanted = _first_of_kinds(genes)
        else:
            wanted = ()
    symbols = genes["symbol"].astype(str)
    bare = symbols.str.rstrip("*")
    rows = []
    for symbol in wanted:
        found = symbols.index[(symbols == symbol) | (bare == symbol)]
        rows += [int(row) for row in found[:1] if int(row) not in rows]
    return rows


def _first_of_kinds(genes: pd.DataFrame) -> list[str]:
    chosen = []
    for kind in _PHANTOM_KINDS:
        group = genes[genes["planted_kind"] == kind]
        if kind == "marker" and "relevant" in genes:
            # It may be a marker at other ages only.
            group = group[group["relevant"].astype(str) == "True"]
        elif kind == "housekeeping" and "terms" in genes:
            # Some follow the pattern of the whole tissue and so are not equally high everywhere.
            even = group[group["terms"].str.contains(NEEDED_EVERYWHERE, regex=False)]
            group = group if even.empty else even
        chosen += sorted(group["symbol"].astype(str))[:1]
    return chosen


def top_kept(result: DatasetResult, n_genes: int, without: Sequence[int] = ()) -> list[int]:
    """Find the rows of the kept genes with the highest scores, at most `n_genes`."""
    table, method = result.genes, result.primary.name
    kept = table.index[table[f"weight_{method}"] != 0]
    ranked = table.loc[kept, f"rank_{method}"].sort_values(kind="stable").index
    return [int(row) for row in ranked if int(row) not in set(without)][:n_genes]
