"""Sharing a range of independent items among threads.

The compiled kernels release the interpreter lock, so plain threads use several cores. An item is
always computed whole by one thread, so the result does not depend on their number.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from joblib import effective_n_jobs


def count_threads(n_jobs: int | None) -> int:
    """Translate scikit-learn's `n_jobs` (None is 1, -1 is all cores) into a number of threads."""
    return effective_n_jobs(n_jobs)


def run_in_slices(
    work: Callable[[int, int], None], n_items: int, n_threads: int, multiple: int = 1
) -> None:
    """Call ``work(start, stop)`` on slices that together cover ``range(n_items)``.

    Parameters
    ----------
    work : callable
        Handles the items from start (included) to stop (excluded).
    n_items : int
        Number of items.
    n_threads : int
        Number of threads; one calls `work` directly.
    multiple : int
        Slices start at multiples of this number.
    """
    n_slices = max(1, min(n_threads, -(-n_items // multiple)))
    if n_slices == 1:
        work(0, n_items)
        return
    step = -(-n_items // n_slices)
    step = -(-step // multiple) * multiple
    bounds = [(start, min(start + step, n_items)) for start in range(0, n_items, step)]
    with ThreadPoolExecutor(len(bounds)) as pool:
        for future in [pool.submit(work, *bound) for bound in bounds]:
            future.result()
