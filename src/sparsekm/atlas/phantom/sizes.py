"""The sizes of the phantom: grids, spacings, voxels per region and numbers of genes.

Snakemake uses this module to plan jobs, possibly in an environment without NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

REGIONS = (
    "RSP", "CSP", "p3", "p2", "p1", "m1", "m2", "is",
    "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "SpC",
)  # fmt: skip

GRIDS = {
    "E11.5": ((70, 75, 40), 80),
    "E13.5": ((89, 109, 69), 100),
    "E15.5": ((94, 132, 65), 120),
    "E18.5": ((67, 43, 40), 140),
    "P4": ((77, 43, 50), 160),
    "P14": ((68, 40, 50), 200),
    "P28": ((73, 41, 53), 200),
}
"""Dimensions (x, y, z) and spacing in micrometres of the grids of the atlas."""

# Brain regions: voxels per region in the annotation of the atlas. Spinal cord (last column): the
# count of the atlas at E11.5, none at P14, plausible values at the other ages.
FULL_COUNTS = {
    "E11.5": (245, 909, 191, 190, 180, 555, 32, 168, 394, 235, 144, 170, 162, 171, 190, 276, 358,
              324, 261, 2222),
    "E13.5": (481, 2994, 442, 501, 398, 1291, 87, 255, 707, 273, 172, 189, 224, 249, 245, 238, 235,
              267, 262, 3700),
    "E15.5": (421, 4782, 375, 610, 392, 1379, 116, 295, 697, 367, 177, 154, 191, 196, 217, 235, 249,
              281, 282, 760),
    "E18.5": (497, 5222, 438, 822, 520, 1224, 112, 288, 710, 248, 157, 148, 221, 191, 173, 165, 159,
              144, 107, 520),
    "P4": (578, 12158, 527, 1254, 626, 1433, 189, 370, 1502, 222, 211, 241, 312, 283, 303, 279, 295,
           236, 166, 680),
    "P14": (441, 14463, 510, 1244, 443, 1261, 172, 418, 2955, 331, 177, 224, 305, 267, 232, 249,
            245, 183, 93, 0),
    "P28": (706, 16633, 601, 1295, 495, 1285, 134, 2227, 1909, 451, 279, 297, 382, 328, 322, 331,
            313, 310, 157, 210),
}  # fmt: skip

LUMEN_SHARE = {
    "E11.5": 1.1, "E13.5": 0.22, "E15.5": 0.12, "E18.5": 0.05, "P4": 0.03, "P14": 0.02, "P28": 0.02,
}  # fmt: skip
"""Ventricle voxels per voxel of brain tissue."""

MATURITY = {
    "E11.5": 0.0, "E13.5": 0.62, "E15.5": 0.74, "E18.5": 0.88, "P4": 0.95, "P14": 1.0, "P28": 1.0,
}  # fmt: skip
"""Position of each age between the embryonic (0) and the adult (1) shape."""

PLANTED_SHARE = {
    "E11.5": 0.4, "E13.5": 0.15, "E15.5": 0.05, "E18.5": 0.15, "P4": 0.4, "P14": 0.05, "P28": 0.15,
}  # fmt: skip
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

# Tissue voxels per age, the smallest region, and the power that reduces large regions: with the
# real proportions, a coarse grid would have rhombomeres of one or two voxels.
_TISSUE_VOXELS = {
    "tiny": dict(zip(GRIDS, (180, 200, 210, 190, 220, 230, 240), strict=True)),
    "default": dict(zip(GRIDS, (1300, 1500, 1450, 1400, 1800, 1950, 5600), strict=True)),
}
_EDGE_MISSING = {"tiny": 0.4, "default": 0.4, "full": 0.15}
_SMALLEST_REGION = {"tiny": 3, "default": 14}
_POWER = {"tiny": 0.6, "default": 0.65}


def _scale_age(size: str, age: str) -> PhantomAge:
    dims, spacing = GRIDS[age]
    counts: Sequence[int] = FULL_COUNTS[age]
    if size != "full":
        total = _TISSUE_VOXELS[size][age]
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
