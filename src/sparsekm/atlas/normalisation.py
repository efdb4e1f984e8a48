"""From the raw energies of an age to the matrix that is clustered.

The steps are: drop genes and voxels with too many missing values, and constant genes; transform the
energies; fill the remaining missing values; z-score each gene (ddof = 1). Filling comes after the
transform, so that a value filled with the gene's mean has a z-score of exactly 0 and favours no
cluster.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import anndata
import numpy as np
import pandas as pd

from sparsekm.atlas.quality_control import (
    Screening,
    drop_columns,
    row_blocks,
    screen_expression,
    take_submatrix,
)
from sparsekm.atlas.transforms import transform_energies
from sparsekm.pipeline.zscore import zscore

FILLS = ("none", "zero", "gene_mean", "region_mean")


def normalise_age(
    data: anndata.AnnData,
    *,
    max_missing_per_gene: float = 0.3,
    max_missing_per_voxel: float = 0.3,
    fill: str = "gene_mean",
    transform: str = "none",
    genes: Collection[int] | None = None,
) -> anndata.AnnData:
    """Screen, transform, fill and z-score the expression of an age.

    This uses about twice the memory of the raw matrix and leaves `data` unchanged. The thresholds
    are those of `screen_expression`, `fill` is that of `fill_missing` (``none`` requires data
    without missing values), and `transform` that of `transform_energies`. `genes` are the ids of
    the genes that may be kept, for instance those common to all ages.

    In the result X is float32; obs has ``label``, the region; ``uns["regions"]`` has the remaining
    voxels per region; ``uns["dropped_genes"]`` has gene, gene_id, reason and missing share; and
    ``uns["provenance"]`` also has settings and counts.
    """
    screening = screen_expression(
        data.X,
        max_missing_per_gene=max_missing_per_gene,
        max_missing_per_voxel=max_missing_per_voxel,
    )
    if genes is not None:
        screening = _restrict(screening, data.var["gene_id"].isin(list(genes)).to_numpy())
    obs = data.obs[screening.voxels].copy()
    obs["region"] = obs["region"].cat.remove_unused_categories()
    obs["label"] = obs["region"]
    X = take_submatrix(data.X, screening.voxels, screening.genes)
    transform_energies(X, transform)
    n_filled = fill_missing(X, fill, obs["region"].cat.codes.to_numpy())
    if fill == "none" and n_filled:
        _refuse_gaps(X, data.var_names[screening.genes], n_filled)
    constant = zscore(X)
    if constant.any():
        screening = _drop_further(screening, constant)
        X = drop_columns(X, constant)
    settings = {
        "max_missing_per_gene": max_missing_per_gene,
        "max_missing_per_voxel": max_missing_per_voxel,
        "fill": fill,
        "transform": transform,
        "scale": "z-score, ddof = 1",
    }
    dropped = _tabulate_dropped(data, screening)
    return anndata.AnnData(
        X=X,
        obs=obs,
        var=data.var[screening.genes].copy(),
        obsm={"spatial": data.obsm["spatial"][screening.voxels]},
        uns={
            "provenance": _extend_provenance(data, screening, dropped, n_filled, settings),
            "regions": _recount(data.uns["regions"], obs["region"]),
            "dropped_genes": dropped,
        },
    )


def _restrict(screening: Screening, wanted: np.ndarray) -> Screening:
    """Keep only wanted genes; the flags for missing and constant genes do not change."""
    genes = screening.genes & wanted
    if not genes.any():
        raise ValueError("n_genes=0 of the common genes after quality control should be >= 1.")
    return replace(screening, genes=genes)


def _refuse_gaps(X: np.ndarray, names: pd.Index, n_missing: int) -> None:
    row, column = np.argwhere(np.isnan(X))[0]
    raise ValueError(
        f"fill='none' leaves n_missing={n_missing} values; it should be 0. The first is that of "
        f"gene {names[column]} at row {row}. Fill them, or lower max_missing_per_gene."
    )


def _drop_further(screening: Screening, constant: np.ndarray) -> Screening:
    """Mark genes that are constant except for rounding."""
    flagged = screening.constant.copy()
    flagged[np.flatnonzero(screening.genes)[constant]] = True
    return replace(screening, genes=screening.genes & ~flagged, constant=flagged)


def _tabulate_dropped(data: anndata.AnnData, screening: Screening) -> pd.DataFrame:
    dropped = ~screening.genes
    reasons = screening.reasons()
    # A gene that passes at this age is missing at another age.
    reasons[dropped & (reasons == "")] = "not_common"
    return pd.DataFrame(
        {
            "gene": data.var_names[dropped].to_numpy(dtype=object),
            "gene_id": data.var["gene_id"].to_numpy()[dropped],
            "reason": reasons[dropped],
            "missing": screening.gene_missing[dropped],
        }
    )


def _extend_provenance(
    data: anndata.AnnData,
    screening: Screening,
    dropped: pd.DataFrame,
    n_filled: int,
    settings: dict,
) -> dict:
    return {
        **data.uns["provenance"],
        "normalisation": settings,
        "units": "z-score",
        "n_voxels_read": data.n_obs,
        "n_voxels_dropped": int(np.count_nonzero(~screening.voxels)),
        "n_voxels": int(np.count_nonzero(screening.voxels)),
        "n_genes_read": data.n_vars,
        "n_genes_dropped_missing": int((dropped["reason"] == "missing").sum()),
        "n_genes_dropped_constant": int((dropped["reason"] == "constant").sum()),
        "n_genes_dropped_not_common": int((dropped["reason"] == "not_common").sum()),
        "n_genes": int(np.count_nonzero(screening.genes)),
        "n_values_filled": n_filled,
        "dropped_constant": dropped.loc[dropped["reason"] == "constant", "gene"].to_numpy(
            dtype=str
        ),
    }


def _recount(regions: pd.DataFrame, kept: pd.Series) -> pd.DataFrame:
    table = regions.copy()
    table["n_voxels"] = table["acronym"].map(kept.value_counts()).fillna(0).astype(np.int64)
    return table[table["n_voxels"] > 0].reset_index(drop=True)


def fill_missing(X: np.ndarray, method: str, regions: np.ndarray) -> int:
    """Fill the NaN in X (n_voxels, n_genes; float32) in place, and return their number.

    ``none`` leaves them; ``zero`` and ``gene_mean`` fill with these values. ``region_mean`` is the
    mean of the gene over the voxels of the same region that have data or, if there are none, over
    all voxels. Missing values never enter a mean. `regions`, of shape (n_voxels,), may have any
    sortable type.
    """
    if method not in FILLS:
        raise ValueError(f"fill={method!r} should be one of {', '.join(FILLS)}.")
    n_missing = sum(int(np.isnan(X[rows]).sum()) for rows in row_blocks(X.shape))
    if method == "none" or not n_missing:
        return n_missing
    if method == "zero":
        for rows in row_blocks(X.shape):
            np.nan_to_num(X[rows], copy=False, nan=0.0)
        return n_missing
    _, code = np.unique(regions, return_inverse=True)
    if method == "gene_mean":
        code = np.zeros(len(X), dtype=np.int64)
    means = _group_means(X, code)
    for rows in row_blocks(X.shape):
        block = X[rows]
        at_row, at_column = np.nonzero(np.isnan(block))
        block[at_row, at_column] = means[code[rows][at_row], at_column]
    return n_missing


def _group_means(X: np.ndarray, code: np.ndarray) -> np.ndarray:
    """Return the means of the measured values, of shape (n_groups, n_genes)."""
    n_groups = int(code.max()) + 1
    total = np.zeros((n_groups, X.shape[1]))
    measured = np.zeros((n_groups, X.shape[1]), dtype=np.int64)
    for rows in row_blocks(X.shape):
        valid = ~np.isnan(X[rows])
        values = np.where(valid, X[rows], 0)
        for group in np.unique(code[rows]):
            members = code[rows] == group
            total[group] += values[members].sum(axis=0, dtype=np.float64)
            measured[group] += valid[members].sum(axis=0)
    everywhere = measured.sum(axis=0)
    if not everywhere.all():
        raise ValueError(
            f"gene at column {int(np.argmin(everywhere))} should have a measured value."
        )
    overall = total.sum(axis=0) / everywhere
    return np.where(measured > 0, total / np.maximum(measured, 1), overall)
