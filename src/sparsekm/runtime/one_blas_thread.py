"""Linear algebra whose bits do not depend on how many threads the libraries have.

A BLAS that shares a product or a decomposition among threads sums in another order than one that
does not. On one thread the same machine gives the same bits every time.
"""

from __future__ import annotations

from contextlib import ContextDecorator
from functools import cache
from threading import Lock

# Both NumPy and SciPy bring a BLAS; the controller limits those that are loaded when it is made.
import scipy.linalg  # noqa: F401
from threadpoolctl import ThreadpoolController


class _OneBlasThread(ContextDecorator):
    """One limit for the process, which several threads can hold at once: the last one lifts it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._holders = 0
        self._before = None

    def __enter__(self) -> None:
        with self._lock:
            if self._holders == 0:
                self._before = _controller().limit()
            self._holders += 1
            # Also where others hold it: some libraries keep a limit for every thread.
            _controller().limit(limits=1, user_api="blas")
            _let_others_set()

    def __exit__(self, *exception) -> None:
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
    """Change nothing, in a context of its own.

    Since threadpoolctl 3.8 a thread that set a limit is the only one whose limits OpenBLAS obeys,
    until it leaves a context.
    """
    with _controller().limit():
        pass


one_blas_thread = _OneBlasThread()
