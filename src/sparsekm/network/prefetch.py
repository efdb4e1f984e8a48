"""Fetch several things at a time, and take them in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def fetch_in_order(fetch: Callable[[T], R], items: Sequence[T], *, at_once: int) -> Iterator[R]:
    """Yield ``fetch(item)`` of each item, in the order of the items, from up to `at_once` threads.

    With 1 no thread is started. At most twice as many results wait to be taken, so that memory
    stays bounded where taking is slower than fetching.
    """
    if at_once == 1:
        yield from map(fetch, items)
        return
    pool = ThreadPoolExecutor(at_once, thread_name_prefix="fetch")
    waiting: deque[Future[R]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(fetch, item))
            if len(waiting) >= 2 * at_once:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        # After an error nothing more is asked for.
        pool.shutdown(cancel_futures=True)
