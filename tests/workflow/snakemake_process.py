"""Snakemake run in a folder, each time as the fork of a process that imported it, which is slow."""

import multiprocessing
import os
import subprocess
import sys
import tempfile
from multiprocessing.reduction import DupFd
from pathlib import Path

# A run of a small matrix that the workflow simulates, and the command that runs a configuration.
DRAWN = {"methods": ["kmeans"], "n_init": 2}
DRAWN["matrices"] = {"small": {"draw": {"experiment": "experiment_3", "n_features": 25}}}
RUN = [sys.executable, "-m", "sparsekm.command.main", "run", "config.yaml"]
_loaded = multiprocessing.get_context("forkserver")
_loaded.set_forkserver_preload(
    [
        "snakemake.cli",
        "snakemake.persistence.file",
        "snakemake.scheduling.job_scheduler",
        "snakemake_executor_plugin_slurm",
        "snakemake_executor_plugin_cluster_generic",
        "jsonschema",
    ]
)


def write_submit(file: Path, noted: Path | str = os.devnull) -> None:
    """Write a stand-in for sbatch, which runs the script of a job and notes that it did."""
    run = 'sh "$1" >"$1.txt" 2>&1 &'
    file.write_text(f'#!/bin/sh\n{run}\necho submitted >>"{noted}"\necho 1\n')
    file.chmod(0o755)


def printed(done: subprocess.CompletedProcess) -> str:
    """Give what a command printed, which should have succeeded."""
    assert done.returncode == 0, done.stdout
    return done.stdout


def run_snakemake(root: Path, *arguments: str) -> subprocess.CompletedProcess:
    """Run snakemake in the folder `root` and return its output, stderr with stdout."""
    with tempfile.TemporaryFile() as output:
        process = _loaded.Process(target=_run, args=(root, arguments, DupFd(output.fileno())))
        process.start()
        process.join()
        output.seek(0)
        text = output.read().decode(errors="replace")
    return subprocess.CompletedProcess(["snakemake", *arguments], process.exitcode, text)


def outside() -> dict[str, str]:
    """Give the environment without another copy of the package, and a profile of the user's."""
    ours = ("PYTHONPATH", "SNAKEMAKE_PROFILE")
    known = os.environ.items()
    return {name: value for name, value in known if not name.startswith(("COV_", *ours))}


def run_command(command, folder: Path, **environment: str) -> subprocess.CompletedProcess:
    """Run a command in a folder and return its output, stderr with stdout."""
    told = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "timeout": 900}
    return subprocess.run(command, cwd=folder, env=outside() | environment, check=False, **told)


def _run(root, arguments, output) -> None:
    from snakemake.cli import main

    sink = output.detach()
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    os.chdir(root)
    for name in {*os.environ} - {*outside()}:
        del os.environ[name]
    sys.argv = ["snakemake", *arguments]
    main(list(arguments))
