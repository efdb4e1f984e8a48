"""Whatever becomes of the child that reads a stranger's file, the parent says so in one line."""

import faulthandler
import os
import signal
import sys

import pytest

from sparsekm.io import bounded_child
from sparsekm.io.bounded_child import Allowance, LimitError, run_bounded
from sparsekm.io.input_error import InputError

# Python 3.12 warns of any fork while there are threads, which pytest-xdist has.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def message_of(error, work, measure=None):
    with pytest.raises(error) as raised:
        run_bounded("m.h5", work, measure)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_what_the_child_writes_is_there(tmp_path):
    run_bounded("m.h5", lambda: (tmp_path / "made").write_text("it"))
    assert (tmp_path / "made").read_text() == "it"


def test_what_the_child_raises_is_told_in_one_line():
    def refuse():
        raise InputError("m.h5: X has\nno name")

    message = message_of(InputError, refuse)
    assert message == "m.h5: X has\\nno name"


def test_nothing_of_the_parent_is_done_twice(capfd):
    print("once", end="")
    run_bounded("m.h5", lambda: None)
    assert capfd.readouterr().out == "once"


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL])
def test_a_child_that_dies_is_told_with_the_file_and_the_limits(number):
    def die():
        faulthandler.disable()
        os.kill(os.getpid(), number)

    message = message_of(LimitError, die)
    assert message.startswith(f"m.h5: the process that read it died ({number.name}); its limits ")
    assert "2048 MiB of memory and 60 s of processor time" in message


def test_a_child_that_never_ends_is_told_with_the_file_and_the_limit(monkeypatch):
    monkeypatch.setattr(bounded_child, "BASE_SECONDS", 1)

    def hang():
        while True:
            pass

    message = message_of(LimitError, hang)
    assert message.startswith("m.h5: the process that read it took too long; its limits are ")
    assert "and 1 s of processor time" in message


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS does not limit the address space")
def test_a_child_may_take_the_memory_that_its_file_declares_and_no_more(monkeypatch):
    monkeypatch.setattr(bounded_child, "BASE_BYTES", 2**28)
    message = message_of(LimitError, lambda: bytearray(2**29))
    assert message.startswith("m.h5: reading it ran out of memory (MemoryError); its limits are ")
    assert "256 MiB of memory" in message
    run_bounded("m.h5", lambda: bytearray(2**29), lambda: Allowance(2**29))
    assert "768 MiB" in message_of(LimitError, lambda: bytearray(2**30), lambda: Allowance(2**29))


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS does not limit the address space")
def test_measuring_has_limits_too(monkeypatch):
    monkeypatch.setattr(bounded_child, "BASE_BYTES", 2**28)
    message = message_of(LimitError, lambda: None, lambda: len(bytearray(2**29)))
    assert "256 MiB of memory" in message


def test_a_child_ends_with_a_parent_that_is_stopped(tmp_path):
    class Stopped(BaseException):
        pass

    def stop(number, frame):
        raise Stopped

    def work():
        (tmp_path / "child").write_text(str(os.getpid()))
        os.kill(os.getppid(), signal.SIGUSR1)
        signal.pause()

    before = signal.signal(signal.SIGUSR1, stop)
    try:
        with pytest.raises(Stopped):
            run_bounded("a.csv", work)
    finally:
        signal.signal(signal.SIGUSR1, before)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "child").read_text()), 0)
