"""Heaps of strings are found wherever they lie, and looking for them takes no memory."""

import subprocess
import sys

import h5py
import numpy as np
import pytest

from sparsekm.storage import hdf5_heaps
from sparsekm.storage.hdf5_heaps import find_broken_heap


@pytest.mark.parametrize("offset", range(9))
def test_a_broken_heap_is_found_where_it_lies_across_two_windows(offset, monkeypatch, tmp_path):
    monkeypatch.setattr(hdf5_heaps, "_WINDOW_BYTES", 16)
    file = tmp_path / "heap"
    # A heap that claims to be longer than its file.
    file.write_bytes(bytes(24 + offset) + hdf5_heaps._MARK + (10**6).to_bytes(8, "little"))
    assert find_broken_heap(file) == f"the heap of strings at byte {24 + offset} is damaged"
    file.write_bytes(bytes(24 + offset) + hdf5_heaps._MARK + (16).to_bytes(8, "little"))
    assert find_broken_heap(file) is None


MEASURE = """
import sys
from pathlib import Path
from sparsekm.storage.checked_hdf5 import open_checked

def resident(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1]) / 1024

before = resident("VmRSS")
with open_checked(sys.argv[1], "made"):
    pass
print(resident("VmHWM") - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory in use is read from /proc")
def test_opening_a_large_matrix_does_not_take_its_size_in_memory(tmp_path):
    with h5py.File(tmp_path / "large.h5", "w") as opened:
        opened["X"] = np.zeros((1000, 25_000), dtype=np.float32)
        opened["names"] = ["a", "b"]
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, tmp_path / "large.h5"],
        capture_output=True,
        text=True,
        check=True,
    )
    # The matrix is 95 MB.
    assert float(done.stdout) < 40
