"""Whatever becomes of a process that works within limits, its parent says so in one line."""

import faulthandler
import mmap
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from sparsekm.io.input_error import InputError
from sparsekm.pipeline.bounded_process import (
    LEAST,
    LimitError,
    Limits,
    run_bounded,
)

# Python 3.12 warns of any fork while there are threads, which pytest-xdist has.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def message_of(error, work, limits=LEAST):
    with pytest.raises(error) as raised:
        run_bounded("m.h5", work, limits)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_the_kernel_is_told_the_limits():
    def read():
        kinds = resource.RLIMIT_CPU, resource.RLIMIT_FSIZE, resource.RLIMIT_CORE
        return [resource.getrlimit(kind)[0] for kind in kinds]

    assert run_bounded("m.h5", read, Limits(seconds=7.2, written=2**21)) == [8, 2**21, 0]


@pytest.mark.skipif(sys.platform != "linux", reason="macOS does not limit memory")
def test_the_limit_of_memory_is_beyond_what_is_in_use():
    limits = Limits(memory=2**26)
    # This process alone holds more.
    assert psutil.Process().memory_info().vms > limits.memory
    # Not of memory that was freed and is in use all the same.
    assert run_bounded("m.h5", lambda: len(mmap.mmap(-1, 2**25)), limits) == 2**25
    assert "ran out of memory" in message_of(LimitError, lambda: len(bytes(2**30)), limits)


def test_what_the_work_returns_and_writes_is_there_and_what_it_raises_is_one_line(tmp_path):
    assert run_bounded("m.h5", lambda: {"n": (tmp_path / "made").write_text("it")}) == {"n": 2}
    assert (tmp_path / "made").read_text() == "it"

    def refuse():
        raise InputError("m.h5: X has\nno name")

    assert message_of(InputError, refuse) == "m.h5: X has\\nno name"


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL])
def test_a_death_is_told_with_the_file_and_the_limits_and_leaves_nothing(number, tmp_path):
    def die():
        (tmp_path / "where").write_text(tempfile.mkdtemp())
        faulthandler.disable()
        os.kill(os.getpid(), number)

    message = message_of(LimitError, die)
    assert message.startswith(f"m.h5: the process that read it died ({number.name}); its limits ")
    assert "2048 MiB of memory, 60 s of processor time and 1024 MiB for a file" in message
    assert not Path((tmp_path / "where").read_text()).parent.exists()


def test_a_file_that_grows_above_its_limit_is_told_and_not_left_behind(tmp_path):
    def fill():
        with tempfile.NamedTemporaryFile(delete=False) as opened:
            (tmp_path / "where").write_text(opened.name)
            for _ in range(32):
                opened.write(bytes(2**16))

    message = message_of(LimitError, fill, Limits(written=2**20))
    begin = "m.h5: the process that read it wrote too much ([Errno 27] File too large"
    assert message.startswith(begin)
    assert "1 MiB for a file that it writes" in message
    assert not Path((tmp_path / "where").read_text()).parent.exists()


PARENT = """
import os, signal, time
from sparsekm.pipeline.bounded_process import run_bounded

def work():
    print(os.getpid(), os.environ["TMPDIR"], flush=True)
    time.sleep(60)

# In the background of a shell it is ignored.
signal.signal(signal.SIGINT, signal.SIG_DFL)
run_bounded("m.h5", work)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_the_parent_ends_both_and_leaves_nothing_behind(number):
    command = [sys.executable, "-c", PARENT]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as parent:
        child, folder = parent.stdout.readline().split()
        time.sleep(0.1)
        parent.send_signal(number)
        assert parent.wait(20) == -number
    with pytest.raises(ProcessLookupError):
        os.kill(int(child), 0)
    assert not Path(folder.decode()).exists()
