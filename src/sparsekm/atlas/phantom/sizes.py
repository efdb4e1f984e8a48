"""The sizes of the phantom: grids, spacings, voxels per region and numbers of genes.

Snakemake uses this module to plan jobs, possibly in an environment without NumPy.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path


def _read(name: str) -> list[dict[str, str]]:
    with Path(__file__).with_name(name).open(newline="", encoding="utf-8") as opened:
        return list(csv.DictReader(opened))


STRUCTURES = _read("structures.csv")
"""The upper levels of the tree, with colours and ids as in the atlas, and those of the ventricles.

A region has the number of its voxels at each age in the annotation of the atlas; the spinal cord
that of the atlas at E11.5, none at P14, and plausible ones at the other ages.
"""
AGE_ROWS = {row["age"]: row for row in _read("ages.csv")}
REGIONS = tuple(row["acronym"] for row in STRUCTURES if row["E11.5"])
GRIDS = {
    age: ((int(row["nx"]), int(row["ny"]), int(row["nz"])), int(row["spacing"]))
    for age, row in AGE_ROWS.items()
}
"""Dimensions (x, y, z) and spacing in micrometres of the grids of the atlas."""
FULL_COUNTS = {age: tuple(int(row[age]) for row in STRUCTURES if row[age]) for age in AGE_ROWS}
LUMEN_SHARE = {age: float(row["lumen_share"]) for age, row in AGE_ROWS.items()}
"""Ventricle voxels per voxel of brain tissue."""
MATURITY = {age: float(row["maturity"]) for age, row in AGE_ROWS.items()}
"""Position of each age between the embryonic (0) and the adult (1) shape."""
PLANTED_SHARE = {age: float(row["planted_share"]) for age, row in AGE_ROWS.items()}
"""Share of the usable genes in which region differences are planted at each age.

They differ so that one report shows methods with few, with some and with many genes to find. All
are far from the quarter of the features to which the rule ``auto`` limits correlated data.
"""


@dataclass(frozen=True)
class GeneNumbers:
    """Numbers of genes of each kind.

    The first five kinds are usable at every age. The others test the readers: genes that are
    constant, mostly missing, absent at one age, only failed, or only cut coronally.
    """

    marker: int
    gradient: int
    module: int
    housekeeping: int
    noise: int
    n_modules: int
    constant: int = 3
    mostly_missing: int = 4
    absent_at_one_age: int = 7
    failed_only: int = 2
    coronal_only: int = 2

    @property
    def usable(self) -> int:
        """Number of genes that pass quality control at every age."""
        return self.marker + self.gradient + self.module + self.housekeeping + self.noise


@dataclass(frozen=True)
class PhantomAge:
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


@dataclass(frozen=True)
class PhantomSize:
    """One named size of the phantom."""

    name: str
    genes: GeneNumbers
    # Probability that a gene lacks the outermost sections. Above the usual threshold of 0.3,
    # quality control drops those voxels; the full size keeps the counts of the atlas instead.
    edge_missing: float
    ages: dict[str, PhantomAge] = field(repr=False)


def get_size(name: str) -> PhantomSize:
    """Return a size by name: ``"tiny"``, ``"default"`` or ``"full"``."""
    if name not in _GENES:
        raise ValueError(f"size={name!r} should be one of {', '.join(_GENES)}.")
    return PhantomSize(
        name, _GENES[name], _EDGE_MISSING[name], {age: _scale_age(name, age) for age in GRIDS}
    )


_GENES = {
    "tiny": GeneNumbers(
        marker=18, gradient=4, module=8, housekeeping=4, noise=10, n_modules=2,
        constant=1, mostly_missing=1, absent_at_one_age=2, failed_only=1, coronal_only=1,
    ),
    "default": GeneNumbers(
        marker=128, gradient=24, module=48, housekeeping=24, noise=96, n_modules=4
    ),
    "full": GeneNumbers(
        marker=690, gradient=150, module=258, housekeeping=150, noise=476, n_modules=8,
        constant=6, mostly_missing=10, absent_at_one_age=0, failed_only=5, coronal_only=8,
    ),
}  # fmt: skip

# The smallest region, and the power that reduces large regions: with the real proportions, a coarse
# grid would have rhombomeres of one or two voxels.
_EDGE_MISSING = {"tiny": 0.4, "default": 0.4, "full": 0.15}
_SMALLEST_REGION = {"tiny": 3, "default": 14}
_POWER = {"tiny": 0.6, "default": 0.65}


def _scale_age(size: str, age: str) -> PhantomAge:
    dims, spacing = GRIDS[age]
    counts: Sequence[int] = FULL_COUNTS[age]
    if size != "full":
        total = int(AGE_ROWS[age][f"{size}_voxels"])
        factor = (total / sum(counts)) ** (1 / 3)
        dims = tuple(math.ceil(extent * factor) + 1 for extent in dims)
        spacing = round(spacing / factor)
        counts = _tame_counts(counts, total, _SMALLEST_REGION[size], _POWER[size])
    region_voxels = {a: n for a, n in zip(REGIONS, counts, strict=True) if n}
    lumen = {a: _lumen_size(n, a, age) for a, n in region_voxels.items()}
    extra = max(2, sum(region_voxels.values()) // 200)
    return PhantomAge(dims, float(spacing), region_voxels, lumen, extra, max(2, extra // 3))


def _lumen_size(tissue: int, region: str, age: str) -> int:
    share = 0.035 if region == "SpC" else LUMEN_SHARE[age]
    return max(1, round(share * tissue))


def _tame_counts(counts: Sequence[int], total: int, smallest: int, power: float) -> list[int]:
    """Scale counts to a total by largest remainders; nonzero counts are at least `smallest`."""
    present = [count > 0 for count in counts]
    weights = [count**power if count else 0.0 for count in counts]
    free = total - smallest * sum(present)
    shares = [
        weight / sum(weights) * free + smallest * is_present
        for weight, is_present in zip(weights, present, strict=True)
    ]
    whole = [int(share) for share in shares]
    by_remainder = sorted(range(len(whole)), key=lambda index: whole[index] - shares[index])
    for index in by_remainder[: total - sum(whole)]:
        whole[index] += 1
    return whole
