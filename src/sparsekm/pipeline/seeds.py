"""Seeds that depend on what is computed, not on when, where, or by which method.

Every seed is derived from the root seed and names. Therefore all methods use the same references
and starts, a single job can be repeated alone, and adding a data set does not affect the others.
"""

from __future__ import annotations

import hashlib

import numpy as np


def derive_seed(root: int, *names: str | int) -> int:
    """Derive a seed in [0, 2**31) from the root seed and names, such as that of a data set.

    Examples
    --------
    >>> derive_seed(1, "E11.5") == derive_seed(1, "E11.5")
    True
    >>> derive_seed(1, "E11.5") == derive_seed(1, "E13.5")
    False
    """
    if root < 0:
        raise ValueError(f"seed={root} should be >= 0.")
    words = [root]
    for name in names:
        # hash() differs from process to process; this does not. The type keeps 1 and "1" apart.
        digest = hashlib.sha256(f"{type(name).__name__}:{name}".encode()).digest()
        words.extend(int.from_bytes(digest[at : at + 4], "little") for at in range(0, 16, 4))
    return int(np.random.SeedSequence(words).generate_state(1, np.uint32)[0] >> 1)
