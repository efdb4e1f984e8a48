"""Seeds of simulated replicates, blind to the method that will be run on them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np


def replicate_seed(
    root: int, experiment: str, setting: Mapping[str, Any] | str, replicate: int
) -> np.random.SeedSequence:
    """Derive the seed of one replicate of one setting of one experiment.

    It does not know the clustering method or its sparsity, so that all methods see the same data,
    and is the same in every process and on every platform. The setting are the design's arguments,
    or a name for them; neither the order of keys matters, nor whether a whole number is an int or a
    float.
    """
    for argument, value in (("root", root), ("replicate", replicate)):
        if value < 0:
            raise ValueError(f"{argument}={value} should be >= 0.")
    text = json.dumps([experiment, _canonical(setting)], sort_keys=True)
    # A digest rather than hash(), which Python salts anew in each process.
    words = np.frombuffer(hashlib.sha256(text.encode()).digest(), dtype="<u4")
    return np.random.SeedSequence(int(root), spawn_key=(*map(int, words), int(replicate)))


def _canonical(value):
    """Plain JSON values in which 1 and 1.0, Python's and NumPy's numbers are the same."""
    if isinstance(value, Mapping):
        return {str(key): _canonical(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
