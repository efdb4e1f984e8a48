"""The progress output of a run, for Snakemake's ``--logger sparsekm``.

In a log there is a line per finished job; on a terminal there is one line with a bar, which is
updated. Snakemake finds the plugin by the name of this package, which has to be next to `sparsekm`.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections import defaultdict
from importlib.metadata import version
from logging import LogRecord
from statistics import fmean, median
from threading import Event, Thread

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

# Rules that only name targets and do nothing.
_TARGETS = ("all", "results", "total")
_NOTHING_TO_DO = "Nothing to be done"
_BAR = 20  # letters
_CLEAR = "\r\x1b[K"  # back to the start of the line, and erase it
# After this many seconds without a line, the jobs that are running are named again. Long runs are
# reminded less often, so that their logs stay short.
_LEAST_SILENCE, _SHARE_OF_RUN = 2, 0.05


class LogHandler(LogHandlerBase):
    """Prints to stderr which job has finished, which jobs are running, and the time left."""

    writes_to_stream = True
    writes_to_file = False
    has_filter = True
    has_formatter = True
    needs_rulegraph = False

    def __post_init__(self) -> None:
        """Start with no jobs."""
        self.clock = time.monotonic
        self.begin = self.last_line = self.clock()
        # For each job id: rule, readable name, start time.
        self.running: dict[int, tuple[str, str, float]] = {}
        self.durations: dict[str, list[float]] = defaultdict(list)
        self.planned: dict[str, int] = {}
        self.n_done = 0
        self.rewrites = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self.is_open = False  # whether the updated line has no end yet
        from snakemake_executor_plugin_sparsekm import KNOWN

        found = version("snakemake")
        self.is_known = found.startswith(KNOWN)
        if not self.is_known:
            self._tell(f"The logger sparsekm does not know Snakemake {found}; messages are plain.")
        self.ended = Event()
        Thread(target=self._keep_reminding, daemon=True).start()

    def emit(self, record: LogRecord) -> None:
        """Print an event if it matters to the user."""
        match getattr(record, "event", None):
            case _ if not self.is_known:
                self._tell(record.getMessage())
            case LogEvent.RUN_INFO if not self.planned:
                self.planned = {
                    rule: int(count) for rule, count in record.stats.items() if rule not in _TARGETS
                }
            case LogEvent.JOB_INFO if record.rule_name in self.planned:
                # Only after the Snakefile was read, which selects the copy of the package.
                from sparsekm.pipeline.workflow_files import name_job

                about = name_job(record.rule_name, record.wildcards)
                self.running[record.jobid] = record.rule_name, about, self.clock()
                if self.rewrites or (not self.n_done and len(self.running) == 1):
                    self._tell_what_runs()
            case LogEvent.JOB_FINISHED if record.job_id in self.running:
                self._tell_end(*self.running.pop(record.job_id))
            case LogEvent.JOB_ERROR if record.jobid in self.running:
                _, about, _ = self.running.pop(record.jobid)
                self._tell(f"FAILED: {about}; log: {', '.join(map(str, record.log or ()))}")
            # A failed job prints its own, more informative line.
            case LogEvent.ERROR if record.exception != "RuleException":
                self._tell(record.getMessage())
            case None if record.getMessage().startswith(_NOTHING_TO_DO):
                self._tell("Everything is up to date.")

    def close(self) -> None:
        """End the updated line and the reminders."""
        self.ended.set()
        if self.is_open:
            print(file=sys.stderr, flush=True)
        self.is_open = False
        super().close()

    def remind(self) -> None:
        """Name the jobs that are running, if nothing was printed for some time."""
        now = self.clock()
        if self.running and now - self.last_line >= max(
            _LEAST_SILENCE, _SHARE_OF_RUN * (now - self.begin)
        ):
            self._tell_what_runs()

    def _keep_reminding(self) -> None:
        while not self.ended.wait(0.5):
            with self.lock:
                self.remind()

    def _tell_end(self, rule: str, about: str, begin: float) -> None:
        """Print which job has finished, which jobs are running, and the time left."""
        seconds = self.clock() - begin
        self.durations[rule].append(seconds)
        self.n_done += 1
        if self.rewrites:
            self._draw_bar()
            return
        line = f"{self._count()}  {about}: done in {_duration(seconds)}"
        self._tell(f"{line}{self._what_runs()}{self._time_left()}")

    def _tell_what_runs(self) -> None:
        if self.rewrites:
            self._draw_bar()
        else:
            self._tell(f"{self._count()}{self._what_runs()}")

    def _count(self) -> str:
        return f"{self.n_done:3d} of {sum(self.planned.values())}"

    def _draw_bar(self) -> None:
        """Update the line of a terminal: progress, time left, and running jobs."""
        total = sum(self.planned.values())
        full = "#" * (_BAR * self.n_done // total)
        done = f"[{full:.<{_BAR}}] {self.n_done} of {total}"
        line = f"{done}{self._time_left()}{self._what_runs()}"
        # A line that wraps could not be updated.
        width = shutil.get_terminal_size().columns - 1
        shown = line if len(line) <= width else f"{line[: width - 3]}..."
        print(f"{_CLEAR}{shown}", end="", file=sys.stderr, flush=True)
        self.is_open, self.last_line = True, self.clock()

    def _tell(self, line: str) -> None:
        """Print a permanent line."""
        print(f"{_CLEAR}{line}" if self.rewrites else line, file=sys.stderr, flush=True)
        self.is_open, self.last_line = False, self.clock()

    def _what_runs(self) -> str:
        """Name the jobs that are running, and how long the slow ones have been."""
        if not self.running:
            return ""
        jobs = []
        for _, about, begin in self.running.values():
            seconds = self.clock() - begin
            jobs.append(f"{about} ({_duration(seconds)})" if seconds >= _LEAST_SILENCE else about)
        return f"; now {', '.join(jobs)}"

    def _time_left(self) -> str:
        """Estimate the time for the remaining jobs of each rule from the finished jobs."""
        left = {rule: count - len(self.durations[rule]) for rule, count in self.planned.items()}
        n_like_others = sum(count for rule, count in left.items() if self.durations[rule])
        # The first jobs do not predict the duration of the others.
        if not any(left.values()) or 2 * n_like_others < sum(left.values()):
            return ""
        means = {rule: fmean(taken) for rule, taken in self.durations.items() if taken}
        usual = median(means.values())
        work = sum(count * means.get(rule, usual) for rule, count in left.items())
        work -= sum(self.clock() - begin for _, _, begin in self.running.values())
        return f"; about {_duration(max(work, 0) / max(len(self.running), 1))} left"


def _duration(seconds: float) -> str:
    """Format a duration: seconds below two minutes, minutes below two hours."""
    if seconds < 120:
        return f"{max(round(seconds), 1)} s"
    return f"{round(seconds / 60)} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
