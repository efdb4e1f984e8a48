"""The file ``expression.h5ad``: the raw energies of one age, as AnnData.

X is float32 energy, NaN where no section covers the voxel; obs, var and ``uns["regions"]`` as in
`sparsekm.atlas.assembly.AgeMatrix`; ``obsm["spatial"]`` is in millimetres along x, y, z;
``uns["provenance"]`` records source, age, grid and everything that was left out. For simulated
data, var contains the planted truth: ``relevant``, ``planted_kind``, ``planted_regions``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anndata
import numpy as np

from sparsekm.atlas.assembly import AgeMatrix
from sparsekm.io.anndata_parts import read_parts
from sparsekm.io.checked_hdf5 import DamagedFileError, open_checked, read_array
from sparsekm.io.checked_table import FLAG, WHOLE, WORD, require_columns
from sparsekm.io.table_format import TableFormat
from sparsekm.pipeline.provenance import package_versions

_RULE = "assemble_expression"
_COLUMNS = {"obs": ("region", "region_id", "x", "y", "z"), "var": ("symbol", "gene_id")}
_TRUTH = TableFormat(
    "retrieve_atlas",
    {"gene_id": WHOLE, "relevant": FLAG, "kind": WORD, "regions": WORD},
    others={"": WORD},
)
_MICROMETRES_PER_MILLIMETRE = 1000.0


def describe_expression(
    matrix: AgeMatrix, age: str, *, source: str, simulated: bool, settings: dict[str, Any]
) -> anndata.AnnData:
    """Wrap the matrix of an age as AnnData; `source` is ``"phantom"`` or ``"allen"``.

    `settings` are those of the assembly: level, tissue, plane, replicates.
    """
    grid_indices = matrix.obs[["x", "y", "z"]].to_numpy(dtype=float)
    provenance = {
        "dataset": age,
        "age": age,
        "source": source,
        "simulated": simulated,
        "units": "expression energy; NaN is no data",
        "spacing_um": np.array(matrix.spacing, dtype=float),
        "dims": np.array(matrix.dims, dtype=np.int64),
        "settings": {k: _storable(v) for k, v in settings.items()},
        "counts": {kind: dict(counts) for kind, counts in matrix.counts.items()},
        "versions": package_versions(),
    }
    return anndata.AnnData(
        X=matrix.X,
        obs=matrix.obs,
        var=matrix.var,
        obsm={"spatial": grid_indices * matrix.spacing / _MICROMETRES_PER_MILLIMETRE},
        uns={"provenance": provenance, "regions": matrix.regions},
    )


def add_truth(data: anndata.AnnData, truth_file: str | Path) -> None:
    """Add the planted truth to var, if its file exists."""
    path = Path(truth_file)
    if not path.is_file():
        return
    truth = _TRUTH.read(path)
    if truth["gene_id"].duplicated().any():
        raise DamagedFileError(path, "each gene_id should occur once", _TRUTH.rule)
    truth = truth.set_index("gene_id")
    absent = ~data.var["gene_id"].isin(truth.index)
    if absent.any():
        gene_id = data.var["gene_id"][absent].iloc[0]
        raise DamagedFileError(path, f"should contain gene_id={gene_id}", _TRUTH.rule)
    rows = truth.loc[data.var["gene_id"]]
    data.var["relevant"] = rows["relevant"].to_numpy()
    data.var["planted_kind"] = rows["kind"].to_numpy(dtype=object)
    data.var["planted_regions"] = rows["regions"].to_numpy(dtype=object)


def read_expression(path: str | Path) -> anndata.AnnData:
    """Read the expression of an age from a file written by rule assemble_expression."""
    with open_checked(path, _RULE) as opened:
        parts = read_parts(opened, _RULE)
        for part, names in _COLUMNS.items():
            require_columns(path, parts[part], names, _RULE)
        for part, name in (("obs", "region_id"), ("var", "gene_id")):
            if parts[part][name].dtype != np.int64:
                raise DamagedFileError(
                    path, f"{name} has dtype={parts[part][name].dtype}, should be int64", _RULE
                )
        shape = (len(parts["obs"]), len(parts["var"]))
        X = read_array(
            opened, "X", kind="f", shape=shape, rule=_RULE, dtype=np.float32, finite=False
        )
        return anndata.AnnData(X=X, **parts)


def _storable(value: Any) -> Any:
    return np.array(value, dtype=str) if isinstance(value, list | tuple) else value
