"""The watch over trials sees what it should, or mutants that do harm would pass."""

import subprocess
import sys
from pathlib import Path

import pytest

PREAMBLE = """
import os, pickle, subprocess, sys
from pathlib import Path
from guard import bound_process, trial
watch = bound_process(Path(sys.argv[1]))
"""
HERE = Path(__file__).parent


def run(body, folder):
    code = PREAMBLE + f"with trial(watch) as cost:\n    {body}\nprint(cost.bytes, watch.offences)"
    return subprocess.run(
        [sys.executable, "-B", "-c", code, folder],
        cwd=HERE,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("act", "offence"),
    [
        ("Path(sys.argv[1]).with_name('escaped').open('a').close()", "writes"),
        ("Path(sys.argv[1]).with_name('escaped').unlink(missing_ok=True)", "os.remove"),
        ("pickle.loads(pickle.dumps(Path('a')))", "pickle.find_class"),
        ("subprocess.run(['true'])", "subprocess.Popen"),
        ("os.system('true')", "os.system"),
    ],
)
def test_harm_is_seen(tmp_path, act, offence):
    done = run(act, tmp_path)
    assert offence in done.stdout, (done.stdout, done.stderr)


def test_writing_inside_is_no_harm(tmp_path):
    done = run("(Path(sys.argv[1]) / 'a').write_text('b')", tmp_path)
    assert done.stdout.endswith("[]\n"), (done.stdout, done.stderr)


def test_memory_is_measured_and_bounded(tmp_path):
    done = run("len(bytearray(50 * 2**20))", tmp_path)
    assert 45 * 2**20 < int(done.stdout.split()[0]) < 80 * 2**20
    done = run("len(bytearray(2**31))", tmp_path)
    assert "MemoryError" in done.stderr
