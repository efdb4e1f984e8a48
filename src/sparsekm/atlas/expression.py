"""From the stored files of an age to its voxel x gene matrix, raw and normalised.

``expression.h5ad``: X is float32 energy, NaN where no section covers the voxel. obs has region
(acronym), region_id and the grid indices x, y, z; var symbol, name, entrez_id, gene_id,
section_data_set_ids (joined by ``;``) and the planted truth, if any; ``obsm["spatial"]`` is in
millimetres; ``uns["regions"]`` tabulates regions, ``uns["provenance"]`` source, grid, settings and
counts of ``voxels`` per class, of ``section_data_sets`` left out and of ``genes`` without a grid.

``normalised.h5ad``: missing values are filled after the transform, so that a value filled with the
gene's mean has a z-score of exactly 0 and favours no cluster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar

import anndata
import numpy as np
import pandas as pd
from scipy.special import expit

from sparsekm.atlas import NO_DATA, REGION_LEVEL, annotation_file, listing, retrieval
from sparsekm.atlas.grid import GridError, read_annotation, read_energy
from sparsekm.io.hdf5_format import DamagedFileError, find_array, open_checked, read_parts
from sparsekm.io.input_error import InputError
from sparsekm.io.tables import TABLES
from sparsekm.pipeline.provenance import package_versions
from sparsekm.pipeline.scales import standardise

T = TypeVar("T")


def assemble_age(
    folder: str | Path,
    ontology: listing.Ontology,
    age: str,
    *,
    level: int = REGION_LEVEL,
    tissue: Collection[str] = ("brain", "spinal_cord"),
    plane: str = "sagittal",
    replicates: str = "delegate",
    origin: Mapping[str, Any] | None = None,
) -> anndata.AnnData:
    """Read the files of one age, which `retrieve_age` wrote to `folder`, into a matrix.

    `level` and `tissue` are described in `map_regions`, and `replicates` in `choose_replicates`.
    `origin` is stored in the provenance. A file that is damaged or differs from the manifest is a
    `GridError` or an `EnvelopeError`.
    """
    folder = Path(folder)
    files = _Files(folder)
    annotation = files.read(annotation_file(age), read_annotation)
    voxels = listing.map_regions(annotation.values, ontology, level=level, tissue=tissue)
    listed = listing.parse_listing(*listing.read_rows(folder / retrieval.LISTING_FILE))
    usable, excluded = listing.select_candidates(listed, age, plane=plane)
    energies = files.manifest[files.manifest["role"] == "energy"]
    has_grid = usable["id"].isin(energies["section_data_set_id"][energies["status"] == "ok"])
    genes = _choose(usable[has_grid], replicates)
    if genes.empty:
        raise InputError(f"{folder}: n_genes=0 with a usable grid; it should be >= 1.")
    X = np.empty((len(voxels.index), len(genes)), dtype=np.float32)
    # Memory holds the matrix and the grids of one gene.
    for column, ids in enumerate(genes["section_data_set_ids"].str.split(";")):
        read = [files.read(retrieval.energy_file(item), read_energy) for item in ids]
        X[:, column] = average_energies([volume.values.ravel()[voxels.index] for volume in read])
    place = np.array(np.unravel_index(voxels.index, annotation.values.shape)[::-1]).T
    regions = voxels.table["acronym"].tolist()
    obs = pd.DataFrame(place, pd.Index(voxels.index.astype(str), name="voxel"), [*"xyz"])
    obs.insert(0, "region", pd.Categorical.from_codes(voxels.region, categories=regions))
    obs.insert(1, "region_id", voxels.table["id"].to_numpy()[voxels.region])
    unusable = Counter(energies["status"])
    told = {"level": level, "tissue": np.array(list(tissue), dtype=str)}
    provenance = {
        **(origin or {}),
        "dataset": age,
        "age": age,
        "units": "expression energy; NaN is no data",
        "spacing_um": np.array(annotation.spacing, dtype=float),
        "dims": np.array(annotation.dims, dtype=np.int64),
        "settings": told | {"plane": plane, "replicates": replicates},
        "counts": {
            "voxels": voxels.counts,
            "section_data_sets": {**excluded, **{s: unusable[s] for s in retrieval.STATUSES[1:]}},
            "genes": {"without_grid": usable["gene_id"].nunique() - len(genes)},
        },
        "versions": package_versions(),
    }
    return anndata.AnnData(
        X=X,
        obs=obs,
        var=genes,
        obsm={"spatial": place * annotation.spacing / 1000.0},
        uns={"provenance": provenance, "regions": voxels.table},
    )


def _choose(usable: pd.DataFrame, rule: str) -> pd.DataFrame:
    """Tabulate the genes of data sets with a grid, and the data sets that represent them."""
    names = ["symbol", "name", "entrez_id", "gene_id"]
    genes = usable.drop_duplicates("gene_id")[names].reset_index(drop=True)
    genes["section_data_set_ids"] = [
        ";".join(map(str, listing.choose_replicates(items, rule)["id"]))
        for _, items in usable.groupby("gene_id", sort=False)
    ]
    # Symbols need not be unique, but the index of var should be.
    twice = genes["symbol"].duplicated(keep=False)
    longer = genes["symbol"] + " (" + genes["gene_id"].astype(str) + ")"
    return genes.set_index(pd.Index(genes["symbol"].mask(twice, longer), name="gene"))


def average_energies(energies: list[np.ndarray]) -> np.ndarray:
    """Average replicates (n_voxels,) over those with data (not -1); NaN if none has data."""
    values = np.array(energies, dtype=np.float64)
    valid = values != NO_DATA
    with np.errstate(invalid="ignore"):
        return (np.where(valid, values, 0).sum(axis=0) / valid.sum(axis=0)).astype(np.float32)


class _Files:
    """The stored files of a folder, each checked against the manifest when it is read."""

    def __init__(self, folder: Path):
        self._folder, self._path = folder, folder / retrieval.MANIFEST_FILE
        self.manifest = retrieval.read_manifest(self._path)
        self._digests = dict(zip(self.manifest["file"], self.manifest["sha256"], strict=True))

    def read(self, file: str, reader: Callable[[bytes, str], T]) -> T:
        if file not in self._digests:
            raise DamagedFileError(self._path, f"should list {file}", retrieval.MANIFEST.rule)
        path, wanted = self._folder / file, self._digests[file]
        remedy = f"Delete {self._path} and run again: damaged files are fetched again."
        try:
            body = path.read_bytes()
            found = reader(body, str(path))
        except (OSError, GridError) as error:
            raise GridError(f"{error} {remedy}") from error
        if (sha256 := retrieval.digest(body)) != wanted:
            told = f"sha256={sha256[:12]}... should be {wanted[:12]}..."
            raise GridError(f"{path}: {told}, as in {self._path.name}. {remedy}")
        return found


def read_tables(folder: str | Path) -> tuple[listing.Ontology, pd.DataFrame]:
    """Read the structure tree and the genes, which `retrieve_tables` wrote to `folder`."""
    files = _Files(Path(folder))
    tree, genes = (files.read(f"{role}.json", listing.parse_rows) for role in ("ontology", "genes"))
    return listing.parse_ontology(*tree), listing.parse_genes(*genes)


def add_truth(data: anndata.AnnData, truth_file: str | Path) -> None:
    """Add the planted truth to var, if its file exists."""
    path = Path(truth_file)
    if path.is_file():
        truth = TABLES["truth.csv"].read(path).set_index("gene_id").loc[data.var["gene_id"]]
        for name in ("relevant", "planted_kind", "planted_regions"):
            data.var[name] = truth[name.removeprefix("planted_")].to_numpy()


def read_expression(path: str | Path) -> anndata.AnnData:
    """Read the expression of an age from a file written by rule assemble_expression."""
    with open_checked(path, "assemble_expression") as opened:
        parts = read_parts(opened)
        shape = (len(parts["obs"]), len(parts["var"]))
        X = find_array(opened, "X", kind="f", shape=shape)[()]
        return anndata.AnnData(X=X, **parts)


def screen_expression(
    X: np.ndarray, *, max_missing_per_gene: float = 0.3, max_missing_per_voxel: float = 0.3
) -> tuple[np.ndarray, np.ndarray]:
    """Find the voxels and genes whose share of missing values, NaN, is below the thresholds.

    Return which voxels are kept, and for each gene why it is dropped: "missing", "constant" (its
    measured values do not vary over the kept voxels), or "" if it is kept. A share equal to the
    threshold is too large. Both shares refer to the full matrix.
    """
    missing = np.isnan(X)
    voxels = missing.mean(axis=1) < max_missing_per_voxel
    kept = X[voxels]
    lowest = np.fmin.reduce(kept, axis=0, initial=np.inf)
    varies = np.fmax.reduce(kept, axis=0, initial=-np.inf) > lowest
    lacking = missing.mean(axis=0) >= max_missing_per_gene
    reasons = np.select([lacking, ~varies], ["missing", "constant"], "").astype(object)
    n_genes = int((reasons == "").sum())
    if not voxels.any() or not n_genes:
        raise ValueError(
            f"n_voxels={voxels.sum()} and n_genes={n_genes} after quality control should be >= 1 "
            f"with {max_missing_per_gene=} and {max_missing_per_voxel=}."
        )
    return voxels, reasons


def transform_energies(X: np.ndarray, name: str) -> None:
    """Transform energies (n_voxels, n_genes), non-negative or NaN, in place.

    ``none`` leaves them unchanged, ``log2`` is log2(x + 1), and ``robust_sigmoid`` scales the
    measured values of every gene, z = 1 / (1 + exp(-(x - median) / (IQR / 1.35))), to [0, 1]
    (Fulcher, Little & Jones 2013, doi:10.1098/rsif.2013.0048). If IQR = 0, mean and standard
    deviation (ddof = 1) replace median and IQR / 1.35. A constant gene becomes 0. If 0 is the
    lowest energy of a gene, it stays 0, so that filling with zero afterwards means no expression.
    """
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


COMMON_GENES = TABLES["common_genes.csv"]
"""The file ``common_genes.csv``, with a further column for each age."""


def find_common_genes(
    expressions: Mapping[str, str | Path], **quality_control: float
) -> pd.DataFrame:
    """Tabulate which genes are common to several ages, and the reasons of the others.

    A gene is common if at every age it has a grid and passes `screen_expression` with these
    thresholds. For each age the reason is "absent", "missing", "constant", or "" if the gene
    passes.
    """
    columns, symbols = {}, {}
    for age, path in expressions.items():
        data = read_expression(path)
        var = data.var.set_index("gene_id")["symbol"]
        columns[age] = pd.Series(screen_expression(data.X, **quality_control)[1], var.index)
        symbols |= var.to_dict()
        del data
    reasons = pd.DataFrame(columns).sort_index().fillna("absent")
    reasons.insert(0, "common", (reasons == "").all(axis=1))
    reasons.insert(0, "gene", reasons.index.map(symbols))
    return reasons.rename_axis("gene_id").reset_index()


def read_common_genes(path: str | Path) -> set[int]:
    """Read the ids of the common genes."""
    table = COMMON_GENES.read(path)
    return set(table.loc[table["common"], "gene_id"].tolist())


_DROPPED = ("missing", "constant", "not_common")


def normalise_age(
    data: anndata.AnnData,
    *,
    fill: str = "gene_mean",
    transform: str = "none",
    genes: Collection[int] | None = None,
    **quality_control: float,
) -> anndata.AnnData:
    """Screen, transform, fill and standardise the expression of an age in a copy.

    See `screen_expression` for the thresholds of `quality_control`, `transform_energies` and
    `fill_missing`. `genes` are the ids of the genes that may be kept, for instance those common to
    all ages. obs gets ``label``, the region, and uns ``dropped_genes``: gene, gene_id and reason.
    """
    voxels, reasons = screen_expression(data.X, **quality_control)
    if genes is not None:
        # A gene may pass at this age and be missing at another age.
        reasons[(reasons == "") & ~data.var["gene_id"].isin(list(genes))] = "not_common"
        if not (reasons == "").any():
            raise ValueError("n_genes=0 common genes pass quality control; it should be >= 1.")
    obs = data.obs[voxels].copy()
    obs["region"] = obs["region"].cat.remove_unused_categories()
    obs["label"] = obs["region"]
    kept = np.flatnonzero(reasons == "")
    X = data.X[np.ix_(voxels, kept)].astype(np.float32, copy=False)
    transform_energies(X, transform)
    n_filled = fill_missing(X, fill, obs["region"].cat.codes.to_numpy())
    if fill == "none" and n_filled:
        row, column = np.argwhere(np.isnan(X))[0]
        raise ValueError(
            f"fill='none' leaves {n_filled} missing values; there should be none. The first is for "
            f"gene {data.var_names[kept[column]]} at row {row}. Choose another fill, or lower "
            "max_missing_per_gene."
        )
    mean, deviation = standardise(X)
    varies = deviation > 0
    # These genes are constant except for rounding.
    reasons[kept[~varies]] = "constant"
    is_kept = reasons == ""
    provenance = {
        **data.uns["provenance"],
        "n_voxels_dropped": int((~voxels).sum()),
        **{f"n_genes_dropped_{why}": int((reasons == why).sum()) for why in _DROPPED},
        "normalisation": quality_control
        | {"fill": fill, "transform": transform, "scale": "z-score, ddof = 1"},
        "units": "z-score",
        "n_values_filled": n_filled,
    }
    regions = data.uns["regions"]
    n_voxels = regions["acronym"].map(obs["region"].value_counts()).fillna(0).astype(np.int64)
    regions = regions.assign(n_voxels=n_voxels)
    lost = data.var.loc[~is_kept, ["gene_id"]].assign(reason=reasons[~is_kept])
    return anndata.AnnData(
        X=X if varies.all() else X[:, varies],
        obs=obs,
        var=data.var[is_kept].assign(mean=mean[varies], deviation=deviation[varies]),
        obsm={"spatial": data.obsm["spatial"][voxels]},
        uns={
            "provenance": provenance,
            "regions": regions[n_voxels > 0].reset_index(drop=True),
            "dropped_genes": lost.rename_axis("gene").reset_index(),
        },
    )


def fill_missing(X: np.ndarray, method: str, regions: np.ndarray) -> int:
    """Fill the NaN in X (n_voxels, n_genes; float32) in place, and return their number.

    ``none`` leaves them; ``zero`` and ``gene_mean`` fill with these values. ``region_mean`` fills
    with the mean of the gene over the voxels of the region with data or, if there are none, over
    all voxels.
    """
    missing = np.isnan(X)
    n_missing = int(missing.sum())
    if method == "zero":
        X[missing] = 0
    if not method.endswith("mean"):
        return n_missing
    code = np.unique(regions, return_inverse=True)[1] * (method == "region_mean")
    for gene in np.flatnonzero(missing.any(axis=0)):
        gaps, values = missing[:, gene], X[:, gene]
        known = values[~gaps]
        totals = np.bincount(code[~gaps], known, minlength=code.max() + 1)
        sizes = np.bincount(code[~gaps], minlength=code.max() + 1)
        overall = totals.sum() / sizes.sum()
        means = np.where(sizes > 0, totals / np.maximum(sizes, 1), overall)
        values[gaps] = means[code[gaps]]
    return n_missing
