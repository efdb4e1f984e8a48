"""How many threads there are, how they are shared, and linear algebra on one of them."""

import os
import subprocess
import sys
from threading import Barrier

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from sparsekm.runtime import threads
from sparsekm.runtime.threads import count_threads, one_blas_thread, run_side_by_side

RESTRICTED = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
from sparsekm.runtime.threads import count_threads
print(count_threads(None), count_threads(-1))
"""


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs CPU affinity")
def test_a_process_held_to_one_core_has_one_thread():
    found = subprocess.run(
        [sys.executable, "-c", RESTRICTED],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.split() == ["1", "1"]


def test_none_is_the_cores_that_the_process_may_use(monkeypatch):
    monkeypatch.setattr("joblib._parallel_backends.cpu_count", lambda: 3)
    # Limits of the libraries are not limits of the package's own threads.
    for library in ("OMP", "OPENBLAS", "MKL"):
        monkeypatch.setenv(f"{library}_NUM_THREADS", "1")
    assert [count_threads(n_jobs) for n_jobs in (None, -1, -2, 1, 2, 7)] == [3, 3, 2, 1, 2, 7]


@pytest.mark.parametrize(("share", "at_once", "each"), [(0, 5, 1), (1 / 3, 3, 2), (7, 1, 8)])
def test_no_more_run_at_once_than_memory_allows_and_threads_are_shared(share, at_once, each):
    meeting = Barrier(at_once)

    def work(item):
        # Ends only when as many run at once as should.
        if item < at_once:
            meeting.wait(timeout=60)
        running.append(item)
        most.append(len(running))
        granted = count_threads(None)
        # Whoever asks for all of them has no more.
        assert count_threads(-1) == granted
        running.remove(item)
        return item, granted

    running, most = [], []
    found = run_side_by_side(work, range(5), 8, int(share * threads.MOST_BYTES_OF_COPIES))
    assert list(found) == [(item, each) for item in range(5)]
    assert max(most) <= at_once
    assert at_once * each <= 8


def test_a_failure_in_one_of_several_is_told():
    def work(item):
        if item == 2:
            raise ValueError("the third")
        return item

    with pytest.raises(ValueError, match="the third"):
        list(run_side_by_side(work, range(4), 2, 0))


def blas_threads():
    return {found["num_threads"] for found in threadpool_info() if found["user_api"] == "blas"}


@pytest.fixture
def two_threads():
    before = threadpool_limits(2, user_api="blas")
    # Leaving a context, this thread lets others set limits.
    with threadpool_limits():
        pass
    yield
    before.restore_original_limits()


def test_linear_algebra_has_one_thread_inside_and_as_many_as_before_afterwards(two_threads):
    @one_blas_thread
    def fail():
        with one_blas_thread:
            assert blas_threads() == {1}
        raise ValueError(f"threads: {blas_threads()}")

    with pytest.raises(ValueError, match="threads: {1}"):
        fail()
    assert blas_threads() == {2}
    # Where the caller set a limit, too.
    with threadpool_limits(2, user_api="blas"):
        assert list(run_side_by_side(lambda _: blas_threads(), range(3), 2, 0)) == [{1}, {1}, {1}]
    assert blas_threads() == {2}
