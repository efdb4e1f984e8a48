"""What every script shares: thread limits, a log, its turn, progress, and one line on failure.

A script decorates ``main`` with ``job(snakemake)`` and imports numerical libraries only inside its
functions: thread limits must be set before NumPy loads, and a failed import should be reported like
any other error.
"""

import logging
import os
import re
import sys
import time
import traceback
from collections import deque
from pathlib import Path

# The sources beside the scripts are the ones whose digest the rules know. This also serves
# environments made by conda, which cannot install the package from a relative path.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from sparsekm.command.job_name import name_job
from sparsekm.io.file_lock import lock_file

_SECONDS_BETWEEN_LINES = 5
_SECONDS_OF_PACE = 60


class Progress:
    """Tells how far a job is: every step in its log, and now and then on stderr.

    The time left is estimated from the pace of the last minute: steps that an earlier run had
    done take no time, and say nothing about those to come.
    """

    def __init__(self, job: str, clock=time.monotonic) -> None:
        self.job = job
        self._clock = clock
        self._last = clock()
        self._marks = deque([(self._last, 0)])

    def __call__(self, done: int, total: int, what: str = "steps") -> None:
        """Tell that `done` of `total` steps are done."""
        logging.info("%d of %d %s done", done, total, what)
        now = self._clock()
        self._marks.append((now, done))
        while len(self._marks) > 2 and now - self._marks[1][0] >= _SECONDS_OF_PACE:
            self._marks.popleft()
        if now - self._last >= _SECONDS_BETWEEN_LINES:
            self._last = now
            line = f"{self.job}: {done} of {total} {what} done{self._time_left(total)}"
            print(line, file=sys.stderr, flush=True)

    def _time_left(self, total: int) -> str:
        (start, before), (now, done) = self._marks[0], self._marks[-1]
        if not before < done < total:
            return ""
        seconds = round((now - start) / (done - before) * (total - done))
        minutes, hours = -(-seconds // 60), seconds / 3600
        left = f"{hours:.1f} h" if hours >= 2 else f"{minutes} min" if minutes > 1 else "a minute"
        return f", about {left} left"

    def counting(self, what: str):
        """Give a callable of (done, total) that counts `what`."""
        return lambda done, total: self(done, total, what)


def wait_for_turn(log: Path, job: str, tell=None):
    """Wait until nobody else does this job, and give what holds the turn until it is closed.

    A job outlives a Snakemake that was killed. Were it to finish after the job that was started
    in its place, perhaps with other settings, its files would pass for those of the new one.
    """
    turn = log.open("a")
    if not lock_file(turn, wait=False, tell=tell):
        line = f"{job}: waits for the same job of an earlier run, which still writes {log}"
        print(line, file=sys.stderr, flush=True)
        lock_file(turn)
    return turn


def clear_unfinished(outputs) -> None:
    """Remove what killed jobs left half-written of these files; only with this job's turn."""
    from sparsekm.io.atomic import remove_unfinished

    for output in map(Path, outputs):
        remove_unfinished(output.parent, output.name)


def peak_megabytes() -> float:
    """Return the most memory that this process, or a child of it, has had resident."""
    import resource

    unit = 2**20 if sys.platform == "darwin" else 2**10
    of_children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / unit
    status = Path("/proc/self/status")
    if status.exists():
        # Unlike ru_maxrss this leaves out what the parent had before this process began.
        own = int(re.search(r"VmHWM:\s*(\d+) kB", status.read_text())[1]) / 1024
    else:
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    return max(own, of_children)


def job(snakemake):
    """Run the decorated function at once, as `run` does."""
    return lambda main: run(main, snakemake)


def run(main, snakemake) -> None:
    """Run ``main(snakemake, progress)`` within the job's threads and with its log.

    If it fails, the log gets the traceback, stderr one line, and the exit status is 1.
    """
    for library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
        os.environ[f"{library}_NUM_THREADS"] = str(snakemake.threads)
    log = Path(snakemake.log[0])
    name = name_job(snakemake.rule, dict(snakemake.wildcards.items()))
    # On a full disk the line below is told, and nothing of logs that cannot be written.
    logging.raiseExceptions = False
    start = time.monotonic()
    # Lines that come before the log is this job's.
    early = []
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        with wait_for_turn(log, name, early.append):
            logging.basicConfig(
                filename=log, filemode="w", level=logging.INFO, format="%(asctime)s %(message)s"
            )
            # What a PDF leaves out of its fonts would be hundreds of lines.
            logging.getLogger("fontTools").setLevel(logging.WARNING)
            logging.captureWarnings(True)
            for line in early:
                logging.warning("%s", line)
            clear_unfinished(snakemake.output)
            from joblib import parallel_config

            # Estimators whose `n_jobs` is None take as many.
            with parallel_config(n_jobs=snakemake.threads):
                main(snakemake, Progress(name))
    except Exception as error:
        # Without a log the traceback would end up on stderr.
        if logging.root.handlers:
            logging.error("%s", traceback.format_exc())
        reason = " ".join(str(error).split()) or type(error).__name__
        print(f"ERROR in {name}: {reason} (log: {log})", file=sys.stderr, flush=True)
        sys.exit(1)
    # With the children that have ended.
    wall, cpu = time.monotonic() - start, sum(os.times()[:4])
    logging.info("done in %.1f s, with %.1f s of CPU and %.0f MB", wall, cpu, peak_megabytes())
