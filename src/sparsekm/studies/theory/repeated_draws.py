"""The data sets over which statements of theory are checked, and the shares found in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sparsekm.simulation.gaussian_clusters import SimulatedData
from sparsekm.simulation.replicate_seed import replicate_seed
from sparsekm.studies.theory.level_model import draw_three_levels

DATA_SETS = 20
STRONG = {"mu": 8.0, "n_relevant": 10, "cluster_size": 30, "n_features": 200}
"""Where every condition of Theorem 5 holds that has a number: levels of 8, 90 samples."""


def draw_setting(
    setting: Mapping[str, Any], check: str, root: int
) -> Iterator[tuple[SimulatedData, np.random.Generator]]:
    """Draw the data sets of a check, each with a generator for the search."""
    for replicate in range(DATA_SETS):
        sequence = replicate_seed(root, "theory_checks", {"check": check, **setting}, replicate)
        seeds = sequence.spawn(2)
        yield draw_three_levels(**setting, seed=seeds[0]), np.random.default_rng(seeds[1])


def count_share(found: Sequence[bool] | np.ndarray, wanted: float) -> dict[str, Any]:
    """Say in which share something was found, and whether that is as wanted."""
    share = float(np.mean(found))
    se = float(np.sqrt(share * (1 - share) / len(found)))
    return {"holds": share == wanted, "ours": share, "se": se, "theirs": wanted}
