"""A small path and its attributes."""

import numpy as np
import pytest
from sound_files import ATTRIBUTES

from sparsekm.cluster.sparsity_path import SparsityPath


@pytest.fixture
def path(seed):
    rng = np.random.default_rng(seed)
    weights = rng.random((3, 5))
    weights[0, [0, 2, 3]] = 0
    weights[1] = 0
    return SparsityPath(
        sparsities=np.array([2.0, 0.5, 5.0]),
        objectives=rng.random(3),
        first_objectives=rng.random(3),
        labels=np.array([[0, 1, 1, 0], [1, 1, 0, 0], [0, 0, 0, 1]], dtype=np.int32),
        weights=weights,
        scores=rng.random((3, 5)),
        n_iter=np.array([4, 1, 9]),
        search="global",
    )


@pytest.fixture
def attributes():
    return dict(ATTRIBUTES)
