"""Small data for the tests of the baselines. Arrays are read-only."""

import numpy as np
import pytest

from sparsekm.baselines.penalised_gaussian_mixture import StandardisedData
from sparsekm.simulation import gaussian_clusters


@pytest.fixture(scope="session")
def easy_data():
    """Three clusters of 15 that nobody can miss, in 4 of 30 features."""
    means = np.outer([6.0, -6.0, 0.0], [1.0, 1.2, 1.4, 1.6])
    data = gaussian_clusters(means, 15, 30, standardise=False, random_state=11)
    data.X.setflags(write=False)
    return data


@pytest.fixture(scope="session")
def triangle_data():
    """Three clusters of 20 whose means form a triangle, in 15 of 200 features."""
    means = np.kron(np.eye(3), np.full(5, 6.0))
    data = gaussian_clusters(means, 20, 200, standardise=False, random_state=12)
    data.X.setflags(write=False)
    return data


@pytest.fixture
def make_standardised(seed):
    """Draw overlapping clusters and standardise them, as the mixture does inside."""

    def make(n_samples=40):
        X = np.random.default_rng(seed).standard_normal((n_samples, 12))
        X[: n_samples // 2, :4] += 1.5
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
        return StandardisedData.from_columns(np.ascontiguousarray(Z.T))

    return make
