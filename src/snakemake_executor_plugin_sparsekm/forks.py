"""Snakemake's own local executor, with forks of a process that has imported everything.

It uses modules that Snakemake may change in any version.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
from multiprocessing import forkserver, get_context
from multiprocessing.connection import wait
from pathlib import Path
from threading import Lock

from snakemake.benchmark import BenchmarkRecord, benchmarked, write_benchmark_records
from snakemake.exceptions import SpawnedJobError, WorkflowError
from snakemake.executors import local
from snakemake.iocontainers import Snakemake

# A process that forks should have one thread. Pandas loads pyarrow, whose jemalloc starts another.
_ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
_ONE_THREAD["JE_ARROW_MALLOC_CONF"] = "background_thread:false"
SERVER_DIED = (
    "ERROR in {}: the process that starts jobs was killed, perhaps for lack of memory (fewer cores "
    "need less). Run the same command to continue."
)
# The exit code that multiprocessing reports if the server that waits for a child is gone.
_UNKNOWN = 255


class ForkingExecutor(local.Executor):
    """Runs jobs on this machine, single-threaded scripts as forks of a prepared process."""

    def __post_init__(self) -> None:
        """Start the process that imports everything, while Snakemake prepares the first job."""
        super().__post_init__()
        # Imported here, after the Snakefile, which selects the copy of the package, was read.
        import sparsekm

        # A start also reads the status of all other children, which is possible only once.
        self.turn = Lock()
        self.context = get_context("forkserver")
        self.context.set_forkserver_preload(
            [__name__, "snakemake.cli", "sparsekm.pipeline.warm_imports"]
        )
        before, source = dict(os.environ), str(Path(sparsekm.__file__).parents[1])
        path = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")]))
        os.environ.update(_ONE_THREAD, PYTHONPATH=path)
        forkserver.ensure_running()
        os.environ.clear()
        os.environ.update(before)

    def run_single_job(self, job):
        """Submit a job to the pool of threads, each of which waits for a child."""
        # To limit the jobs per second, Snakemake wakes up every second once for each finished job,
        # which took a quarter of a run of eighty short jobs. Forks do not need a limit.
        scheduler = self.workflow.scheduler
        scheduler.job_rate_limiter = None
        scheduler.resources["_job_count"] = sys.maxsize
        if not self._can_fork(job):
            return super().run_single_job(job)
        self.workflow.async_run(job.prepare())
        return self.pool.submit(self._fork, job)

    def _can_fork(self, job) -> bool:
        settings = self.workflow.deployment_settings
        cached = self.workflow.workflow_settings.cache
        is_plain = not (settings.deployment_method or job.is_shadow or cached)
        is_short = job.threads == 1 and (job.benchmark_repeats or 1) == 1
        return is_plain and is_short and str(job.rule.script or "").endswith(".py")

    def _fork(self, job) -> None:
        script = job.rule.basedir.join(job.rule.script).get_path_or_uri(secret_free=True)
        of_job = job.input, job.output, job.params, job.wildcards, job.threads, job.resources
        # In a module, this is the module's configuration.
        config = job.rule.run_func.__globals__["config"]
        of_rule = job.log, config, job.rule.name, None, str(Path(script).parent)
        given, record = Snakemake(*of_job, *of_rule), BenchmarkRecord()
        child = self.context.Process(target=_run_script, args=(script, given, Path.cwd()))
        try:
            with self.turn:
                child.start()
        except (EOFError, OSError) as error:
            raise WorkflowError(SERVER_DIED.format(job.rule.name)) from error
        with benchmarked(child.pid if job.benchmark else False, record):
            wait([child.sentinel])
        with self.turn:
            child.join()
        if child.exitcode == _UNKNOWN:
            raise WorkflowError(SERVER_DIED.format(job.rule.name))
        if child.exitcode < 0:
            name = signal.Signals(-child.exitcode).name
            raise WorkflowError(f"ERROR in {job.rule.name}: its process died ({name}).")
        if child.exitcode:
            # The job has reported the reason.
            raise SpawnedJobError()
        if job.benchmark:
            from sparsekm.io.atomic import atomic_path, remove_unfinished

            extended, file = self.workflow.output_settings.benchmark_extended, Path(job.benchmark)
            # A Snakemake that was killed while it wrote this file left a part of it.
            remove_unfinished(file.parent, file.name)
            try:
                with atomic_path(file) as temporary:
                    write_benchmark_records([record], str(temporary), extended)
            except OSError as error:
                raise WorkflowError(f"ERROR in {job.rule.name}: {error}") from error


def _run_script(script: str, given: Snakemake, folder: Path) -> None:
    """Run a script of the workflow in this process, with Snakemake's arguments."""
    os.chdir(folder)
    sys.argv = [script]
    sys.path.append(str(Path(script).parent))
    runpy.run_path(script, {"snakemake": given}, "__main__")
