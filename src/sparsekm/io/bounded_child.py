"""Read a file from someone else in a child process with limits on memory and time.

A few damaged bytes can make the libraries that parse such a file crash, hang or fill the memory, in
more ways than checks can anticipate. A child process therefore reads the file, checks the content
and writes the file that all other jobs read; it returns an exit code and one line of text. Whatever
happens to the child, the parent raises a one-line error that names the file.

The kernel enforces the limits: address space (not on macOS, which does not enforce this limit) and
processor time, which unlike wall time does not run out sooner on a busy machine.
"""

from __future__ import annotations

import contextlib
import logging
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, NoReturn

from sparsekm.io.input_error import InputError, reason_of

BASE_BYTES = 2 * 2**30
"""Address space for the libraries and small objects."""
BASE_SECONDS = 60
"""Processor time for a small file."""
BYTES_PER_SECOND = 10 * 2**20
"""The slowest rate at which a large file may be read and written."""


class Allowance(NamedTuple):
    """What a file may take beyond the limits for small files."""

    memory: int  # bytes
    processed: int = 0  # bytes that take processor time, if more than those held


class LimitError(InputError):
    """A file that crashed the process reading it, or exceeded its limits."""


def run_bounded(
    file: str | Path, work: Callable[[], object], measure: Callable[[], Allowance] | None = None
) -> None:
    """Process a file from someone else in a child process with limits.

    `work` writes its result to files. `measure` returns what `work` may take, according to what
    the file declares; it is also called in the child, within the limits for small files. An error
    in the child becomes an `InputError` with the same message; a crash or an exceeded limit becomes
    a `LimitError`.
    """
    told, tell = os.pipe()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    child = os.fork()
    if not child:
        os.close(told)
        _be_child(tell, work, measure)
    os.close(tell)
    try:
        with os.fdopen(told, encoding="utf-8", errors="replace") as lines:
            last = ""
            for line in lines:
                last = line.rstrip("\n")
    except BaseException:
        # Whoever stopped this process does not know of the other.
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code < 0:
        what = "took too long" if code == -signal.SIGXCPU else f"died ({_name_signal(-code)})"
        raise LimitError(f"{file}: the process that read it {what}; {last}. {_ADVICE}")
    if code == _OUT_OF_MEMORY:
        raise LimitError(f"{file}: {last}. {_ADVICE}")
    if code:
        raise InputError(last or f"{file}: the process that read it ended with code {code}.")


_ADVICE = (
    "The file is damaged or contains more than it declares (write it again), or the machine has "
    "too little memory for it."
)
_OUT_OF_MEMORY = 3


def _be_child(
    tell: int, work: Callable[[], object], measure: Callable[[], Allowance] | None
) -> NoReturn:
    """Work within limits, report the limits or the error, and exit; never return."""
    # If not even the error can be reported, there is no memory left.
    code, limits = _OUT_OF_MEMORY, ""
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        limits = _set_limits(Allowance(0))
        _write_line(tell, limits)
        if measure is not None:
            limits = _set_limits(measure())
            _write_line(tell, limits)
        work()
        code = 0
    except MemoryError as error:
        _write_line(tell, f"reading it ran out of memory ({reason_of(error)}); {limits}")
    except BaseException as error:
        if logging.root.handlers:
            logging.error("%s", traceback.format_exc())
        _write_line(tell, str(error) or type(error).__name__)
        code = 1
    finally:
        # Skip what the parent will do when it exits, such as flushing.
        os._exit(code)


def _write_line(tell: int, text: str) -> None:
    os.write(tell, " ".join(text.split()).encode("utf-8", "replace") + b"\n")


def _set_limits(allowance: Allowance) -> str:
    """Set the limits of this process, and describe them."""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    held = min(allowance.memory, machine)
    seconds = BASE_SECONDS + max(held, allowance.processed) // BYTES_PER_SECOND
    space = BASE_BYTES + held
    _lower(resource.RLIMIT_AS, _address_space() + space)
    _lower(resource.RLIMIT_CPU, seconds)
    return f"its limits are {space // 2**20} MiB of memory and {seconds} s of processor time"


def _lower(kind: int, wanted: int) -> None:
    """Set a soft limit, at most the hard limit."""
    _, hard = resource.getrlimit(kind)
    # macOS refuses to limit the address space.
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(kind, (wanted if hard < 0 else min(wanted, hard), hard))


def _address_space() -> int:
    """Return the address space in use, or 0 if it is not known."""
    try:
        pages = Path("/proc/self/statm").read_text().split()[0]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _name_signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
