"""The job that adopts a matrix survives what its file does to the process that reads it."""

import runpy
import shutil
import subprocess
import sys
from types import SimpleNamespace

import h5py
import pytest

pytestmark = pytest.mark.xdist_group("hostile")

if __name__ == "__main__":
    script, source, folder, normalise = sys.argv[1:]

    class Files(list):
        normalised = f"{folder}/normalised.h5ad"

    class Inputs(list):
        matrix = source

    class Wildcards(dict):
        dataset = "cells"

    snakemake = SimpleNamespace(
        rule="normalise_matrix",
        wildcards=Wildcards(dataset="cells"),
        threads=1,
        input=Inputs([source]),
        output=Files([Files.normalised]),
        log=[f"{folder}/job.log"],
        # Nine seconds of processor time.
        resources=SimpleNamespace(mem_mb=100, runtime=0.05),
        params=SimpleNamespace(
            settings={"labels": "kind", "normalise": normalise}, simulated=False
        ),
    )
    runpy.run_path(script, init_globals={"snakemake": snakemake})


@pytest.fixture
def adopt(project_root, tmp_path):
    def run(source, normalise="zscore"):
        script = project_root / "scripts" / "normalise_matrix.py"
        command = [sys.executable, __file__, script, source, tmp_path, normalise]
        # Python finds the script's neighbours where a script is run from.
        environment = {"PYTHONPATH": str(script.parent), "PATH": "/usr/bin:/bin"}
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)

    return run


@pytest.mark.parametrize(
    ("part", "value", "normalise", "message"),
    [
        ("indices", 10**6, "zscore", "in rows from 1 on, indices must be < 5"),
        ("data", -3, "counts", "normalise: counts requires values >= 0; the smallest is -3.0"),
    ],
)
def test_bad_values_in_sparse_data_end_in_one_line(
    adopt, sound, tmp_path, part, value, normalise, message
):
    shutil.copy(sound / "sparse.h5ad", tmp_path / "m.h5ad")
    with h5py.File(tmp_path / "m.h5ad", "r+") as opened:
        opened["X"][part][0] = value
    done = adopt(tmp_path / "m.h5ad", normalise)
    assert done.returncode == 1
    assert done.stderr.startswith("ERROR in cells: normalise matrix: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "normalised.h5ad").exists()


@pytest.mark.release
def test_a_file_that_hangs_its_reader_ends_in_one_line(adopt, sound, tmp_path):
    body = bytearray((sound / "dense.h5ad").read_bytes())
    # A string that says it has no size: HDF5 walks on the spot.
    first = body.index(b"GCOL\x01\0\0\0") + 16
    body[first : first + 16] = bytes(16)
    (tmp_path / "m.h5ad").write_bytes(body)
    done = adopt(tmp_path / "m.h5ad")
    assert done.returncode == 1
    start = f"ERROR in cells: normalise matrix: {tmp_path}/m.h5ad: the process that read it took"
    assert done.stderr.startswith(start)
    assert "too long; its limits are 2248 MiB of memory, 9 s of processor time" in done.stderr
    assert "--set-resources normalise_matrix:mem_mb=N (or runtime)" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "normalised.h5ad").exists()
