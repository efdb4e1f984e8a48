"""A file is written whole or not at all, and locked where that can be."""

import errno
import os
import shutil
import subprocess
import sys

import pytest

from sparsekm.io import atomic
from sparsekm.io.atomic import atomic_path, lock_file, remove_unfinished, write_text


def test_a_finished_block_leaves_only_the_file_with_its_content(tmp_path):
    with atomic_path(tmp_path / "new" / "a.txt") as temporary:
        assert temporary.parent == tmp_path / "new"
        assert temporary.suffix == ".txt"
        temporary.write_text("whole")
        assert not (tmp_path / "new" / "a.txt").exists()
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["a.txt"]
    assert (tmp_path / "new" / "a.txt").read_text() == "whole"


def test_a_failure_leaves_the_old_file_and_nothing_half_written(tmp_path):
    write_text("old", tmp_path / "a.txt")

    def fail():
        with atomic_path(tmp_path / "a.txt") as temporary:
            temporary.write_text("ha")
            raise RuntimeError("disk full")

    with pytest.raises(RuntimeError, match="disk full"):
        fail()
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


FULL = [
    OSError(errno.ENOSPC, "No space left on device"),
    OSError(errno.EDQUOT, "Disk quota exceeded"),
    # HDF5 tells by words alone.
    RuntimeError("write failed: errno = 28, error message = 'No space left on device', buf = 0"),
]


@pytest.mark.parametrize("error", FULL)
def test_a_full_disk_is_told_with_the_files_own_name(tmp_path, error):
    def fail():
        with atomic_path(tmp_path / "a.txt"):
            raise error

    with pytest.raises(OSError, match="make space and run again: '.*/a.txt'") as caught:
        fail()
    assert caught.value.errno == errno.ENOSPC
    assert list(tmp_path.iterdir()) == []


def test_what_killed_writers_left_is_removed_and_nothing_else(tmp_path):
    for name in (".12.partial.a.txt", ".13.partial.b.txt", "a.txt", ".hidden"):
        (tmp_path / name).write_text("x")
    remove_unfinished(tmp_path, "a.txt")
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        ".13.partial.b.txt", ".hidden", "a.txt"
    ]  # fmt: skip
    remove_unfinished(tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == [".hidden", "a.txt"]
    remove_unfinished(tmp_path / "absent")


def test_what_a_disk_has_no_room_for_is_not_begun(tmp_path):
    file, too_much = tmp_path / "a.h5ad", 2 * shutil.disk_usage(tmp_path).free
    message = "No space left on device; .*a.h5ad"
    with pytest.raises(OSError, match=message), atomic_path(file, n_bytes=too_much):
        pytest.fail("begun")


def test_who_comes_second_is_told_so_until_the_first_lets_go(tmp_path):
    with (tmp_path / "a").open("a") as first, (tmp_path / "a").open("a") as second:
        assert lock_file(first)
        assert not lock_file(second, wait=False)
        first.close()
        assert lock_file(second, wait=False)


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK])
def test_on_a_file_system_without_locks_the_work_goes_on(tmp_path, monkeypatch, number):
    def flock(opened, how):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(atomic.fcntl, "flock", flock)
    with (tmp_path / "a").open("a") as opened:
        assert lock_file(opened, wait=False)


def test_what_make_runs_first_says_in_one_line_what_is_supported(tmp_path):
    code = "import runpy, sys\nsys.modules['fcntl'] = None\n"
    code += "runpy.run_module('sparsekm.pipeline.stale_lock', run_name='__main__')"
    options = {"cwd": tmp_path, "capture_output": True, "text": True, "check": False}
    done = subprocess.run([sys.executable, "-c", code], **options)
    assert done.returncode == 1
    assert done.stderr == f"ERROR: {atomic.SUPPORTED}\n"
