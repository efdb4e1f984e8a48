"""From the stored files of one age to its voxel x gene matrix, ``expression.h5ad``.

X is float32 energy, NaN where no section covers the voxel. obs has region (acronym), region_id and
the grid indices x, y, z; var symbol, name, entrez_id (nullable), gene_id, section_data_set_ids
(joined by ``;``) and, of simulated data, the planted truth (``relevant``, ``planted_kind``,
``planted_regions``); ``obsm["spatial"]`` is in millimetres; ``uns["regions"]`` has acronym, name,
id, color, tissue and n_voxels; ``uns["provenance"]`` has source, age, grid, settings and counts of
``voxels`` per class, of ``section_data_sets`` left out per reason or status in the manifest, and of
``genes``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar

import anndata
import numpy as np
import pandas as pd

from sparsekm.atlas import listing, retrieval
from sparsekm.atlas.grid import GridError, Volume, read_annotation, read_energy
from sparsekm.atlas.ontology import Ontology, RegionMap, map_regions, parse_ontology
from sparsekm.atlas.vocabulary import NO_DATA, REGION_LEVEL, get_age
from sparsekm.io.hdf5_format import DamagedFileError, find_array, open_checked, read_parts
from sparsekm.io.input_error import InputError
from sparsekm.io.tables import FLAG, WHOLE, WORD, TableFormat, require_columns
from sparsekm.pipeline.provenance import package_versions

T = TypeVar("T")

GENE_COUNTS = (
    *("taken", "without_grid"),
    *("with_replicates", "without_delegate", "with_several_delegates"),
)
"""Counts of genes; the last three are subsets of the first."""


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

    If a file is damaged, differs from the manifest, or has different dimensions from the
    annotation, raise a `GridError` or an `EnvelopeError`.
    """
    folder = Path(folder)
    files = _Files(folder, retrieval.read_manifest(folder / retrieval.MANIFEST_FILE))
    annotation = files.read_annotation(get_age(age).annotation_file)
    voxels = map_regions(annotation.values, ontology, level=level, tissue=tissue)
    listed = listing.parse_listing(*listing.read_rows(folder / retrieval.LISTING_FILE))
    candidates, excluded = listing.select_candidates(listed, age, plane=plane)
    chosen, gene_counts = _choose(candidates, files, replicates)
    if not chosen:
        raise InputError(f"{folder}: n_genes=0 with a usable grid; it should be >= 1.")
    X = np.empty((len(voxels.index), len(chosen)), dtype=np.float32)
    # Besides the matrix, the grids of one gene are in memory.
    for column, items in enumerate(chosen.values()):
        read = [files.read_energy(item.id, annotation.dims) for item in items]
        X[:, column] = average_energies([volume.values.ravel()[voxels.index] for volume in read])
        if progress is not None:
            progress(column + 1, len(chosen))
    obs = _tabulate_voxels(voxels, annotation.dims)
    place = obs[["x", "y", "z"]].to_numpy(dtype=float) * annotation.spacing
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
            "section_data_sets": {**excluded, **files.count_unusable()},
            "genes": gene_counts,
        },
        "versions": package_versions(),
    }
    return anndata.AnnData(
        X=X,
        obs=obs,
        var=_tabulate_genes(chosen),
        obsm={"spatial": place / _MICROMETRES_PER_MILLIMETRE},
        uns={"provenance": provenance, "regions": voxels.table},
    )


def read_tables(folder: str | Path) -> tuple[Ontology, pd.DataFrame]:
    """Read the structure tree and the genes, which `retrieve_tables` wrote to `folder`."""
    manifest = Path(folder) / retrieval.MANIFEST_FILE
    entries = retrieval.read_manifest(manifest)
    files, by_role = _Files(Path(folder), entries), {entry.role: entry for entry in entries}
    if not {"ontology", "genes"} <= by_role.keys():
        raise DamagedFileError(manifest, "should list ontology and genes", "retrieve_ontology")
    tree, genes = (files.read(by_role[role], listing.parse_rows) for role in ("ontology", "genes"))
    return parse_ontology(*tree), listing.parse_genes(*genes)


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


def _tabulate_voxels(voxels: RegionMap, dims: tuple[int, int, int]) -> pd.DataFrame:
    """Tabulate region and grid indices of each voxel, named by its linear position."""
    nx, ny, _ = dims
    acronyms = voxels.table["acronym"]
    return pd.DataFrame(
        {
            "region": pd.Categorical.from_codes(voxels.region, categories=list(acronyms)),
            "region_id": voxels.table["id"].to_numpy()[voxels.region],
            "x": voxels.index % nx,
            "y": voxels.index // nx % ny,
            "z": voxels.index // (nx * ny),
        },
        index=pd.Index(voxels.index.astype(str), name="voxel"),
    )


class _Files:
    """The stored files of an age, each checked against the manifest when it is read."""

    def __init__(self, folder: Path, entries: list[retrieval.ManifestEntry]):
        self._folder = folder
        self._annotations = {e.file: e for e in entries if e.role == "annotation"}
        self._energies = {e.section_data_set_id: e for e in entries if e.role == "energy"}

    def has_grid(self, section_data_set_id: int) -> bool:
        entry = self._energies.get(section_data_set_id)
        return entry is not None and entry.status == "ok"

    def count_unusable(self) -> dict[str, int]:
        """Count the data sets without a grid, by status."""
        found = Counter(entry.status for entry in self._energies.values())
        return {status: found[status] for status in retrieval.STATUSES if status != "ok"}

    def read_annotation(self, file: str) -> Volume:
        if file not in self._annotations:
            manifest = self._folder / retrieval.MANIFEST_FILE
            raise DamagedFileError(manifest, f"should list {file}", "retrieve_atlas")
        return self.read(self._annotations[file], read_annotation)

    def read_energy(self, section_data_set_id: int, dims: tuple[int, int, int]) -> Volume:
        entry = self._energies[section_data_set_id]
        volume = self.read(entry, read_energy)
        if volume.dims != dims:
            raise GridError(
                f"{self._folder / entry.file}: DimSize={volume.dims} should equal the "
                f"annotation's {dims}."
            )
        return volume

    def read(self, entry: retrieval.ManifestEntry, reader: Callable[[bytes, str], T]) -> T:
        path, manifest = self._folder / entry.file, self._folder / retrieval.MANIFEST_FILE
        remedy = f"Delete {manifest} and run again: damaged files are fetched again."
        try:
            body = path.read_bytes()
            found = reader(body, str(path))
        except (OSError, GridError) as error:
            raise GridError(f"{error} {remedy}") from error
        found_digest = retrieval.digest(body)
        if found_digest != entry.sha256:
            raise GridError(
                f"{path}: sha256={found_digest[:12]}... should be {entry.sha256[:12]}..., as in "
                f"{manifest.name}. {remedy}"
            )
        return found


def _choose(
    candidates: dict[listing.Gene, list[listing.SectionDataSet]],
    files: _Files,
    rule: str,
) -> tuple[dict[listing.Gene, list[listing.SectionDataSet]], dict[str, int]]:
    chosen = {}
    counts = dict.fromkeys(GENE_COUNTS, 0)
    for gene, items in candidates.items():
        readable = [item for item in items if files.has_grid(item.id)]
        if not readable:
            counts["without_grid"] += 1
            continue
        chosen[gene] = listing.choose_replicates(readable, rule)
        counts["taken"] += 1
        counts["with_replicates"] += len(readable) > 1
        n_delegates = sum(item.delegate for item in items)
        counts["without_delegate"] += n_delegates == 0
        counts["with_several_delegates"] += n_delegates > 1
    return chosen, counts


def _tabulate_genes(chosen: dict[listing.Gene, list[listing.SectionDataSet]]) -> pd.DataFrame:
    genes = list(chosen)
    symbols = pd.Series([gene.symbol for gene in genes], dtype=object)
    # Symbols need not be unique, but the index of var should be.
    twice = symbols.duplicated(keep=False)
    index = symbols.where(~twice, [f"{gene.symbol} ({gene.id})" for gene in genes])
    used = [";".join(str(item.id) for item in items) for items in chosen.values()]
    return pd.DataFrame(
        {
            "symbol": symbols.to_numpy(),
            "name": [gene.name for gene in genes],
            "entrez_id": pd.array([gene.entrez_id for gene in genes], dtype="Int64"),
            "gene_id": np.array([gene.id for gene in genes], dtype=np.int64),
            "section_data_set_ids": used,
        },
        index=pd.Index(index, name="gene"),
    )


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
    truth = _TRUTH.read(path)
    if truth["gene_id"].duplicated().any():
        raise DamagedFileError(path, "each gene_id should occur once", _TRUTH.rule)
    truth = truth.set_index("gene_id")
    absent = sorted(set(data.var["gene_id"]) - set(truth.index))
    if absent:
        raise DamagedFileError(path, f"should contain gene_id={absent[0]}", _TRUTH.rule)
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
                problem = f"{name} has dtype={parts[part][name].dtype}, should be int64"
                raise DamagedFileError(path, problem, _RULE)
        shape = (len(parts["obs"]), len(parts["var"]))
        X = find_array(opened, "X", kind="f", shape=shape)[()]
        return anndata.AnnData(X=X, **parts)
