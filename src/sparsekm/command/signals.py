"""Signals that stop the command: they stop what it started as Ctrl-C does, jobs included."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """The command was told to stop, by this signal."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = signal.Signals(number)


@contextmanager
def stoppable() -> Iterator[None]:
    """Raise `Stopped` for the signals that stop a command, unless its starter had them ignored.

    Ignored signals, as under nohup, are still ignored here, but by a function: what the command
    starts would inherit the ignoring itself, and could not be interrupted.
    """

    def stop(number: int, frame: object) -> NoReturn:
        raise Stopped(number)

    before = {number: signal.getsignal(number) for number in _STOPS}
    for number, handler in before.items():
        signal.signal(number, (lambda *_: None) if handler == signal.SIG_IGN else stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run_group(command: Sequence[str], **options: Any) -> int:
    """Run a command in a process group of its own, and return its exit status.

    If this process is stopped, the group is interrupted, and at a second signal killed. A group of
    its own gets each signal once, whoever sends it: the terminal sends Ctrl-C to a whole group,
    and Snakemake alone would wait for its jobs.
    """
    with subprocess.Popen(command, process_group=0, **options) as process:
        try:
            return _wait(process)
        except Stopped:
            os.killpg(process.pid, signal.SIGINT)
            try:
                _wait(process)
            except Stopped:
                os.killpg(process.pid, signal.SIGKILL)
            raise


def _wait(process: subprocess.Popen) -> int:
    # Of two signals in quick succession, Python would not notice the second in Popen.wait.
    while (status := process.poll()) is None:
        time.sleep(0.1)
    return status
