"""From scikit-learn's `random_state` to a seed sequence, and random samples."""

from __future__ import annotations

from numbers import Integral

import numpy as np


def seed_sequence(random_state) -> np.random.SeedSequence:
    """Turn scikit-learn's `random_state`, or a SeedSequence, into a seed sequence.

    None draws fresh entropy and never uses NumPy's global generator. One number is drawn from a
    RandomState or Generator.
    """
    if random_state is None:
        return np.random.SeedSequence()
    if isinstance(random_state, np.random.SeedSequence):
        # It is a copy, because spawning from the caller's object would change it.
        return np.random.SeedSequence(random_state.entropy, spawn_key=random_state.spawn_key)
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(int(random_state.integers(2**31)))
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(int(random_state.randint(2**31 - 1)))
    if isinstance(random_state, bool) or not isinstance(random_state, Integral):
        raise TypeError(
            f"random_state={random_state!r} should be None, an integer, a RandomState or a "
            "Generator."
        )
    if random_state < 0:
        raise ValueError(f"random_state={random_state} should be >= 0.")
    return np.random.SeedSequence(int(random_state))


def check_random_state(random_state) -> None:
    """Refuse a seed that `seed_sequence` refuses, without drawing from it."""
    if not isinstance(random_state, np.random.Generator | np.random.RandomState):
        seed_sequence(random_state)


def draw_samples(n_samples: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """Draw `size` samples without replacement, ascending; all if there are not more.

    All code that draws a part of many samples uses this function.
    """
    if n_samples <= size:
        return np.arange(n_samples)
    return np.sort(rng.choice(n_samples, size, replace=False))
