"""What is planted in a gene beside its regions: its baseline, share of the common pattern, noise.

All genes share a little of one tissue-wide pattern, each its own amount. That makes most of them
differ a little between regions, also those in which no region is planted.
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
    """What a gene's level is made of, the same at every age.

    Attributes
    ----------
    factor : float
        Multiplies what is planted by the gene's kind.
    common : float
        Amount of the tissue-wide pattern, which has standard deviation 1.
    noise : float
        Standard deviation of the noise.
    """

    baseline: float
    factor: float
    common: float
    noise: float

    @property
    def unevenness(self) -> float:
        """Standard deviation of the tissue-wide pattern over that of the noise."""
        return abs(self.common) / self.noise


def draw_planted_level(gene: PlantedGene, seed: int) -> PlantedLevel:
    """Draw what a gene's level is made of; it depends on the phantom's seed and the gene alone."""
    rng = np.random.default_rng(np.random.SeedSequence([seed, 105, gene.number]))
    is_housekeeping = gene.kind == "housekeeping"
    return PlantedLevel(
        baseline=_HOUSEKEEPING_BASELINE if is_housekeeping else rng.normal(-0.8, 0.6),
        factor=rng.uniform(0.6, 1.4),
        common=COMMON_STRENGTH * rng.normal(),
        noise=_HOUSEKEEPING_NOISE if is_housekeeping else NOISE,
    )
