"""Mapping of structures to regions of one level, and to kinds of tissue.

A structure belongs to its ancestor (or itself) at the given ``st_level``. Depth in the tree cannot
be used instead, since level-3 nodes are at two depths. If a parent and its child have the same
level, the parent is used, so that regions are never nested.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from sparsekm.atlas.ontology import Ontology, Structure
from sparsekm.atlas.vocabulary import (
    NEURAL_PLATE_ID,
    REGION_LEVEL,
    SPINAL_CORD_ID,
    TISSUES,
    TRACTS_ID,
    VENTRICLES_ID,
)

UNASSIGNED = "unassigned"
UNANNOTATED = "unannotated"


@dataclass(frozen=True)
class Region:
    """The tissue and region of a structure."""

    tissue: str  # ``"brain"``, ``"spinal_cord"``, ``"ventricle"``, ``"tract"`` or ``"unassigned"``
    structure: Structure | None  # the region; None for an unassigned structure


def assign_region(ontology: Ontology, structure_id: int, level: int = REGION_LEVEL) -> Region:
    """Find the region of a structure, with ``st_level`` equal to `level`.

    Under the neural plate it is the ancestor at that level. If there is none, the spinal cord is
    its own region and other structures are unassigned, as are unknown ids. Ventricles and tracts
    without such an ancestor belong to the top of their trees.
    """
    if structure_id not in ontology:
        return Region(UNASSIGNED, None)
    path = ontology.path(structure_id)
    at_level = next((node for node in path if node.st_level == level), None)
    by_id = {node.id: node for node in path}
    if SPINAL_CORD_ID in by_id:
        return Region("spinal_cord", at_level or by_id[SPINAL_CORD_ID])
    if NEURAL_PLATE_ID in by_id:
        return Region("brain", at_level) if at_level else Region(UNASSIGNED, None)
    if VENTRICLES_ID in by_id:
        return Region("ventricle", at_level or path[min(path.index(by_id[VENTRICLES_ID]) + 1,
                                                        len(path) - 1)])  # fmt: skip
    if TRACTS_ID in by_id:
        return Region("tract", at_level or by_id[TRACTS_ID])
    return Region(UNASSIGNED, None)


@dataclass(frozen=True)
class RegionMap:
    """The annotated voxels of the selected tissue, and counts of all others."""

    index: np.ndarray  # (n_voxels,), int64: linear positions in the file, ascending
    region: np.ndarray  # (n_voxels,), int: the row of `table` to which each voxel belongs
    # One row per region present, in the ontology's order: acronym, name, id, color
    # (``"#RRGGBB"``), tissue, n_voxels.
    table: pd.DataFrame
    # Voxels per tissue class, with ``"unassigned"``, ``"unannotated"`` and ``"unknown_ids"``
    # (voxels with ids that are not in the ontology, a subset of the unassigned).
    counts: dict[str, int]


def map_regions(
    annotation: np.ndarray,
    ontology: Ontology,
    *,
    level: int = REGION_LEVEL,
    tissue: Iterable[str] = ("brain", "spinal_cord"),
) -> RegionMap:
    """Map an annotation volume, structure ids with 0 for unannotated, to regions.

    `tissue` are the classes to keep, of ``brain, spinal_cord, ventricle, tract``.
    """
    wanted = _check_tissue(tissue)
    flat = np.asarray(annotation).ravel()
    if not np.issubdtype(flat.dtype, np.integer):
        raise TypeError(
            f"annotation dtype={flat.dtype} should be an integer type: floats lose ids."
        )
    ids, inverse, n_each = np.unique(flat, return_inverse=True, return_counts=True)
    assigned = [None if i == 0 else assign_region(ontology, int(i), level) for i in ids]
    kept = [region is not None and region.tissue in wanted for region in assigned]
    if not any(kept):
        raise ValueError(f"the annotation has no voxel of tissue={', '.join(wanted)}.")
    table, row_of = _tabulate([r for r, keep in zip(assigned, kept, strict=True) if keep])
    row = np.array(
        [row_of[r.structure.id] if keep else -1 for r, keep in zip(assigned, kept, strict=True)]
    )[inverse.ravel()]
    index = np.flatnonzero(row >= 0)
    region = row[index]
    table["n_voxels"] = np.bincount(region, minlength=len(table))
    return RegionMap(index, region, table, _count_classes(ids, n_each, assigned, ontology))


def _check_tissue(tissue: Iterable[str]) -> tuple[str, ...]:
    wanted = (tissue,) if isinstance(tissue, str) else tuple(tissue)
    for name in wanted:
        if name not in TISSUES:
            raise ValueError(f"tissue={name!r} should be one of {', '.join(TISSUES)}.")
    if not wanted:
        raise ValueError(f"tissue=() should name at least one of {', '.join(TISSUES)}.")
    return wanted


def _tabulate(regions: list[Region]) -> tuple[pd.DataFrame, dict[int, int]]:
    unique = {region.structure.id: region for region in regions}
    ordered = sorted(unique.values(), key=lambda r: (r.structure.order, r.structure.id))
    table = pd.DataFrame(
        {
            "acronym": [r.structure.acronym for r in ordered],
            "name": [r.structure.name for r in ordered],
            "id": np.array([r.structure.id for r in ordered], dtype=np.int64),
            "color": [f"#{r.structure.color}" for r in ordered],
            "tissue": [r.tissue for r in ordered],
        }
    )
    return table, {r.structure.id: row for row, r in enumerate(ordered)}


def _count_classes(
    ids: np.ndarray, n_each: np.ndarray, assigned: list[Region | None], ontology: Ontology
) -> dict[str, int]:
    counts = dict.fromkeys((*TISSUES, UNASSIGNED, UNANNOTATED, "unknown_ids"), 0)
    for structure_id, n, region in zip(ids, n_each, assigned, strict=True):
        counts[UNANNOTATED if region is None else region.tissue] += int(n)
        if region is not None and int(structure_id) not in ontology:
            counts["unknown_ids"] += int(n)
    return counts
