"""An edit of any source reaches every kernel that holds it."""

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
    f"from tiny.{folder.replace('/', '.')}.outer import outer; print(outer({{x}}))"
    for folder in CALLERS
)


def write_inner(root, constant):
    (root / "tiny" / "cluster" / "kmeans" / "inner.py").write_text(
        "from tiny.runtime.compiled import compiled\n\n\n"
        f"@compiled\ndef inner(x):\n    return x + {constant}\n"
    )


@pytest.fixture
def run_callers(tmp_path):
    """Give what calls the callers in a new process, with kernels kept beside the sources."""
    for folder in (*CALLERS, "cluster/kmeans", "runtime"):
        (tmp_path / "tiny" / folder).mkdir(parents=True)
    for folder in CALLERS:
        (tmp_path / "tiny" / folder / "outer.py").write_text(CALLER)
    shutil.copy(compiled.__file__, tmp_path / "tiny" / "runtime")
    write_inner(tmp_path, 1)
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")
    }
    environment |= {"PYTHONPATH": str(tmp_path), "NUMBA_DEBUG_CACHE": "1"}

    def begin(x):
        return subprocess.Popen(
            [sys.executable, "-c", RUN.format(x=x)],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )

    def end(process):
        lines = process.communicate()[0].splitlines()
        assert process.returncode == 0
        call.n_compiled += sum(line.startswith("[cache] data saved to") for line in lines)
        return [float(line) for line in lines if not line.startswith("[cache]")]

    def call(*values):
        started = [begin(x) for x in values or (1,)]
        return [value for process in started for value in end(process)]

    call.n_compiled = 0
    call.root = tmp_path
    call.kept = lambda: {file: file.read_bytes() for file in tmp_path.rglob("*.nb[ic]")}
    return call


def test_an_edited_inner_kernel_changes_what_its_callers_return_and_others_stay(run_callers):
    assert run_callers() == [20, 20]
    kept = run_callers.kept()
    assert kept
    write_inner(run_callers.root, 2)
    assert run_callers() == [30, 30]
    assert kept.items() < run_callers.kept().items()


@pytest.mark.release
def test_processes_that_start_together_compile_each_kernel_once_and_keep_it(run_callers):
    assert run_callers(1, 1, 1) == [20, 20] * 3
    # The inner kernel and two outer ones.
    assert run_callers.n_compiled == 3
    kept = run_callers.kept()
    run_callers()
    assert run_callers.n_compiled == 3
    assert run_callers.kept() == kept
