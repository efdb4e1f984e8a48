"""In a folder of somebody else's, no library reads settings, and no kernel is taken from there."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from snakemake_process import outside

# Tells which files of the current folder a process looks at, by the interpreter's hook and `stat`.
WATCH = """
import os, sys
here, looked = os.getcwd(), set()
def note(path):
    if isinstance(path, (str, bytes, os.PathLike)):
        place = os.path.join(os.getcwd(), os.fsdecode(path))
        if os.path.dirname(place) == here:
            looked.add(os.path.basename(place))
def watched(plain):
    def watching(path, *given, **options):
        note(path)
        return plain(path, *given, **options)
    return watching
os.stat, os.lstat, os.scandir = map(watched, (os.stat, os.lstat, os.scandir))
sys.addaudithook(lambda event, given: note(given[0]) if event == "open" else None)
sys.path[:] = [path for path in sys.path if path]
"""
USE = """
import matplotlib.pyplot, numpy, numba
from sparsekm.runtime.compiled import compiled
import sparsekm.pl, sparsekm.tl, sparsekm.reporting.report, sparsekm.tuning.sparse_kmeans
import sparsekm.io.readers.reader, sparsekm.network, sparsekm.annotation.new_samples
assert numba.njit(lambda x: x + 1)(1) == 2
print(sorted(looked))
"""
# As the processes begin that work in the folder of a run.
BEGINNINGS = {
    "a job": "sys.path.insert(0, {scripts!r})\nimport workflow_job",
    "what jobs are forked from": "import sparsekm.pipeline.warm_imports",
    "the command": """
from sparsekm.command.main import main
try:
    main(["predict", "--help"])
except SystemExit:
    print()
""",
}
SETTINGS = {
    ".numba_config.yaml": "disable_jit: true\n",
    "matplotlibrc": "figure.dpi: 7\n",
    "setup.cfg": "",
    ".env": "SPARSEKM=1\n",
    ".condarc": "channels: [stranger]\n",
    "dask.yaml": "",
    "pyvenv.cfg": "home = /stranger\n",
    "evil.pth": "import stranger\n",
}


def start(code, folder, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=outside() | {"MPLBACKEND": "Agg"} | environment,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_no_library_looks_at_a_file_of_the_folder_it_works_in(tmp_path, project_root):
    for name, text in SETTINGS.items():
        (tmp_path / name).write_text(text)
    for who, beginning in BEGINNINGS.items():
        begin = beginning.format(scripts=str(project_root / "scripts"))
        assert start(WATCH + begin + USE, tmp_path).splitlines()[-1] == "[]", who
    # Without such a beginning they do: otherwise the line above would say nothing.
    told = start(WATCH + "import matplotlib, numba\nprint(sorted(looked))", tmp_path)
    assert told == "['.numba_config.yaml', 'matplotlibrc']\n"


class Payload:
    """Unpickled, this ends the process with a status of its own."""

    def __reduce__(self):
        return os._exit, (77,)


KERNEL = """
from sparsekm.runtime.compiled import compiled

@compiled
def add_one(x):
    return x + 1
"""
CALL = """
import own_kernel
print(own_kernel.add_one._cache._cache_file._index_path, flush=True)
assert own_kernel.add_one(1) == 2
"""


def test_only_the_environment_says_where_kernels_are_kept(tmp_path):
    package, notebook, evil = (tmp_path / name for name in ("package", "notebook", "evil"))
    package.mkdir()
    notebook.mkdir()
    (package / "own_kernel.py").write_text(KERNEL)
    theirs = outside() | {"PYTHONPATH": str(package)}

    def call(**environment):
        words = {"cwd": notebook, "env": theirs | environment, "capture_output": True, "text": True}
        done = subprocess.run([sys.executable, "-c", CALL], check=False, **words)
        return done.returncode, Path(done.stdout.strip())

    # What the user says is done, and an index is a program.
    status, index = call(NUMBA_CACHE_DIR=str(evil))
    assert status == 0
    assert index.is_relative_to(evil)
    index.write_bytes(pickle.dumps(Payload()))
    assert call(NUMBA_CACHE_DIR=str(evil)) == (77, index)
    locator = "numba.core.caching.UserProvidedCacheLocator"
    for settings in ({}, {"cache_locator_classes": locator}):
        text = yaml.safe_dump({"cache_dir": str(evil)} | settings)
        (notebook / ".numba_config.yaml").write_text(text)
        status, index = call()
        assert status == 0
        assert index.is_relative_to(package)
