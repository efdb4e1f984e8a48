"""Signals that stop the command: they stop what it started as Ctrl-C does, jobs included."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """The command was told to stop, by this signal."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = signal.Signals(number)


def _stop(number: int, frame: object) -> NoReturn:
    raise Stopped(number)


def _ignore(number: int, frame: object) -> None:
    pass


@contextmanager
def stoppable() -> Iterator[None]:
    """Raise `Stopped` for the signals that stop a command, unless its starter had them ignored.

    Ignored signals, as under nohup, are still ignored here, but by a function: what the command
    starts would inherit the ignoring itself, and could not be interrupted.
    """
    before = {number: signal.getsignal(number) for number in _STOPS}
    with _handled({n: _ignore if old == signal.SIG_IGN else _stop for n, old in before.items()}):
        yield


@contextmanager
def _handled(handlers: Mapping[int, Callable[[int, object], None]]) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
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
    # Noted, and `Stopped` raised at the end: raised while the group is being started or waited
    # for, it could leave what nobody knows of.
    told: list[int] = []
    noted = [number for number in _STOPS if signal.getsignal(number) is _stop]
    with (
        _handled(dict.fromkeys(noted, lambda number, _: told.append(number))),
        subprocess.Popen(command, process_group=0, **options) as process,
    ):
        sent = 0
        while (status := process.poll()) is None:
            if len(told) > sent:
                os.killpg(process.pid, signal.SIGKILL if sent else signal.SIGINT)
                sent = len(told)
            time.sleep(0.1)
    if told:
        raise Stopped(told[0])
    return status
