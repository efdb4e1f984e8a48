"""Work in a separate process, with limits on memory, processor time and file size.

Damaged files can make the libraries that parse them crash, hang, or fill the memory or the disk, in
more ways than checks can anticipate. Therefore every job, and the command's own summary of a table,
works in a child process, whose limits the kernel enforces (macOS does not limit memory). Processor
time, unlike wall time, does not run out sooner on a busy machine.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import math
import os
import resource
import signal
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from sparsekm.io.input_error import InputError, hide_secrets, reason_of

MOST_ANSWER = 2**24
"""Bytes of the longest result that is accepted from a child."""
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that end a process."""


class Limits(NamedTuple):
    """The limits of a process; the defaults suffice for a small file."""

    memory: int = 2**31  # bytes of address space, beyond those in use at the start
    seconds: float = 60  # of processor time
    written: int = 2**30  # bytes of any one file

    def __str__(self) -> str:
        """Describe the limits for a message."""
        return (
            f"its limits are {self.memory // 2**20} MiB of memory, {self.seconds:.0f} s of "
            f"processor time and {self.written // 2**20} MiB for a file that it writes"
        )


LEAST = Limits()


class LimitError(InputError):
    """A process that died or exceeded a limit; the message names the file and the limits."""


def run_bounded(file: str | Path, work: Callable[[], Any], limits: Limits = LEAST) -> Any:
    """Call `work` in a child process with limits, and return its result, which must fit JSON.

    `file` is the file that `work` reads, for messages. An error in the child becomes an
    `InputError` with the same message; a crash or an exceeded limit becomes a `LimitError`.
    """
    context = get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    with (
        _forwarding() as forward,
        tempfile.TemporaryDirectory(prefix="sparsekm-", ignore_cleanup_errors=True) as scratch,
        receiver,
    ):
        child = context.Process(target=_answer, args=(sender, work, limits, scratch))
        child.start()
        sender.close()
        forward(child.pid)
        try:
            answer = json.loads(receiver.recv_bytes(MOST_ANSWER))
        except (EOFError, OSError, ValueError):
            answer = {"limit": "ended without an answer"}
        child.join()
    if child.exitcode == -signal.SIGXCPU:
        answer = {"limit": "took too long"}
    elif child.exitcode < 0:
        answer = {"limit": f"died ({signal.Signals(-child.exitcode).name})"}
    if "limit" in answer:
        raise LimitError(
            f"{file}: the process that read it {answer['limit']}; {limits}. The file is damaged or "
            "contains more than it declares (write it again), or the machine has too little memory "
            "for it."
        )
    if "error" in answer:
        raise InputError(answer["error"])
    return answer["value"]


@contextlib.contextmanager
def handled(handlers: Mapping[int, Callable[[int, Any], Any]]) -> Iterator[None]:
    """Handle signals by these functions for a while."""
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _forwarding() -> Iterator[Callable[[int], None]]:
    """Pass the signals that should end this process on to a child; obey them when it has ended."""
    caught: list[int] = []
    children: list[int] = []

    def catch(number: int, _: object) -> None:
        caught.append(number)
        for child in children:
            # The child may have ended.
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, number)

    def forward(child: int) -> None:
        children.append(child)
        for number in caught:
            os.kill(child, number)

    # Only this thread may handle signals in Python.
    is_main = threading.current_thread() is threading.main_thread()
    with handled(dict.fromkeys(STOPS if is_main else (), catch)):
        yield forward
    for number in caught:
        os.kill(os.getpid(), number)


def _answer(sender: Connection, work: Callable[[], Any], limits: Limits, scratch: str) -> None:
    """Work within limits, and send the outcome."""
    # If even the error cannot be reported, there is no memory left.
    answer: dict[str, Any] = {"limit": "ran out of memory"}
    try:
        if threading.current_thread() is threading.main_thread():
            for number in STOPS:
                signal.signal(number, signal.SIG_DFL)
        # Libraries read the variable, and Python reads the attribute.
        os.environ["TMPDIR"] = tempfile.tempdir = scratch
        _set_limits(limits)
        answer = {"value": work()}
    except MemoryError as error:
        answer["limit"] += f" ({reason_of(error)})"
    except BaseException as error:
        if logging.root.handlers:
            logging.error("%s", hide_secrets(traceback.format_exc()))
        reason = hide_secrets(" ".join(str(error).split())) or type(error).__name__
        is_limit = getattr(error, "errno", None) == errno.EFBIG or "File too large" in reason
        answer = {"limit": f"wrote too much ({reason})"} if is_limit else {"error": reason}
    finally:
        with contextlib.suppress(BaseException):
            sender.send_bytes(json.dumps(answer).encode())


def _set_limits(limits: Limits) -> None:
    in_use = 0
    # macOS does not report this.
    with contextlib.suppress(OSError):
        pages = Path("/proc/self/statm").read_text().split()[0]
        in_use = int(pages) * os.sysconf("SC_PAGE_SIZE")
    wanted = {
        # A child that dies does not leave a copy of its memory.
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_AS: in_use + limits.memory,
        resource.RLIMIT_CPU: math.ceil(limits.seconds),
        resource.RLIMIT_FSIZE: limits.written,
    }
    for kind, soft in wanted.items():
        _, hard = resource.getrlimit(kind)
        # macOS refuses to limit the address space.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (soft if hard < 0 else min(soft, hard), hard))
