"""The phantom atlas: a simulated developing brain in the file formats of the real servers.

This module has its sizes: grids, spacings, voxels per region and numbers of genes. Snakemake uses
them to plan jobs, possibly without NumPy.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


def read_rows(name: str) -> list[dict[str, str]]:
    """Read a table next to this module."""
    with Path(__file__).with_name(name).open(newline="", encoding="utf-8") as opened:
        return list(csv.DictReader(opened))


STRUCTURES = read_rows("structures.csv")
"""The upper levels of the tree and the ventricles, with the atlas's colours and ids.

Each region has its number of voxels at each age in the annotation of the atlas. The spinal cord has
the atlas's number at E11.5, none at P14, and plausible numbers at the other ages.
"""
AGE_ROWS = {row["age"]: row for row in read_rows("ages.csv")}
"""For each age: dimensions (nx, ny, nz) and spacing in micrometres of the grids of the atlas;
lumen_share, ventricle voxels per voxel of brain tissue; maturity, between the embryonic (0) and the
adult (1) shape; planted_share, the share of the usable genes with planted region differences (few
at one age, many at another); voxels of the smaller sizes; and parts of regions with inner voxels.
"""
REGIONS = tuple(row["acronym"] for row in STRUCTURES if row["E11.5"])
FULL_COUNTS = {age: tuple(int(row[age]) for row in STRUCTURES if row[age]) for age in AGE_ROWS}
USABLE = ("marker", "gradient", "module", "housekeeping", "noise")
"""The kinds of genes that are usable at every age."""


class PhantomAge(NamedTuple):
    """Grid and voxel counts of one age of the phantom."""

    dims: tuple[int, int, int]
    spacing: float
    region_voxels: dict[str, int]
    lumen_voxels: dict[str, int]
    tract_voxels: int
    unassigned_voxels: int

    @property
    def n_tissue(self) -> int:
        """Voxels in a level-3 region or the spinal cord."""
        return sum(self.region_voxels.values())


class PhantomSize(NamedTuple):
    """One named size of the phantom."""

    name: str
    # Numbers of genes of each kind. Besides the usable genes there are some that test the readers:
    # constant, mostly missing, absent at one age, only failed, or only cut coronally.
    kinds: dict[str, int]
    n_modules: int  # patterns that modules of genes follow
    # Probability that a gene lacks the outermost sections. Above the usual threshold of 0.3,
    # quality control drops those voxels; the full size keeps the counts of the atlas instead.
    edge_missing: float
    ages: dict[str, PhantomAge]

    @property
    def usable(self) -> int:
        """Number of genes that pass quality control at every age."""
        return sum(self.kinds[kind] for kind in USABLE)


_SIZES = {row.pop("size"): row for row in read_rows("sizes.csv")}
"""Numbers of genes, the smallest region, and the power that reduces large regions.

With the real proportions, rhombomeres would have only one or two voxels in a coarse grid.
"""


def get_size(name: str) -> PhantomSize:
    """Return a size by name: ``"tiny"``, ``"default"`` or ``"full"``."""
    row = dict(_SIZES[name])
    n_modules, edge_missing = int(row.pop("n_modules")), float(row.pop("edge_missing"))
    limits = row.pop("smallest_region"), row.pop("power")
    ages = {age: _scale_age(name, age, *limits) for age in AGE_ROWS}
    kinds = {kind: int(count) for kind, count in row.items()}
    return PhantomSize(name, kinds, n_modules, edge_missing, ages)


def _scale_age(size: str, age: str, smallest_region: str, power: str) -> PhantomAge:
    row, counts = AGE_ROWS[age], FULL_COUNTS[age]
    dims, spacing = tuple(int(row[axis]) for axis in ("nx", "ny", "nz")), int(row["spacing"])
    if power:
        total = int(row[f"{size}_voxels"])
        factor = (total / sum(counts)) ** (1 / 3)
        dims = tuple(math.ceil(extent * factor) + 1 for extent in dims)
        spacing = round(spacing / factor)
        counts = _tame_counts(counts, total, int(smallest_region), float(power))
    region_voxels = {a: n for a, n in zip(REGIONS, counts, strict=True) if n}
    shares = dict.fromkeys(REGIONS, float(row["lumen_share"])) | {"SpC": 0.035}
    lumen = {region: max(1, round(shares[region] * n)) for region, n in region_voxels.items()}
    extra = max(2, sum(region_voxels.values()) // 200)
    return PhantomAge(dims, float(spacing), region_voxels, lumen, extra, max(2, extra // 3))


def _tame_counts(counts: Sequence[int], total: int, smallest: int, power: float) -> tuple[int, ...]:
    """Scale counts to a total by largest remainders; nonzero counts are at least `smallest`."""
    weights = [count**power if count else 0.0 for count in counts]
    free = total - smallest * sum(weight > 0 for weight in weights)
    shares = [weight / sum(weights) * free + smallest * (weight > 0) for weight in weights]
    whole = [int(share) for share in shares]
    by_remainder = sorted(range(len(whole)), key=lambda index: whole[index] - shares[index])
    for index in by_remainder[: total - sum(whole)]:
        whole[index] += 1
    return tuple(whole)
