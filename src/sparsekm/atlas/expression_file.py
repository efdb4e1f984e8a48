"""The file ``expression.h5ad``: the raw energies of one age, as AnnData.

X is float32 energy, NaN where no section covers the voxel; obs, var and ``uns["regions"]`` as in
`sparsekm.atlas.assembly.AgeMatrix`; ``obsm["spatial"]`` is in millimetres along x, y, z;
``uns["provenance"]`` tells source, age, grid and everything that was left out. For simulated data,
var has what was planted: ``relevant``, ``planted_kind``, ``planted_regions``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anndata
import numpy as np
import pandas as pd

from sparsekm.atlas.assembly import AgeMatrix
from sparsekm.storage.atomic import atomic_path
from sparsekm.storage.provenance import package_versions

_MICROMETRES_PER_MILLIMETRE = 1000.0


def describe_expression(
    matrix: AgeMatrix, age: str, *, source: str, simulated: bool, settings: dict[str, Any]
) -> anndata.AnnData:
    """Wrap the matrix of an age as AnnData.

    Parameters
    ----------
    matrix : AgeMatrix
    age : str
    source : str
        ``"phantom"`` or ``"allen"``.
    simulated : bool
    settings : dict
        Of the assembly: level, tissue, plane, replicates.

    Returns
    -------
    AnnData
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
    """Add what was planted to var, if the file of the planted truth exists."""
    path = Path(truth_file)
    if not path.is_file():
        return
    truth = pd.read_csv(path, keep_default_na=False).set_index("gene_id")
    absent = ~data.var["gene_id"].isin(truth.index)
    if absent.any():
        raise ValueError(f"{path}: should hold gene_id={data.var['gene_id'][absent].iloc[0]}.")
    rows = truth.loc[data.var["gene_id"]]
    data.var["relevant"] = rows["relevant"].astype(bool).to_numpy()
    data.var["planted_kind"] = rows["kind"].to_numpy(dtype=object)
    data.var["planted_regions"] = rows["regions"].to_numpy(dtype=object)


def write_expression(path: str | Path, data: anndata.AnnData) -> None:
    """Write the expression of an age, whole or not at all."""
    with atomic_path(path) as temporary:
        data.write_h5ad(temporary)


def read_expression(path: str | Path) -> anndata.AnnData:
    """Read the expression of an age.

    Raises
    ------
    ValueError
        If the file is damaged, or is not one that `write_expression` wrote.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file.")
    try:
        data = anndata.read_h5ad(path)
    # A damaged file can fail anywhere inside HDF5 or anndata, with almost any error.
    except Exception as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise ValueError(f"{path}: should be a whole expression.h5ad ({reason}).") from error
    for part, names in (("obs", ("region", "x", "y", "z")), ("var", ("symbol", "gene_id"))):
        for name in names:
            if name not in getattr(data, part):
                raise ValueError(f"{path}: {part} should have a column {name}.")
    if data.obs["region_id"].dtype != np.int64 or data.var["gene_id"].dtype != np.int64:
        raise ValueError(f"{path}: region_id and gene_id should be int64, floats lose ids.")
    return data


def _storable(value: Any) -> Any:
    return np.array(value, dtype=str) if isinstance(value, list | tuple) else value
