"""Work that is shared among forks."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from sparsekm.runtime.forks import share_among_processes

# Python 3.12 warns of any fork while there are threads, which pytest-xdist has.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@pytest.mark.parametrize("n_processes", [1, 2, 9])
def test_items_are_shared_and_come_back_in_order(n_processes):
    def work(item):
        time.sleep(0.02 * (item == 0))
        return item, os.getpid()

    items, workers = zip(*share_among_processes(work, range(5), n_processes), strict=True)
    assert items == (0, 1, 2, 3, 4)
    assert len(set(workers)) == min(n_processes, 5)


def test_an_error_or_a_death_in_one_of_the_forks_is_an_error_here():
    def work(item):
        if item == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        return {"known": 1}[item]

    with pytest.raises(KeyError, match="unknown"):
        list(share_among_processes(work, ["known", "unknown", "known"], 2))
    with pytest.raises(MemoryError, match="died"):
        list(share_among_processes(work, ["known", "dies"], 2))


SHARING = """
import os, time
from sparsekm.runtime.forks import share_among_processes

def work(item):
    os.write(1, b"%d\\n" % os.getpid())
    time.sleep(item)
    return bytes(2**20)

list(share_among_processes(work, [0.5, 0.5, 99, 99], 2))
"""


def test_the_forks_end_with_their_parent():
    with subprocess.Popen([sys.executable, "-c", SHARING], stdout=subprocess.PIPE) as parent:
        forks = [psutil.Process(int(parent.stdout.readline())) for _ in range(2)]
        parent.kill()
    # Their answers are longer than a pipe holds.
    assert psutil.wait_procs(forks, timeout=10)[1] == []
