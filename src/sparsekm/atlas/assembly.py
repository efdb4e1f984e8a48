"""From the stored files of one age to its voxel x gene matrix, ``expression.h5ad``.

X is float32 energy, NaN where no section covers the voxel. obs has region (acronym), region_id and
the grid indices x, y, z; var symbol, name, entrez_id (nullable), gene_id, section_data_set_ids
(joined by ``;``) and, of simulated data, the planted truth (``relevant``, ``planted_kind``,
``planted_regions``); ``obsm["spatial"]`` is in millimetres; ``uns["regions"]`` has acronym, name,
id, color, tissue and n_voxels; ``uns["provenance"]`` has source, age, grid, settings and counts of
``voxels`` per class, of ``section_data_sets`` left out per reason or status in the manifest, and of
``genes`` (of those taken, how many have replicates, no delegate, or several).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar

import anndata
import numpy as np
import pandas as pd

from sparsekm.atlas import NO_DATA, REGION_LEVEL, get_age, listing, retrieval
from sparsekm.atlas.grid import GridError, read_annotation, read_energy
from sparsekm.atlas.ontology import Ontology, RegionMap, map_regions, parse_ontology
from sparsekm.io.hdf5_format import DamagedFileError, find_array, open_checked, read_parts
from sparsekm.io.input_error import InputError
from sparsekm.io.tables import FLAG, WHOLE, WORD, TableFormat, require_columns
from sparsekm.pipeline.provenance import package_versions

T = TypeVar("T")
_MICROMETRES_PER_MILLIMETRE = 1000.0


def assemble_age(
    folder: str | Path,
    ontology: Ontology,
    age: str,
    *,
    level: int = REGION_LEVEL,
    tissue: Collection[str] = ("brain", "spinal_cord"),
    plane: str = "sagittal",
    replicates: str = "delegate",
    origin: Mapping[str, Any] | None = None,
    progress: retrieval.Progress | None = None,
) -> anndata.AnnData:
    """Read the files of one age, which `retrieve_age` wrote to `folder`, into a matrix.

    Voxels are kept if their class is in `tissue`, of ``brain, spinal_cord, ventricle, tract``; they
    belong to their ancestor region at `level`, its ``st_level``. `replicates` is the rule of
    `choose_replicates` for a gene that has several data sets. `origin` is told in the provenance.

    If a file is damaged or differs from the manifest, raise a `GridError` or an `EnvelopeError`.
    """
    folder = Path(folder)
    files = _Files(folder)
    annotation = files.read(get_age(age).annotation_file, read_annotation)
    voxels = map_regions(annotation.values, ontology, level=level, tissue=tissue)
    listed = listing.parse_listing(*listing.read_rows(folder / retrieval.LISTING_FILE))
    usable, excluded = listing.select_candidates(listed, age, plane=plane)
    energies = files.manifest[files.manifest["role"] == "energy"]
    has_grid = usable["id"].isin(energies["section_data_set_id"][energies["status"] == "ok"])
    genes, gene_counts = _choose(usable.assign(has_grid=has_grid), replicates)
    if genes.empty:
        raise InputError(f"{folder}: n_genes=0 with a usable grid; it should be >= 1.")
    X = np.empty((len(voxels.index), len(genes)), dtype=np.float32)
    # Besides the matrix, the grids of one gene are in memory.
    for column, ids in enumerate(genes["section_data_set_ids"].str.split(";")):
        read = [files.read(retrieval.energy_file(item), read_energy) for item in ids]
        X[:, column] = average_energies([volume.values.ravel()[voxels.index] for volume in read])
        if progress is not None:
            progress(column + 1, len(genes))
    obs = _tabulate_voxels(voxels, annotation.dims)
    place = obs[["x", "y", "z"]].to_numpy(dtype=float) * annotation.spacing
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
            "genes": gene_counts,
        },
        "versions": package_versions(),
    }
    return anndata.AnnData(
        X=X,
        obs=obs,
        var=genes,
        obsm={"spatial": place / _MICROMETRES_PER_MILLIMETRE},
        uns={"provenance": provenance, "regions": voxels.table},
    )


def _tabulate_voxels(voxels: RegionMap, dims: tuple[int, int, int]) -> pd.DataFrame:
    """Tabulate region and grid indices of each voxel, named by its linear position."""
    nx, ny, _ = dims
    regions = list(voxels.table["acronym"])
    return pd.DataFrame(
        {
            "region": pd.Categorical.from_codes(voxels.region, categories=regions),
            "region_id": voxels.table["id"].to_numpy()[voxels.region],
            "x": voxels.index % nx,
            "y": voxels.index // nx % ny,
            "z": voxels.index // (nx * ny),
        },
        index=pd.Index(voxels.index.astype(str), name="voxel"),
    )


def _choose(usable: pd.DataFrame, rule: str) -> tuple[pd.DataFrame, dict[str, int]]:
    """Tabulate the genes with a grid, and the data sets that stand for them; count all genes."""
    names = ["symbol", "name", "entrez_id", "gene_id"]
    of_gene = usable.groupby("gene_id", sort=False)
    n_delegates, n_grids = of_gene["delegate"].sum(), of_gene["has_grid"].sum()
    taken = n_grids > 0
    counts = {
        "taken": taken,
        "without_grid": ~taken,
        "with_replicates": n_grids > 1,
        "without_delegate": taken & (n_delegates == 0),
        "with_several_delegates": taken & (n_delegates > 1),
    }
    usable = usable[usable["has_grid"]]
    genes = usable.drop_duplicates("gene_id")[names].reset_index(drop=True)
    genes["section_data_set_ids"] = [
        ";".join(map(str, listing.choose_replicates(items, rule)["id"]))
        for _, items in usable.groupby("gene_id", sort=False)
    ]
    # Symbols need not be unique, but the index of var should be.
    twice = genes["symbol"].duplicated(keep=False)
    longer = genes["symbol"] + " (" + genes["gene_id"].astype(str) + ")"
    index = pd.Index(genes["symbol"].mask(twice, longer), name="gene")
    return genes.set_index(index), {name: int(found.sum()) for name, found in counts.items()}


def average_energies(energies: list[np.ndarray]) -> np.ndarray:
    """Average replicates (n_voxels,) over those with data, which is not -1; NaN if none has."""
    total = np.zeros(len(energies[0]))
    measured = np.zeros(len(total), dtype=np.int64)
    for energy in energies:
        valid = energy != NO_DATA
        total += np.where(valid, energy, 0.0)
        measured += valid
    with np.errstate(invalid="ignore"):
        return (total / measured).astype(np.float32)


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


def read_tables(folder: str | Path) -> tuple[Ontology, pd.DataFrame]:
    """Read the structure tree and the genes, which `retrieve_tables` wrote to `folder`."""
    files = _Files(Path(folder))
    tree, genes = (files.read(f"{role}.json", listing.parse_rows) for role in ("ontology", "genes"))
    return parse_ontology(*tree), listing.parse_genes(*genes)


_RULE = "assemble_expression"
_COLUMNS = {"obs": ("region", "region_id", "x", "y", "z"), "var": ("symbol", "gene_id")}
_TRUTH = TableFormat(
    "retrieve_atlas",
    {"gene_id": WHOLE, "relevant": FLAG, "kind": WORD, "regions": WORD},
    others={"": WORD},
)


def add_truth(data: anndata.AnnData, truth_file: str | Path) -> None:
    """Add the planted truth to var, if its file exists."""
    path = Path(truth_file)
    if not path.is_file():
        return
    truth = _TRUTH.read(path).drop_duplicates("gene_id").set_index("gene_id")
    absent = sorted(set(data.var["gene_id"]) - set(truth.index))
    if absent:
        raise DamagedFileError(path, f"should contain gene_id={absent[0]}", _TRUTH.rule)
    planted = truth.loc[data.var["gene_id"]]
    for name in ("relevant", "planted_kind", "planted_regions"):
        data.var[name] = planted[name.removeprefix("planted_")].to_numpy()


def read_expression(path: str | Path) -> anndata.AnnData:
    """Read the expression of an age from a file written by rule assemble_expression."""
    with open_checked(path, _RULE) as opened:
        parts = read_parts(opened, _RULE)
        for part, names in _COLUMNS.items():
            require_columns(path, parts[part], names, _RULE)
        shape = (len(parts["obs"]), len(parts["var"]))
        X = find_array(opened, "X", kind="f", shape=shape)[()]
        return anndata.AnnData(X=X, **parts)
