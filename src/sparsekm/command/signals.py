"""Signals that stop the command and, like Ctrl-C, everything that it started."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from sparsekm.pipeline.bounded_process import STOPS, handled


class Stopped(BaseException):
    """The command was told to stop, by this signal."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = signal.Signals(number)


def _stop(number: int, frame: object) -> NoReturn:
    raise Stopped(number)


@contextmanager
def stoppable() -> Iterator[None]:
    """Raise `Stopped` for the signals that stop a command, unless its parent ignored them.

    Signals that are ignored, as under nohup, are still ignored here, but by a function. Otherwise
    the command's own processes would inherit this and could not be interrupted.
    """
    ignored = [number for number in STOPS if signal.getsignal(number) == signal.SIG_IGN]
    with handled({**dict.fromkeys(STOPS, _stop), **dict.fromkeys(ignored, lambda *_: None)}):
        yield


def run_group(command: Sequence[str], **options: Any) -> int:
    """Run a command in its own process group, and return its exit status.

    If this process is stopped, the group is interrupted, and at a second signal killed. A separate
    group gets each signal only once: the terminal sends Ctrl-C to a whole group, and a signal to
    Snakemake alone would make it wait for its jobs.
    """
    # Signals are only recorded, and `Stopped` is raised at the end. If it were raised during the
    # start or the wait, processes could be left behind.
    told: list[int] = []
    noted = [number for number in STOPS if signal.getsignal(number) is _stop]
    with (
        handled(dict.fromkeys(noted, lambda number, _: told.append(number))),
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
