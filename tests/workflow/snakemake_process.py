"""Snakemake run in a folder, without importing it anew each time.

The imports take longer than most dry runs. So each run is the fork of a process that did these
imports and nothing else: it shares no state with other runs, nor with the tests.
"""

import multiprocessing
import os
import subprocess
import sys
import tempfile
from multiprocessing.reduction import DupFd
from pathlib import Path

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


def run_snakemake(root: Path, *arguments: str) -> subprocess.CompletedProcess:
    """Run snakemake in the folder `root` and return its output, stderr with stdout."""
    with tempfile.TemporaryFile() as output:
        process = _loaded.Process(target=_run, args=(root, arguments, DupFd(output.fileno())))
        process.start()
        process.join()
        output.seek(0)
        text = output.read().decode(errors="replace")
    return subprocess.CompletedProcess(["snakemake", *arguments], process.exitcode, text)


def _run(root, arguments, output) -> None:
    from snakemake.cli import main

    sink = output.detach()
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    os.chdir(root)
    # Neither another copy of the package nor a profile of the user's.
    for name in [*os.environ]:
        if name in ("PYTHONPATH", "SNAKEMAKE_PROFILE") or name.startswith("COV_"):
            del os.environ[name]
    sys.argv = ["snakemake", *arguments]
    main(list(arguments))
