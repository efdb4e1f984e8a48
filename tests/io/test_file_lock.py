"""Locks on files: of others, of file systems that have none, of systems that have none."""

import errno
import os
import subprocess
import sys

import pytest

from sparsekm.io import atomic
from sparsekm.io.atomic import lock_file

WITHOUT_FCNTL = """
import sys
sys.modules["fcntl"] = None
"""


@pytest.fixture
def without_locks(monkeypatch):
    """Every call of flock fails in a way."""

    def fail_with(number):
        def flock(opened, how):
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(atomic.fcntl, "flock", flock)

    return fail_with


def test_who_comes_second_is_told_so_until_the_first_lets_go(tmp_path):
    with (tmp_path / "a").open("a") as first, (tmp_path / "a").open("a") as second:
        assert lock_file(first)
        assert not lock_file(second, wait=False)
        first.close()
        assert lock_file(second, wait=False)


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK])
def test_on_a_file_system_without_locks_the_work_goes_on(tmp_path, without_locks, number):
    without_locks(number)
    with (tmp_path / "a").open("a") as opened:
        assert lock_file(opened, wait=False)


def test_what_make_runs_first_says_in_one_line_what_is_supported(project_root, tmp_path):
    script = project_root / "scripts" / "clear_stale_lock.py"
    code = f"{WITHOUT_FCNTL}\nimport runpy\nrunpy.run_path({str(script)!r}, run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr == f"ERROR: {atomic.SUPPORTED}\n"
