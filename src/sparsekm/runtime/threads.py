"""Share the cores: a range of items among threads, and threads among searches.

The kernels release the interpreter lock. An item is always computed by one thread, and BLAS, whose
sums depend on its threads, uses one thread. Therefore no result depends on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ContextDecorator
from functools import cache
from numbers import Integral
from threading import Lock, local
from typing import TypeVar

# Both NumPy and SciPy have a BLAS; the controller limits the libraries that are loaded when it is
# created.
import scipy.linalg  # noqa: F401
from joblib import Parallel, delayed, parallel_config
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController


class _OneBlasThread(ContextDecorator):
    """One limit for the process, which several threads can hold at once; the last one lifts it.

    A thread that already holds it does not set it again, because this takes as long as a small fit.
    """

    def __init__(self) -> None:
        self._own = local()
        self._lock = Lock()
        self._holders = 0
        self._before = None

    def __enter__(self) -> None:
        self._own.depth = getattr(self._own, "depth", 0) + 1
        if self._own.depth > 1:
            return
        with self._lock:
            if self._holders == 0:
                self._before = _controller().limit()
            self._holders += 1
            # It is set even if others hold it, because some libraries keep a limit for every
            # thread.
            _controller().limit(limits=1, user_api="blas")
            _let_others_set()

    def __exit__(self, *exception) -> None:
        self._own.depth -= 1
        if self._own.depth:
            return
        with self._lock:
            self._holders -= 1
            if self._holders == 0:
                self._before.restore_original_limits()
                _let_others_set()


@cache
def _controller() -> ThreadpoolController:
    """Find the libraries, which takes hundreds of times as long as limiting them."""
    return ThreadpoolController()


def _let_others_set() -> None:
    """Leave a context; since threadpoolctl 3.8, OpenBLAS obeys other threads only after this."""
    with _controller().limit():
        pass


one_blas_thread = _OneBlasThread()


Item = TypeVar("Item")
Result = TypeVar("Result")

# The bytes that parallel searches, each with a copy of its data, may hold together. Beyond this,
# memory does not grow with the number of cores. One search always runs.
MOST_BYTES_OF_COPIES = 2**29
# A number of additions that takes somewhat longer than starting a thread.
WORTH_A_THREAD = 2**18


def count_threads(n_jobs: int | None) -> int:
    """Translate `n_jobs` into a number of threads.

    None and -1 are all cores that the process may use (affinity and control group). Within
    `joblib.parallel_config(n_jobs=...)` they are that number, and within a parallel joblib job 1.
    Other numbers have joblib's meaning: -2 is all cores but one.
    """
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral)):
        raise TypeError(f"n_jobs={n_jobs!r} should be None or an integer.")
    if n_jobs == 0:
        raise ValueError(f"n_jobs={n_jobs} should be None, >= 1, or < 0; -1 is all cores.")
    backend, granted = get_active_backend()
    if n_jobs is None or n_jobs == -1:
        n_jobs = granted
    if n_jobs is None:
        # joblib has no public way to ask whether this is one of its jobs.
        n_jobs = 1 if getattr(backend, "nesting_level", 0) else -1
    return backend.effective_n_jobs(n_jobs)


def grant_threads(n_jobs: int | None) -> parallel_config:
    """Limit calls in this context to the threads that `n_jobs` stands for."""
    return parallel_config(n_jobs=count_threads(n_jobs))


def count_at_once(n_threads: int, n_items: int, copy_bytes: int) -> int:
    """Return how many items, each of which holds `copy_bytes`, run at the same time."""
    return max(1, min(n_threads, n_items, MOST_BYTES_OF_COPIES // max(1, copy_bytes)))


def run_side_by_side(
    work: Callable[[Item], Result], items: Sequence[Item], n_jobs: int | None, copy_bytes: int
) -> Iterator[Result]:
    """Call ``work(item)`` on every item, several at once, and yield the results in order.

    `work` is granted its share of the threads of `n_jobs`, and holds `copy_bytes`.
    """
    n_threads = count_threads(n_jobs)
    at_once = count_at_once(n_threads, len(items), copy_bytes)

    def work_with_share(item):
        with parallel_config(n_jobs=n_threads // at_once):
            return work(item)

    pool = Parallel(n_jobs=at_once, require="sharedmem", return_as="generator")
    # The limit is held here for all threads.
    with one_blas_thread:
        yield from pool(delayed(work_with_share)(item) for item in items)


def worth_a_thread(item_size: int) -> int:
    """Return how many items with a number of additions each are worth a thread."""
    return max(1, WORTH_A_THREAD // max(1, item_size))


def run_in_slices(
    work: Callable[[int, int], None], n_items: int, n_threads: int, multiple: int = 1
) -> None:
    """Call ``work(start, stop)`` on slices that together cover ``range(n_items)``.

    Slices start at multiples of `multiple`, the number of small items that is worth a thread.
    """
    n_slices = max(1, min(n_threads, -(-n_items // multiple)))
    if n_slices == 1:
        work(0, n_items)
        return
    step = -(-n_items // (n_slices * multiple)) * multiple
    bounds = [(start, min(start + step, n_items)) for start in range(0, n_items, step)]
    with ThreadPoolExecutor(len(bounds)) as pool:
        for future in [pool.submit(work, *bound) for bound in bounds]:
            future.result()


def take_turns(work: Callable[[int], None], n_items: int, n_workers: int) -> None:
    """Call `work` on every item; a worker that has finished one takes the next.

    The last items come first, because they have dense sparsities and take longest.
    """
    left = iter(range(n_items - 1, -1, -1))

    def work_through(first: int, last: int) -> None:
        # All workers share one iterator.
        for item in left:
            work(item)

    run_in_slices(work_through, n_workers, n_workers)
