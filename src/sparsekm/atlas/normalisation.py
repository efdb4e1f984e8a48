"""From the raw energies of an age to the matrix that is clustered.

Both shares of missing values are computed on the full matrix, so that the result does not depend on
which is dropped first.

A gene is common if at every age it has a grid and passes quality control: enough data, and not
constant. The matrices of all ages then have the same columns.

The steps are: drop genes and voxels with too many missing values, and constant genes; transform the
energies; fill the remaining missing values; z-score each gene (ddof = 1). Filling comes after the
transform, so that a value filled with the gene's mean has a z-score of exactly 0 and favours no
cluster.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
from scipy.special import expit

from sparsekm.atlas.assembly import read_expression
from sparsekm.io.tables import FLAG, WHOLE, WORD, TableFormat
from sparsekm.pipeline.zscore import zscore

_CELLS_AT_ONCE = 2**19


@dataclass(frozen=True)
class Screening:
    """Result of the screening."""

    voxels: np.ndarray  # (n_voxels,), bool: kept rows
    genes: np.ndarray  # (n_genes,), bool: kept columns: enough data, and not constant
    # (n_genes,), bool: genes with enough data whose measured values do not vary over the kept
    # voxels.
    constant: np.ndarray
    voxel_missing: np.ndarray  # (n_voxels,): share of genes without data
    gene_missing: np.ndarray  # (n_genes,): share of voxels without data
    max_missing_per_gene: float  # the threshold

    def reasons(self) -> np.ndarray:
        """Return why each gene is not kept: "missing", "constant", or "" if it passes."""
        missing = self.gene_missing >= self.max_missing_per_gene
        return np.select([missing, self.constant], ["missing", "constant"], "").astype(object)


def screen_expression(
    X: np.ndarray, *, max_missing_per_gene: float = 0.3, max_missing_per_voxel: float = 0.3
) -> Screening:
    """Find the genes and voxels whose share of missing values is below the thresholds.

    X has shape (n_voxels, n_genes), with NaN for missing values. Thresholds are in (0, 1]; a share
    equal to the threshold is too large.
    """
    for name, value in (
        ("max_missing_per_gene", max_missing_per_gene),
        ("max_missing_per_voxel", max_missing_per_voxel),
    ):
        if not 0 < value <= 1:
            raise ValueError(f"{name}={value} should be > 0 and <= 1.")
    missing = np.isnan(X)
    gene_missing, voxel_missing = missing.mean(axis=0), missing.mean(axis=1)
    voxels = voxel_missing < max_missing_per_voxel
    enough = gene_missing < max_missing_per_gene
    constant = enough & ~_varies(X, voxels)
    genes = enough & ~constant
    if not voxels.any() or not genes.any():
        raise ValueError(
            f"n_voxels={voxels.sum()} and n_genes={genes.sum()} after quality control should be "
            f">= 1 with max_missing_per_gene={max_missing_per_gene} and "
            f"max_missing_per_voxel={max_missing_per_voxel}."
        )
    return Screening(voxels, genes, constant, voxel_missing, gene_missing, max_missing_per_gene)


def row_blocks(shape: tuple[int, int]) -> list[slice]:
    """Divide the rows of a matrix into blocks that limit the memory of a step."""
    n_rows, n_columns = shape
    step = max(1, _CELLS_AT_ONCE // max(1, n_columns))
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


def _varies(X: np.ndarray, voxels: np.ndarray) -> np.ndarray:
    """Return whether each gene has two different values among the kept voxels."""
    kept = X[voxels]
    return np.fmax.reduce(kept, axis=0, initial=-np.inf) > np.fmin.reduce(
        kept, axis=0, initial=np.inf
    )


TRANSFORMS = ("none", "log2", "robust_sigmoid")
"""Each maps 0 to 0 if it is the lowest energy of a gene, so that filling with zero afterwards means
no expression."""


def transform_energies(X: np.ndarray, name: str) -> None:
    """Transform energies (n_voxels, n_genes), non-negative or NaN, in place.

    ``none`` leaves them unchanged, ``log2`` is log2(x + 1), and ``robust_sigmoid`` maps every gene
    to [0, 1] by `scaled_robust_sigmoid`.
    """
    if name not in TRANSFORMS:
        raise ValueError(f"transform={name!r} should be one of {', '.join(TRANSFORMS)}.")
    if name == "log2":
        np.log1p(X, out=X)
        X /= np.float32(np.log(2))
    elif name == "robust_sigmoid":
        for gene in range(X.shape[1]):
            X[:, gene] = scaled_robust_sigmoid(X[:, [gene]])[:, 0]


def scaled_robust_sigmoid(values: np.ndarray) -> np.ndarray:
    r"""Map the measured values of genes to [0, 1], so that outliers have little influence.

    With the median m and the interquartile range IQR of a gene's measured values,

    .. math:: z = \frac{1}{1 + \exp\left(-\frac{x - m}{\mathrm{IQR} / 1.35}\right)},
        \qquad y = \frac{z - \min z}{\max z - \min z}.

    For a normal distribution IQR / 1.35 is the standard deviation. If IQR = 0 (at least half of the
    values are equal), the mean replaces m and the standard deviation (ddof = 1) replaces
    IQR / 1.35. A constant gene becomes 0. Quantiles are interpolated linearly.
    `values` has the shape (n_voxels, n_genes); missing values are NaN and remain so.

    References
    ----------
    .. [1] Fulcher, Little & Jones (2013). Highly comparative time-series analysis: the empirical
       structure of time series and their methods. J. R. Soc. Interface 10, 20130048.
       https://doi.org/10.1098/rsif.2013.0048
    """
    squashed = np.full(values.shape, np.nan)
    for gene in range(values.shape[1]):
        measured = ~np.isnan(values[:, gene])
        x = values[measured, gene].astype(np.float64)
        if len(x):
            squashed[measured, gene] = _squash_gene(x)
    return squashed


def _squash_gene(x: np.ndarray) -> np.ndarray:
    if x.min() == x.max():
        return np.zeros_like(x)
    low, middle, high = np.quantile(x, [0.25, 0.5, 0.75])
    scale = (high - low) / 1.35
    if scale == 0:
        middle, scale = x.mean(), x.std(ddof=1)
    z = expit((x - middle) / scale)
    return (z - z.min()) / (z.max() - z.min())


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
    X = data.X[np.ix_(screening.voxels, screening.genes)].astype(np.float32, copy=False)
    transform_energies(X, transform)
    n_filled = fill_missing(X, fill, obs["region"].cat.codes.to_numpy())
    if fill == "none" and n_filled:
        _refuse_gaps(X, data.var_names[screening.genes], n_filled)
    moments = zscore(X)
    if moments.constant.any():
        screening = _drop_further(screening, moments.constant)
        X = X[:, ~moments.constant]
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
        var=data.var[screening.genes].assign(
            mean=moments.mean[~moments.constant], deviation=moments.deviation[~moments.constant]
        ),
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
    n_missing = int(np.count_nonzero(np.isnan(X)))
    if method == "none" or not n_missing:
        return n_missing
    _, code = np.unique(regions, return_inverse=True)
    if method != "region_mean":
        code = np.zeros(len(X), dtype=np.int64)
    values = np.zeros((1, X.shape[1])) if method == "zero" else _group_means(X, code)
    for gene in range(X.shape[1]):
        voxels = np.flatnonzero(np.isnan(X[:, gene]))
        X[voxels, gene] = values[code[voxels], gene]
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
