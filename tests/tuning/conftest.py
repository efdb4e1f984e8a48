"""Data with planted features, and small searches on them."""

import numpy as np
import pytest

from sparsekm.cluster.estimators import L0KMeans, L1KMeans
from sparsekm.simulation import gaussian_clusters
from sparsekm.tuning.gap_search import GapSearch

GRIDS = {"l0": [2, 4, 8, 16, 24], "l1": [1.2, 1.8, 2.6, 3.6, 4.9]}


@pytest.fixture(scope="session")
def data():
    data = gaussian_clusters(np.outer([3.0, -3.0, 0.0], np.ones(4)), 10, 24, random_state=1)
    data.X.setflags(write=False)
    return data


@pytest.fixture(scope="session")
def gap_search():
    def make(method, n_init=2, **parameters):
        estimator = {"l0": L0KMeans, "l1": L1KMeans}[method](3, n_init=n_init)
        defaults = {"sparsities": GRIDS[method], "n_references": 4, "random_state": 0}
        return GapSearch(estimator, **{**defaults, **parameters})

    return make


@pytest.fixture(scope="session", params=["l0", "l1"])
def fitted_gap(request, data, gap_search):
    return gap_search(request.param).fit(data.X)
