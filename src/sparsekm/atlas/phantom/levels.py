"""The level of a gene apart from its regions: baseline, share of the common pattern, noise.

A tissue-wide pattern contributes slightly to all genes, to each by its own amount. Therefore most
genes differ slightly between regions, even those without a planted region.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsekm.atlas.phantom.genes import PlantedGene

COMMON_STRENGTH = 0.1
NOISE = 0.5
_HOUSEKEEPING_BASELINE = 2.0
_HOUSEKEEPING_NOISE = 0.4 * NOISE


@dataclass(frozen=True)
class PlantedLevel:
    """The components of a gene's level, the same at every age."""

    baseline: float
    factor: float  # factor of the planted signal of the gene's kind
    common: float  # coefficient of the tissue-wide pattern, which has standard deviation 1
    noise: float  # standard deviation of the noise

    @property
    def unevenness(self) -> float:
        """Standard deviation of the tissue-wide pattern over that of the noise."""
        return abs(self.common) / self.noise


def draw_planted_level(gene: PlantedGene, seed: int) -> PlantedLevel:
    """Draw the components of a gene's level, which depend only on the seed and the gene."""
    rng = np.random.default_rng(np.random.SeedSequence([seed, 105, gene.number]))
    is_housekeeping = gene.kind == "housekeeping"
    return PlantedLevel(
        baseline=_HOUSEKEEPING_BASELINE if is_housekeeping else rng.normal(-0.8, 0.6),
        factor=rng.uniform(0.6, 1.4),
        common=COMMON_STRENGTH * rng.normal(),
        noise=_HOUSEKEEPING_NOISE if is_housekeeping else NOISE,
    )
