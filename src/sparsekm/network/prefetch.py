"""Fetch several items concurrently and return them in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def fetch_in_order(fetch: Callable[[T], R], items: Sequence[T], *, at_once: int) -> Iterator[R]:
    """Yield ``fetch(item)`` for each item, in order, using up to `at_once` threads.

    With 1 no thread is started. At most ``2 * at_once`` results wait to be consumed, so that memory
    stays bounded if they are consumed slowly.
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
        # After an error nothing more is fetched.
        pool.shutdown(cancel_futures=True)
