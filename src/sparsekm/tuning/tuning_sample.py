"""The samples on which many samples are tuned."""

from __future__ import annotations

import numpy as np

from sparsekm.cluster.validation import check_count
from sparsekm.runtime.random_state import draw_samples


def tuning_sample(n_samples: int, max_samples: int | None, seed: int) -> np.ndarray | None:
    """Draw the samples on which a sparsity is tuned, ascending.

    They depend on the seed and the numbers alone, so that every job and every method has the same.
    None stands for all: there are no more than `max_samples`, or that is None.
    """
    if max_samples is None or n_samples <= check_count("max_samples", max_samples):
        return None
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0, 8)))
    return draw_samples(n_samples, int(max_samples), rng)
