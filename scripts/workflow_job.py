"""What every script shares: thread limits, a log, a lock, progress, and one line on failure.

A script decorates ``main`` with ``job(snakemake)`` and imports numerical libraries only inside its
functions: thread limits must be set before NumPy loads, and a failed import should be reported like
any other error.
"""

import os
import sys
from pathlib import Path

# Use the sources next to the scripts, which the rules digest. This also works in conda
# environments, which cannot install the package from a relative path. Nothing is imported from the
# folder in which a job works, by a relative entry, or from the folder in which Snakemake puts its
# scripts.
_given = [".", ".snakemake/scripts", *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
_theirs = {os.path.abspath(each) for each in _given if not each.startswith("/")}  # noqa: PTH100
sys.path[:] = [each for each in sys.path if os.path.abspath(each) not in _theirs]  # noqa: PTH100
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import contextlib
import logging
import resource
import shutil
import time
from collections import deque

from sparsekm.io.atomic import lock_file, open_to_append, remove_unfinished
from sparsekm.io.input_error import shorten
from sparsekm.pipeline.workflow_files import name_job, record_files
from sparsekm.runtime.unread_settings import leave_unread

leave_unread()

_SECONDS_BEFORE_A_LINE = 2
_SECONDS_BETWEEN_LINES = 5
_SECONDS_OF_PACE = 60


def tell_user(line: str, *, stays: bool = True) -> None:
    """Print a line on stderr. On a terminal it replaces the previous temporary line."""
    end = "\n"
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        if not stays:
            line, end = line[: shutil.get_terminal_size().columns - 1], ""
        line = f"\r\x1b[K{line}"
    print(line, end=end, file=sys.stderr, flush=True)


class Progress:
    """Reports the progress of a job: every step in its log, and from time to time on stderr.

    The time left is estimated from the pace of the last minute, because steps that an earlier run
    had finished take no time and do not predict the others.
    """

    def __init__(self, job: str, clock=time.monotonic) -> None:
        self.job = job
        self._clock = clock
        start = clock()
        self._next = start + _SECONDS_BEFORE_A_LINE
        self._marks = deque([(start, 0)])

    def __call__(self, done: int, total: int, what: str = "steps") -> None:
        """Report that `done` of `total` steps are done."""
        logging.info("%d of %d %s done", done, total, what)
        now = self._clock()
        self._marks.append((now, done))
        while len(self._marks) > 2 and now - self._marks[1][0] >= _SECONDS_OF_PACE:
            self._marks.popleft()
        # The only step is the job itself, whose end is reported anyway.
        if total > 1 and now >= self._next:
            self._next = now + _SECONDS_BETWEEN_LINES
            tell_user(
                f"{self.job}: {done} of {total} {what} done{self._time_left(total)}", stays=False
            )

    def _time_left(self, total: int) -> str:
        (start, before), (now, done) = self._marks[0], self._marks[-1]
        # The first steps include the start of the job.
        if not before < done < total or (before == 0 and done < 3):
            return ""
        seconds = round((now - start) / (done - before) * (total - done))
        minutes, hours = -(-seconds // 60), seconds / 3600
        if minutes <= 1:
            return ", less than a minute left"
        return f", about {hours:.1f} h left" if hours >= 2 else f", about {minutes} min left"

    def counting(self, what: str):
        """Return a callable of (done, total) that reports the number of `what`."""
        return lambda done, total: self(done, total, what)


def job(snakemake):
    """Run the decorated function at once, as `run` does."""
    return lambda main: run(main, snakemake)


def run(main, snakemake) -> None:
    """Run ``main(snakemake, progress)`` in a process with limits, the job's threads and its log.

    If it fails, the log gets the traceback, stderr one line, and the exit status is 1.
    """
    for library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
        os.environ[f"{library}_NUM_THREADS"] = str(snakemake.threads)
    log = Path(snakemake.log[0])
    name = name_job(snakemake.rule, dict(snakemake.wildcards.items()))
    # If the disk is full, print only the line below and no errors about the log.
    logging.raiseExceptions = False
    from sparsekm.pipeline.bounded_process import LEAST, LimitError, Limits, run_bounded

    # The limits are generous, because the resources of a job are estimates.
    of_job, mebibyte = snakemake.resources, 2**20
    limits = Limits(
        memory=LEAST.memory + 2 * of_job.mem_mb * mebibyte,
        seconds=3 * 60 * of_job.runtime * snakemake.threads,
        written=LEAST.written + max(of_job.mem_mb, getattr(of_job, "disk_mb", 0)) * mebibyte,
    )
    try:
        # The start of the run usually does this, but not if this workflow is a module.
        record_files(log, snakemake.output)
        file = next(iter(snakemake.input), name)
        run_bounded(file, lambda: _work(main, snakemake, name, log), limits)
    except Exception as error:
        line = shorten(" ".join(str(error).split()), 1000) or type(error).__name__
        if isinstance(error, LimitError):
            line += (
                f" Or allow the job more: --set-resources {snakemake.rule}:mem_mb=N (or runtime)."
            )
            # The process that died could not report this.
            with contextlib.suppress(OSError), open_to_append(log) as opened:
                opened.write(f"{line}\n")
        tell_user(f"ERROR in {name}: {line} (log: {log})")
        sys.exit(1)


def _work(main, snakemake, name, log) -> None:
    start = time.monotonic()
    # A job outlives a killed Snakemake. If it finished after the job that replaced it, perhaps with
    # other settings, its files would be mistaken for the new job's files.
    with open_to_append(log) as turn:
        if not lock_file(turn, wait=False):
            told = "waiting for the same job of an earlier run, which still writes"
            tell_user(f"{name}: {told} {log}")
            lock_file(turn)
        logging.basicConfig(
            filename=log,
            filemode="w",
            encoding="utf-8",
            level=logging.INFO,
            format="%(asctime)s %(message)s",
        )
        # Otherwise each PDF would log hundreds of lines about fonts.
        logging.getLogger("fontTools").setLevel(logging.WARNING)
        logging.captureWarnings(True)
        for output in map(Path, snakemake.output):
            remove_unfinished(output.parent, output.name)
        from joblib import parallel_config

        # Estimators with `n_jobs=None` use this number of threads.
        with parallel_config(n_jobs=snakemake.threads):
            main(snakemake, Progress(name))
    wall, cpu = time.monotonic() - start, sum(os.times()[:2])
    # The unit is bytes on macOS and kilobytes elsewhere.
    unit = 2**20 if sys.platform == "darwin" else 2**10
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    logging.info("done in %.1f s, with %.1f s of CPU and %.0f MB", wall, cpu, peak)
