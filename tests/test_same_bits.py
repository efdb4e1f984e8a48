"""No bit of a result depends on how many threads the linear algebra library has."""

import json

import numpy as np
import pytest
from bits import print_with_threads
from threadpoolctl import threadpool_limits

from sparsekm.baselines.principal_components import principal_axes
from sparsekm.tuning.gaussian_mixing import mix_rows
from sparsekm.tuning.separation import margin_ratio

SCRIPT = """
import hashlib
import json

import numpy as np

from sparsekm import GapSearch, L0KMeans, SparseKMeans

estimator = L0KMeans(4, n_init=2)
references = {"n_references": 2, "sparsities": [20, 200]}
large = {
    "gaussian gap": GapSearch(estimator, reference="gaussian", **references),
    "shrunk gap": GapSearch(estimator, reference="shrunk", **references),
}
found = {}
for n, estimators in ((520, large), (90, {"sparse": SparseKMeans(4)})):
    rng = np.random.default_rng(7)
    X = np.outer(rng.standard_normal(n), rng.standard_normal(400)) / 2
    X += rng.standard_normal((n, 400))
    X[:, :40] += rng.standard_normal((4, 40))[rng.integers(4, size=n)]
    for name, estimator in estimators.items():
        fit = estimator.set_params(random_state=0).fit(X)
        digest = hashlib.sha256()
        learned = ("labels_", "feature_weights_", "objective_", "components_", "_axes")
        for attribute in (*learned, "coassociation_"):
            digest.update(np.ascontiguousarray(getattr(fit, attribute, 0)).tobytes())
        for table in ("results_", "search_results_"):
            if hasattr(fit, table):
                digest.update(getattr(fit, table).to_csv().encode())
        found[name] = [digest.hexdigest(), getattr(fit, "conclusion_", None)]
print(json.dumps(found))
"""
ESTIMATORS = ["sparse", "gaussian gap", "shrunk gap"]


@pytest.fixture(scope="module")
def answers():
    """What a process whose library has one thread finds, and one whose library has two."""
    return [json.loads(printed) for printed in print_with_threads(SCRIPT)]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_threads_of_the_linear_algebra_library_change_no_result(name, answers):
    one, two = answers
    assert len(one[name][0]) == 64
    assert one[name] == two[name]


def separation(rng):
    labels = np.arange(333, dtype=np.int32) % 6
    X = rng.standard_normal((333, 777))
    return np.float64(margin_ratio(X, X, labels, np.ones(777)))


CALLS = {
    "separation": separation,
    "draws from a Gaussian": lambda rng: mix_rows(rng.standard_normal((333, 777)), rng),
    "principal axes of features": lambda rng: principal_axes(rng.standard_normal((333, 777)), 3),
    "principal axes of samples": lambda rng: principal_axes(rng.standard_normal((777, 333)), 3),
}


@pytest.mark.parametrize("name", CALLS)
def test_linear_algebra_gives_the_same_bits_however_many_threads_its_library_has(name):
    found = []
    for limit in (1, 2):
        with threadpool_limits(limit, user_api="blas"):
            found.append(CALLS[name](np.random.default_rng(0)).tobytes())
    assert found[0] == found[1]
