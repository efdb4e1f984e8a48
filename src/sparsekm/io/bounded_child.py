"""Read a stranger's file in a child process whose memory and time are capped.

The libraries that parse such a file can crash, hang or fill the memory on a few damaged bytes, and
no check of ours foresees all the ways. So a child reads it, checks what was read, and writes the
file that everything else reads; back come an exit code and one line of text. Whatever becomes of
the child, the parent raises one line that names the file.

The caps are the kernel's: address space (not on macOS, which does not keep that limit) and
processor time, which on a busy machine does not run out sooner.
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
from typing import NoReturn

from sparsekm.io.input_error import InputError, reason_of

BASE_BYTES = 2 * 2**30
"""Address space for what the libraries map and for whatever is small."""
BASE_SECONDS = 60
"""Processor time for whatever is small."""
BYTES_PER_SECOND = 10 * 2**20
"""How slowly what takes memory may be read and written at least."""


class LimitError(InputError):
    """A file that ended the process that read it."""


def run_bounded(
    file: str | Path, work: Callable[[], object], measure: Callable[[], int] | None = None
) -> None:
    """Do something with a stranger's file in a child process with limits.

    `work` writes its result to files. `measure` gives how many bytes it may take, from what the
    file declares; it is called in the child too, within the limits for what is small. What the
    child raises becomes an `InputError` with the same message; a crash, or a limit, a `LimitError`.
    """
    told, tell = os.pipe()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    child = os.fork()
    if not child:
        os.close(told)
        _be_child(tell, work, measure)
    os.close(tell)
    with os.fdopen(told, encoding="utf-8", errors="replace") as lines:
        last = ""
        for line in lines:
            last = line.rstrip("\n")
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code < 0:
        what = "took too long" if code == -signal.SIGXCPU else f"died ({_name_signal(-code)})"
        raise LimitError(f"{file}: the process that read it {what}; {last}. {_ADVICE}")
    if code == _OUT_OF_MEMORY:
        raise LimitError(f"{file}: {last}. {_ADVICE}")
    if code:
        raise InputError(last or f"{file}: the process that read it ended with code {code}.")


_ADVICE = (
    "The file is damaged, or holds more than it declares: write it anew; or the machine has too "
    "little memory for it."
)
_OUT_OF_MEMORY = 3


def _be_child(tell: int, work: Callable[[], object], measure: Callable[[], int] | None) -> NoReturn:
    """Work within limits, tell the last one, or what went wrong, and end; never return."""
    # What cannot even be told is for lack of memory.
    code, limits = _OUT_OF_MEMORY, ""
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        limits = _set_limits(0)
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
        # Nothing that the parent would do at its end, such as flushing, is done twice.
        os._exit(code)


def _write_line(tell: int, text: str) -> None:
    os.write(tell, " ".join(text.split()).encode("utf-8", "replace") + b"\n")


def _set_limits(n_bytes: int) -> str:
    """Set this process's limits for work that takes so many bytes, and put them in words."""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    n_bytes = min(n_bytes, machine)
    seconds = BASE_SECONDS + n_bytes // BYTES_PER_SECOND
    space = BASE_BYTES + n_bytes
    _lower(resource.RLIMIT_AS, _address_space() + space)
    _lower(resource.RLIMIT_CPU, seconds)
    return f"its limits are {space // 2**20} MiB of memory and {seconds} s of processor time"


def _lower(kind: int, wanted: int) -> None:
    """Set a soft limit, as far as the hard one allows it."""
    _, hard = resource.getrlimit(kind)
    # macOS refuses to limit the address space.
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(kind, (wanted if hard < 0 else min(wanted, hard), hard))


def _address_space() -> int:
    """Give what this process has mapped; where that cannot be known, nothing."""
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
