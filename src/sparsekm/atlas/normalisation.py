"""From the raw energies of an age to the matrix that is clustered.

The steps are: drop genes and voxels with too many missing values, and constant genes; transform the
energies; fill the remaining missing values; z-score each gene (ddof = 1). Filling comes after the
transform, so that a value filled with the gene's mean has a z-score of exactly 0 and favours no
cluster.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

import anndata
import numpy as np
import pandas as pd
from scipy.special import expit

from sparsekm.atlas.assembly import read_expression
from sparsekm.io.tables import FLAG, WHOLE, WORD, TableFormat
from sparsekm.pipeline.scales import zscore


class Screening(NamedTuple):
    """Result of the screening."""

    voxels: np.ndarray  # (n_voxels,), bool: kept rows
    # (n_genes,), object: why a gene is dropped, "missing" or "constant" (its measured values do not
    # vary over the kept voxels), or "" if it is kept.
    reasons: np.ndarray
    gene_missing: np.ndarray  # (n_genes,): share of voxels without data
    thresholds: dict[str, float]

    @property
    def genes(self) -> np.ndarray:
        """The kept columns, (n_genes,) bool."""
        return self.reasons == ""


def screen_expression(
    X: np.ndarray, *, max_missing_per_gene: float = 0.3, max_missing_per_voxel: float = 0.3
) -> Screening:
    """Find the genes and voxels whose share of missing values, NaN, is below the thresholds.

    A share equal to the threshold, in (0, 1], is too large. Both shares are those of the full
    matrix, so that the result does not depend on which is dropped first.
    """
    thresholds = {
        "max_missing_per_gene": max_missing_per_gene,
        "max_missing_per_voxel": max_missing_per_voxel,
    }
    for name, value in thresholds.items():
        if not 0 < value <= 1:
            raise ValueError(f"{name}={value} should be > 0 and <= 1.")
    missing = np.isnan(X)
    gene_missing, voxel_missing = missing.mean(axis=0), missing.mean(axis=1)
    voxels = voxel_missing < max_missing_per_voxel
    kept = X[voxels]
    lowest = np.fmin.reduce(kept, axis=0, initial=np.inf)
    varies = np.fmax.reduce(kept, axis=0, initial=-np.inf) > lowest
    lacking = gene_missing >= max_missing_per_gene
    reasons = np.select([lacking, ~varies], ["missing", "constant"], "").astype(object)
    screening = Screening(voxels, reasons, gene_missing, thresholds)
    if not voxels.any() or not screening.genes.any():
        raise ValueError(
            f"n_voxels={voxels.sum()} and n_genes={screening.genes.sum()} after quality control "
            f"should be >= 1 with {' and '.join(f'{k}={v}' for k, v in thresholds.items())}."
        )
    return screening


TRANSFORMS = ("none", "log2", "robust_sigmoid")
"""Each maps 0 to 0 if it is the lowest energy of a gene, so that filling with zero afterwards means
no expression."""


def transform_energies(X: np.ndarray, name: str) -> None:
    r"""Transform energies (n_voxels, n_genes), non-negative or NaN, in place.

    ``none`` leaves them unchanged, ``log2`` is log2(x + 1), and ``robust_sigmoid`` [1]_ maps the
    measured values of every gene, of median m and interquartile range IQR, to [0, 1], so that
    outliers have little influence:

    .. math:: z = \frac{1}{1 + \exp\left(-\frac{x - m}{\mathrm{IQR} / 1.35}\right)},
        \qquad y = \frac{z - \min z}{\max z - \min z}.

    For a normal distribution IQR / 1.35 is the standard deviation. If IQR = 0 (at least half of the
    values are equal), the mean replaces m and the standard deviation (ddof = 1) replaces
    IQR / 1.35. A constant gene becomes 0. Quantiles are interpolated linearly.

    References
    ----------
    .. [1] Fulcher, Little & Jones (2013). Highly comparative time-series analysis: the empirical
       structure of time series and their methods. J. R. Soc. Interface 10, 20130048.
       https://doi.org/10.1098/rsif.2013.0048
    """
    if name not in TRANSFORMS:
        raise ValueError(f"transform={name!r} should be one of {', '.join(TRANSFORMS)}.")
    if name == "log2":
        np.log1p(X, out=X)
        X /= np.float32(np.log(2))
    elif name == "robust_sigmoid":
        for column in X.T:
            measured = ~np.isnan(column)
            if measured.any():
                column[measured] = _squash_gene(column[measured].astype(np.float64))


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
    expressions: Mapping[str, str | Path], **quality_control: float
) -> pd.DataFrame:
    """Tabulate which genes are common to several ages, and why the others are not.

    A gene is common if at every age it has a grid and passes `screen_expression` with these
    thresholds. The files ``expression.h5ad`` are read one age at a time. Of each age the reason is
    "absent", "missing", "constant", or "" if the gene passes.
    """
    if not expressions:
        raise ValueError("n_ages=0 should be >= 1.")
    columns, symbols = {}, {}
    for age, path in expressions.items():
        data = read_expression(path)
        var = data.var.set_index("gene_id")["symbol"]
        columns[age] = pd.Series(screen_expression(data.X, **quality_control).reasons, var.index)
        symbols |= var.to_dict()
        del data
    reasons = pd.DataFrame(columns).sort_index().fillna("absent")
    common = (reasons == "").all(axis=1)
    if not common.any():
        raise ValueError(
            f"n_common=0 of {len(reasons)} genes at {', '.join(expressions)} should be >= 1."
        )
    reasons.insert(0, "gene", reasons.index.map(symbols))
    reasons.insert(1, "common", common)
    return reasons.rename_axis("gene_id").reset_index()


def read_common_genes(path: str | Path) -> set[int]:
    """Read the ids of the common genes."""
    table = COMMON_GENES.read(path)
    return set(table.loc[table["common"], "gene_id"].tolist())


FILLS = ("none", "zero", "gene_mean", "region_mean")
_DROPPED = ("missing", "constant", "not_common")


def normalise_age(
    data: anndata.AnnData,
    *,
    fill: str = "gene_mean",
    transform: str = "none",
    genes: Collection[int] | None = None,
    **quality_control: float,
) -> anndata.AnnData:
    """Screen, transform, fill and z-score the expression of an age, which stays as it is.

    `fill` is that of `fill_missing` (``none`` requires data without missing values), `transform`
    that of `transform_energies`; the thresholds of `quality_control` are those of
    `screen_expression`. `genes` are the ids of the genes that may be kept, for instance those
    common to all ages. obs gets ``label``, the region, and uns ``dropped_genes``: gene, gene_id,
    reason and missing share.
    """
    screening = screen_expression(data.X, **quality_control)
    voxels, reasons = screening.voxels, screening.reasons
    if genes is not None:
        # A gene that passes at this age is missing at another age.
        reasons[screening.genes & ~data.var["gene_id"].isin(list(genes))] = "not_common"
        if not screening.genes.any():
            raise ValueError("n_genes=0 of the common genes after quality control should be >= 1.")
    obs = data.obs[voxels].copy()
    obs["region"] = obs["region"].cat.remove_unused_categories()
    obs["label"] = obs["region"]
    kept = np.flatnonzero(screening.genes)
    X = data.X[np.ix_(voxels, kept)].astype(np.float32, copy=False)
    transform_energies(X, transform)
    n_filled = fill_missing(X, fill, obs["region"].cat.codes.to_numpy())
    if fill == "none" and n_filled:
        row, column = np.argwhere(np.isnan(X))[0]
        raise ValueError(
            f"fill='none' leaves n_missing={n_filled} values; it should be 0. The first is that of "
            f"gene {data.var_names[kept[column]]} at row {row}. Fill them, or lower "
            "max_missing_per_gene."
        )
    moments = zscore(X)
    varies = ~moments.constant
    # Genes that are constant except for rounding.
    reasons[kept[moments.constant]] = "constant"
    names = data.var_names.to_numpy(dtype=object)
    counts = {f"n_genes_dropped_{r}": int((reasons == r).sum()) for r in _DROPPED}
    provenance = {
        **data.uns["provenance"],
        "n_voxels_read": data.n_obs,
        "n_voxels_dropped": int((~voxels).sum()),
        "n_voxels": int(voxels.sum()),
        "n_genes_read": data.n_vars,
        **counts,
        "n_genes": int(screening.genes.sum()),
        "dropped_constant": names[reasons == "constant"].astype(str),
        "normalisation": screening.thresholds
        | {"fill": fill, "transform": transform, "scale": "z-score, ddof = 1"},
        "units": "z-score",
        "n_values_filled": n_filled,
    }
    regions = data.uns["regions"]
    n_voxels = regions["acronym"].map(obs["region"].value_counts()).fillna(0).astype(np.int64)
    regions = regions.assign(n_voxels=n_voxels)
    lost = pd.DataFrame({"gene": names, "gene_id": data.var["gene_id"].to_numpy()})
    lost = lost.assign(reason=reasons, missing=screening.gene_missing)
    return anndata.AnnData(
        X=X[:, varies] if moments.constant.any() else X,
        obs=obs,
        var=data.var[screening.genes].assign(
            mean=moments.mean[varies], deviation=moments.deviation[varies]
        ),
        obsm={"spatial": data.obsm["spatial"][voxels]},
        uns={
            "provenance": provenance,
            "regions": regions[n_voxels > 0].reset_index(drop=True),
            "dropped_genes": lost[~screening.genes].reset_index(drop=True),
        },
    )


def fill_missing(X: np.ndarray, method: str, regions: np.ndarray) -> int:
    """Fill the NaN in X (n_voxels, n_genes; float32) in place, and return their number.

    ``none`` leaves them; ``zero`` and ``gene_mean`` fill with these values; ``region_mean`` with
    the mean of the gene over the voxels of the region that have data or, without any, over all.
    """
    if method not in FILLS:
        raise ValueError(f"fill={method!r} should be one of {', '.join(FILLS)}.")
    missing = np.isnan(X)
    n_missing = int(missing.sum())
    if method == "zero":
        X[missing] = 0
    if method in ("none", "zero") or not n_missing:
        return n_missing
    _, code = np.unique(regions, return_inverse=True)
    if method == "gene_mean":
        code[:] = 0
    for gene in np.flatnonzero(missing.any(axis=0)):
        gaps, values = missing[:, gene], X[:, gene]
        known = values[~gaps]
        totals = np.bincount(code[~gaps], known, minlength=code.max() + 1)
        sizes = np.bincount(code[~gaps], minlength=code.max() + 1)
        overall = totals.sum() / sizes.sum()
        means = np.where(sizes > 0, totals / np.maximum(sizes, 1), overall)
        values[gaps] = means[code[gaps]]
    return n_missing
