"""Results depend on no thread, and no estimator starts more than it is given."""

import json
import os
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.base import clone
from small_estimators import ESTIMATORS

from sparsekm import SparseKMeans
from sparsekm.baselines import penalised_gaussian_mixture
from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.runtime import threads
from sparsekm.tuning.chosen_fit import find_clusters

pytestmark = pytest.mark.usefixtures("one_repeat")
LEARNED = {"labels_", "feature_weights_", "feature_scores_", "objective_", "n_iter_"}


@pytest.fixture
def started(monkeypatch):
    """Names of the threads that were started; all work that can be shared is worth it."""
    names = []
    start = threading.Thread.start

    def record(thread):
        names.append(thread.name)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", record)
    monkeypatch.setattr(threads, "WORTH_A_THREAD", 1)
    monkeypatch.setattr(penalised_gaussian_mixture, "WORTH_THREADS", 1)
    return names


@pytest.mark.parametrize("name", ESTIMATORS)
def test_with_one_job_no_thread_is_started_and_results_are_those_of_any_number(name, started):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((400, 16))
    X[:, :6] += rng.standard_normal((3, 6))[rng.integers(3, size=400)]
    estimator = clone(ESTIMATORS[name]).set_params(random_state=0, n_jobs=1)
    one = estimator.fit(X)
    assert one.predict(X).shape == (400,)
    assert started == []
    with parallel_config(n_jobs=3):
        other = clone(estimator).set_params(n_jobs=None).fit(X)
    assert started
    for attribute in LEARNED & vars(one).keys():
        bits = [np.asarray(getattr(fit, attribute)).tobytes() for fit in (one, other)]
        assert bits[0] == bits[1], attribute


def test_silhouettes_depend_on_no_number_of_jobs():
    rng = np.random.default_rng(3)
    data = ScaledData.standardise(rng.standard_normal((59, 80)))
    found = []
    for n_jobs in (1, 4):
        with parallel_config(n_jobs=n_jobs):
            found.append(find_clusters(SparseKMeans(3, random_state=0), data, beside=True))
    pd.testing.assert_frame_equal(found[0].divisions, found[1].divisions, check_exact=True)
    pd.testing.assert_frame_equal(found[0].numbers, found[1].numbers, check_exact=True)


SCRIPT = """
import hashlib
import json

import numpy as np

from sparsekm import GapSearch, L0KMeans, PCAKMeans, SparseKMeans
from sparsekm.tuning import chosen_fit, fold_fits

chosen_fit.N_REPEATS = fold_fits.N_REPEATS = 1
estimator = L0KMeans(4, n_init=1)
references = {"n_references": 2, "sparsities": [20, 200]}
large = {
    "gaussian gap": GapSearch(estimator, reference="gaussian", **references),
    "shrunk gap": GapSearch(estimator, reference="shrunk", **references),
    "components of many samples": PCAKMeans(4, n_components=3),
}
small = {"sparse": SparseKMeans(4), "components of few samples": PCAKMeans(4, n_components=3)}
found = {}
for n, estimators in ((520, large), (90, small)):
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
        for table in ("results_", "search_results_", "separation_"):
            if hasattr(fit, table):
                digest.update(getattr(fit, table).to_csv().encode())
        found[name] = [digest.hexdigest(), getattr(fit, "conclusion_", None)]
print(json.dumps(found))
"""


def test_threads_of_the_linear_algebra_library_change_no_result():
    names = [f"{library}_NUM_THREADS" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")]
    found = []
    for n_threads in ("1", "2"):
        env = {**os.environ, **dict.fromkeys(names, n_threads)}
        env["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
        command = [sys.executable, "-W", "error", "-c", SCRIPT]
        done = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
        found.append(json.loads(done.stdout))
    assert len(found[0]) == 5
    assert found[0] == found[1]
