"""What the phantom plants, as a table beside the files: one row per gene."""

from __future__ import annotations

import pandas as pd

from sparsekm.atlas.phantom.genes import PlantedGene


def tabulate_truth(age: str, genes: list[PlantedGene], present: set[str]) -> pd.DataFrame:
    """Tabulate what is planted at an age whose regions are `present`.

    The columns are gene_id, symbol, kind, relevant (region differences are planted), regions
    (joined by ``;``), strength (0 to 1), profile, module (empty or a number), and the direction of
    a gradient as axis_x, axis_y, axis_z.
    """
    rows = []
    for gene in genes:
        regions = [r for r in gene.regions_at(age) if r in present]
        rows.append(
            {
                "gene_id": gene.id,
                "symbol": gene.symbol,
                "kind": gene.kind,
                "relevant": gene.is_relevant(age, present),
                "regions": ";".join(regions),
                "strength": gene.strength(age) if gene.kind == "marker" else float("nan"),
                "profile": gene.profile if gene.kind == "marker" else "",
                "module": gene.module,
                "axis_x": gene.direction[0],
                "axis_y": gene.direction[1],
                "axis_z": gene.direction[2],
            }
        )
    table = pd.DataFrame(rows)
    return table.astype({"module": "Int64"})
