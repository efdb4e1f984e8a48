"""Limit the number and the rate of requests of all processes on a machine.

Each age of the atlas is downloaded by its own job, and jobs may run in parallel, but the servers
receive the sum of their requests. The limits are therefore kept in files that every process locks:
one file for each concurrent request, and one with the earliest time of the next request. A process
that dies releases its locks. If the file system does not support locks, each process applies the
limits separately.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sparsekm.io.file_lock import lock_file

LONGEST_PAUSE = 600.0
"""Seconds. A stored time further ahead is ignored: the clock must have been set back."""
_SECONDS_BETWEEN_LOOKS = 0.02


class RequestGate:
    """Limits the number of concurrent requests and the number started per second.

    Processes that share the folder of lock files share the limits. Requests are spaced evenly,
    without bursts. Tests pass their own clock and sleep.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        per_second: float = 2.0,
        at_once: int = 2,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ):
        if not per_second > 0:
            raise ValueError(f"requests_per_second={per_second} should be > 0.")
        if at_once < 1:
            raise ValueError(f"requests_at_once={at_once} should be >= 1.")
        self._folder = Path(folder)
        self._interval = 1.0 / per_second
        self._at_once = at_once
        self._clock, self._sleep = clock, sleep
        # These apply between threads even if files cannot be locked.
        self._own_places = threading.BoundedSemaphore(at_once)
        self._own_pace = threading.Lock()

    @contextmanager
    def passing(self) -> Iterator[None]:
        """Wait until a request may start; it counts as concurrent until the block ends."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with self._own_places, self._place():
            self._sleep_until_departure()
            yield

    def postpone(self, seconds: float) -> None:
        """Start no request for some seconds, as a server asked; at most `LONGEST_PAUSE`."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with self._locked_pace() as pace:
            until = self._clock() + min(seconds, LONGEST_PAUSE)
            self._write(pace, max(self._next_departure(pace), until))

    @contextmanager
    def _place(self) -> Iterator[None]:
        while True:
            for number in range(self._at_once):
                with (self._folder / f"place-{number}.lock").open("a") as place:
                    if lock_file(place, wait=False):
                        yield
                        return
            self._sleep(_SECONDS_BETWEEN_LOOKS)

    def _sleep_until_departure(self) -> None:
        """Reserve the next start time, then wait for it; later requests reserve later times."""
        with self._locked_pace() as pace:
            now = self._clock()
            departure = max(now, self._next_departure(pace))
            self._write(pace, departure + self._interval)
        if departure > now:
            self._sleep(departure - now)

    @contextmanager
    def _locked_pace(self) -> Iterator[int]:
        with self._own_pace:
            pace = os.open(self._folder / "next-departure", os.O_RDWR | os.O_CREAT, 0o666)
            try:
                lock_file(pace)
                yield pace
            finally:
                os.close(pace)

    def _next_departure(self, pace: int) -> float:
        try:
            stored = float(os.pread(pace, 64, 0))
        except ValueError:
            return 0.0
        # False for nan too.
        return stored if stored <= self._clock() + 2 * LONGEST_PAUSE else 0.0

    @staticmethod
    def _write(pace: int, departure: float) -> None:
        # A fixed width overwrites the old value; truncating first could let others read nothing.
        os.pwrite(pace, f"{departure:<32.6f}".encode(), 0)
