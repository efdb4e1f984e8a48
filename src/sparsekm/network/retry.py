"""Retry temporary failures with exponential back-off and jitter, up to a limit."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

import tenacity

from sparsekm.network.errors import UnavailableError
from sparsekm.network.gate import LONGEST_PAUSE
from sparsekm.network.transport import TransientError

T = TypeVar("T")


class RetryPolicy:
    """The number of attempts, and the time to wait between them.

    The wait before attempt k + 1 is random, between half and all of first_wait * 2**(k - 1), at
    most longest_wait, so that clients that failed together do not retry together. If the server
    says how long to wait, the wait is at least that long. Results do not depend on the jitter.
    """

    def __init__(
        self,
        *,
        tries: int = 5,
        first_wait: float = 1.0,
        longest_wait: float = 60.0,
        sleep: Callable[[float], None] = time.sleep,
        jitter: random.Random | None = None,
    ):
        if tries < 1:
            raise ValueError(f"tries={tries} should be >= 1.")
        self._tries = tries
        self._first_wait, self._longest_wait = first_wait, longest_wait
        self._sleep = sleep
        self._jitter = jitter or random.Random()

    def call(self, attempt: Callable[[], T], what: str) -> T:
        """Call `attempt` until it raises no `TransientError`, and return its result.

        If no attempt succeeds, or the server asks for a pause longer than `LONGEST_PAUSE`, raise
        `UnavailableError`.
        """
        retrying = tenacity.Retrying(
            stop=tenacity.stop_any(tenacity.stop_after_attempt(self._tries), _asks_too_long),
            wait=self._choose_wait,
            retry=tenacity.retry_if_exception_type(TransientError),
            sleep=self._sleep,
            reraise=True,
        )
        try:
            return retrying(attempt)
        except TransientError as error:
            times = retrying.statistics["attempt_number"]
            raise UnavailableError(
                f"{what}: failed after {times} {'attempt' if times == 1 else 'attempts'} ({error})."
            ) from error

    def _choose_wait(self, state: tenacity.RetryCallState) -> float:
        longest = min(self._longest_wait, self._first_wait * 2.0 ** (state.attempt_number - 1))
        wait = longest * self._jitter.uniform(0.5, 1.0)
        return max(wait, _retry_after(state) or 0.0)


def _retry_after(state: tenacity.RetryCallState) -> float | None:
    return getattr(state.outcome.exception(), "retry_after", None)


def _asks_too_long(state: tenacity.RetryCallState) -> bool:
    return (_retry_after(state) or 0.0) > LONGEST_PAUSE
