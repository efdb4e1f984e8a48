"""An edit of any source reaches every kernel that holds it; who has to wait is told why."""

import os
import shutil
import subprocess
import sys

import pytest

from sparsekm.runtime import compiled

CALLER = """
from tiny.runtime.compiled import compiled
from tiny.cluster.kmeans.inner import inner


@compiled
def outer(x):
    return 10 * inner(x)
"""
# A caller beside the inner kernel's folder, and one in another room, each called as a user would.
CALLERS = ("cluster/search", "baselines")
RUN = "; ".join(
    f"from tiny.{folder.replace('/', '.')}.outer import outer; print(outer(1))"
    for folder in CALLERS
)


def write_inner(root, constant):
    (root / "tiny" / "cluster" / "kmeans" / "inner.py").write_text(
        "from tiny.runtime.compiled import compiled\n\n\n"
        f"@compiled\ndef inner(x):\n    return x + {constant}\n"
    )


@pytest.fixture
def start(tmp_path):
    """Give what calls the callers in a new process, with kernels kept beside the sources."""
    for folder in (*CALLERS, "cluster/kmeans", "runtime"):
        (tmp_path / "tiny" / folder).mkdir(parents=True)
    for folder in CALLERS:
        (tmp_path / "tiny" / folder / "outer.py").write_text(CALLER)
    shutil.copy(compiled.__file__, tmp_path / "tiny" / "runtime")
    write_inner(tmp_path, 1)
    inherited = {name: value for name, value in os.environ.items() if name[:6] != "NUMBA_"}
    shared = {"env": inherited | {"PYTHONPATH": str(tmp_path), "NUMBA_DEBUG_CACHE": "1"}}
    shared |= {"stdout": subprocess.PIPE, "text": True}
    return lambda code=RUN, **more: subprocess.Popen([sys.executable, "-c", code], **shared | more)


def read(process):
    """Return what a process has printed, and how many kernels it compiled and kept."""
    lines = process.communicate()[0].splitlines()
    assert process.returncode == 0
    kept = sum(line.startswith("[cache] data saved to") for line in lines)
    return [float(line) for line in lines if not line.startswith("[cache]")], kept


def test_an_edited_inner_kernel_changes_what_its_callers_return_and_others_stay(start, tmp_path):
    def kept():
        return {file: file.read_bytes() for file in tmp_path.rglob("*.nb[ic]")}

    # The inner kernel and two outer ones.
    assert read(start()) == ([20, 20], 3)
    before = kept()
    write_inner(tmp_path, 2)
    assert read(start()) == ([30, 30], 3)
    assert before.items() < kept().items()


def test_kernels_compile_where_files_cannot_be_locked(start):
    # As on Windows.
    assert read(start(f"import sys; sys.modules['fcntl'] = None; {RUN}")) == ([20, 20], 3)


@pytest.mark.release
def test_processes_that_start_together_compile_each_kernel_once(start):
    found = [read(process) for process in [start() for _ in range(3)]]
    assert [printed for printed, _ in found] == [[20, 20]] * 3
    assert sum(kept for _, kept in found) == 3


# Each of two outer kernels takes more than a second to compile.
SLOW = """
import time
from numba.extending import overload
from tiny.runtime.compiled import compiled


def add_one(x):
    return x + 1


@overload(add_one)
def type_slowly(x):
    time.sleep(1.2)
    return lambda x: x + 1


@compiled
def first(x):
    return add_one(x)


@compiled
def second(x):
    return 2.0 * add_one(x)
"""


def test_slow_compiling_is_announced_once_and_never_where_kernels_are_kept(start, tmp_path):
    (tmp_path / "tiny" / "baselines" / "slow.py").write_text(SLOW)
    run = "from tiny.baselines.slow import first, second; print(first(1.5) + second(1))"
    for told in (1, 0):
        process = start(run, stderr=subprocess.PIPE)
        printed, errors = process.communicate()
        assert printed.splitlines()[-1] == "6.5"
        lines = errors.splitlines()
        assert len(lines) == told
        assert all("happens once" in line for line in lines)
