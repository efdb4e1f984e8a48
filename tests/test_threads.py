"""Results depend on no thread, and no estimator starts more than it is given."""

import json
import threading

import numpy as np
import pytest
from bits import print_with_threads
from joblib import parallel_config
from sklearn.base import clone
from small_estimators import ESTIMATORS, GRID
from threadpoolctl import threadpool_limits

from sparsekm import GapSearch, L0KMeans
from sparsekm.baselines.spectral import principal_axes
from sparsekm.runtime.threads import count_threads
from sparsekm.tuning.gaussian_mixing import mix_rows
from sparsekm.tuning.separation import MatchedFold, separation

# Estimators whose only shared work is on slices of the data.
BY_SLICES = {"k-means", "principal components", "IF-PCA", "SC-FS"}


@pytest.fixture(scope="module", name="X")
def data():
    """More samples than a global search takes, of clusters that are not clear."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((700, 16))
    X[:, :6] += rng.standard_normal((3, 6))[rng.integers(3, size=700)]
    return X


@pytest.fixture
def started(monkeypatch):
    """Names of the threads that were started."""
    names = []
    start = threading.Thread.start

    def record(thread):
        names.append(thread.name)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", record)
    return names


@pytest.mark.parametrize("name", ESTIMATORS)
def test_with_one_job_no_thread_is_started_and_results_are_those_of_any_number(name, X, started):
    estimator = clone(ESTIMATORS[name]).set_params(random_state=0, n_jobs=1)
    one = estimator.fit(X)
    assert one.predict(X).shape == (700,)
    assert started == []
    with parallel_config(n_jobs=1):
        clone(estimator).set_params(n_jobs=None).fit(X)
    assert started == []
    for n_jobs in (None, 3):
        other = clone(estimator).set_params(n_jobs=n_jobs).fit(X)
        for attribute in ("labels_", "feature_weights_"):
            expected = getattr(one, attribute).tobytes()
            assert getattr(other, attribute).tobytes() == expected, (n_jobs, attribute)


# A mixture takes several from a million values on.
@pytest.mark.parametrize("name", sorted(ESTIMATORS.keys() - {"mixture"}))
def test_by_default_cores_are_used(name, X, started, monkeypatch):
    monkeypatch.setattr("joblib._parallel_backends.cpu_count", lambda: 2)
    # Their sums over so few samples are not worth a thread.
    data = np.tile(X, (50, 1)) if name in BY_SLICES else X
    clone(ESTIMATORS[name]).set_params(random_state=0).fit(data)
    assert started


class _Watched(L0KMeans):
    """Counts the threads that paths have at the same moment."""

    in_use, most, lock = 0, 0, threading.Lock()

    def path(self, X, sparsities, *, progress=None):
        own, kind = count_threads(self.n_jobs), type(self)
        with kind.lock:
            kind.in_use += own
            kind.most = max(kind.most, kind.in_use)
        try:
            return super().path(X, sparsities, progress=progress)
        finally:
            with kind.lock:
                kind.in_use -= own


@pytest.mark.parametrize(("inner", "copies"), [(None, 1), (-1, 2), (-1, 1000)])
def test_a_search_in_a_search_has_no_more_threads_than_cores(X, inner, copies, monkeypatch):
    monkeypatch.setattr("joblib._parallel_backends.cpu_count", lambda: 4)
    monkeypatch.setattr("sparsekm.runtime.threads.MOST_BYTES_OF_COPIES", copies * X[:400].nbytes)
    monkeypatch.setattr(_Watched, "most", 0)
    search = GapSearch(_Watched(3, n_init=1, n_jobs=inner), n_references=7, **GRID)
    search.fit(X[:400])
    # One copy at a time has all cores; several have one or more each.
    assert (4 if copies == 1 else 1) <= _Watched.most <= 4


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
        for table in ("results_", "search_results_", "separation_"):
            if hasattr(fit, table):
                digest.update(getattr(fit, table).to_csv().encode())
        found[name] = [digest.hexdigest(), getattr(fit, "conclusion_", None)]
print(json.dumps(found))
"""
COMPARED = ["sparse", "gaussian gap", "shrunk gap"]


@pytest.fixture(scope="module")
def answers():
    """What a process whose library has one thread finds, and one whose library has two."""
    return [json.loads(printed) for printed in print_with_threads(SCRIPT)]


@pytest.mark.parametrize("name", COMPARED)
def test_threads_of_the_linear_algebra_library_change_no_result(name, answers):
    one, two = answers
    assert len(one[name][0]) == 64
    assert one[name] == two[name]


def valleys(rng):
    labels = np.arange(333, dtype=np.int32) % 6
    X, kept = rng.standard_normal((333, 777)), np.arange(400)
    everyone = np.arange(333)
    folds = [MatchedFold(everyone[5:], everyone[:5], labels, kept)]
    folds += [MatchedFold(everyone[:-9], everyone[-9:], labels, kept)]
    return separation(X, labels, kept, folds).to_numpy()


CALLS = {
    "separation": valleys,
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
