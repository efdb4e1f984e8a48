"""Measuring one call: wall and CPU seconds, and the peak of resident memory it adds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joblib import parallel_config
from threadpoolctl import threadpool_limits


@dataclass(frozen=True)
class Measurement:
    """What a call returned and took: seconds, megabytes added, and megabytes in use at most."""

    result: Any
    wall: float
    cpu: float
    memory: float
    peak: float


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold libraries and estimators to one thread, so that CPU seconds are comparable."""
    with threadpool_limits(limits=1), parallel_config(n_jobs=1):
        yield


def measure(call: Callable[[], Any]) -> Measurement:
    """Run `call` once and measure it; memory is sampled every 20 ms."""
    before = _resident()
    peak = before
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.02):
            peak = max(peak, _resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        result = call()
    finally:
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        done.set()
        watcher.join()
    peak = max(peak, _resident())
    return Measurement(result, wall, cpu, peak - before, peak)


def _resident() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("/proc/self/status has no line VmRSS.")
