"""Linear algebra on one thread: the limit holds, is shared by threads, and is lifted."""

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from sparsekm.runtime.threads import one_blas_thread, run_side_by_side


def blas_threads():
    return {found["num_threads"] for found in threadpool_info() if found["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads():
    before = threadpool_limits(2, user_api="blas")
    # Leaving a context, this thread lets others set limits.
    with threadpool_limits():
        pass
    yield
    before.restore_original_limits()


def test_inside_there_is_one_thread_and_afterwards_as_many_as_before():
    with one_blas_thread:
        assert blas_threads() == {1}
        with one_blas_thread:
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == {2}


def test_a_function_can_be_wrapped_and_a_failure_lifts_the_limit():
    @one_blas_thread
    def fail():
        raise ValueError(f"threads: {blas_threads()}")

    with pytest.raises(ValueError, match="threads: {1}"):
        fail()
    assert blas_threads() == {2}


def test_searches_side_by_side_hold_it_also_where_the_caller_set_a_limit():
    with threadpool_limits(2, user_api="blas"):
        found = run_side_by_side(lambda _: blas_threads(), range(3), 2, 0)
        assert list(found) == [{1}, {1}, {1}]
    assert blas_threads() == {2}
