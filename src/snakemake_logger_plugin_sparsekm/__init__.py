"""The progress output of a run, for Snakemake's ``--logger sparsekm``: one line per finished job.

Snakemake finds the plugin by the name of this package, which has to be next to `sparsekm`.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from logging import LogRecord
from statistics import fmean, median

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

# Rules that only name targets and do nothing.
_TARGETS = ("all", "results", "total")
_NOTHING_TO_DO = "Nothing to be done"


class LogHandler(LogHandlerBase):
    """Prints to stderr which job finished, which are running, and the time left."""

    writes_to_stream = True
    writes_to_file = False
    has_filter = True
    has_formatter = True
    needs_rulegraph = False

    def __post_init__(self) -> None:
        """Start with no jobs."""
        self.clock = time.monotonic
        # For each job id: rule, readable name, start time.
        self.running: dict[int, tuple[str, str, float]] = {}
        self.durations: dict[str, list[float]] = defaultdict(list)
        self.planned: dict[str, int] = {}
        self.n_done = 0

    def emit(self, record: LogRecord) -> None:
        """Print an event if it matters to the user."""
        match getattr(record, "event", None):
            case LogEvent.RUN_INFO if not self.planned:
                self.planned = {
                    rule: int(count) for rule, count in record.stats.items() if rule not in _TARGETS
                }
            case LogEvent.JOB_INFO if record.rule_name in self.planned:
                # Only after the Snakefile was read, which selects the copy of the package.
                from sparsekm.command.job_name import name_job

                about = name_job(record.rule_name, record.wildcards)
                self.running[record.jobid] = record.rule_name, about, self.clock()
            case LogEvent.JOB_FINISHED if record.job_id in self.running:
                self._tell_end(*self.running.pop(record.job_id))
            case LogEvent.JOB_ERROR if record.jobid in self.running:
                _, about, _ = self.running.pop(record.jobid)
                _tell(f"FAILED: {about}; log: {', '.join(map(str, record.log or ()))}")
            # A failed job prints its own, more informative line.
            case LogEvent.ERROR if record.exception != "RuleException":
                _tell(record.getMessage())
            case None if record.getMessage().startswith(_NOTHING_TO_DO):
                _tell("Everything is up to date.")

    def _tell_end(self, rule: str, about: str, begin: float) -> None:
        """Print that a job finished, which jobs are running, and the time left."""
        seconds = self.clock() - begin
        self.durations[rule].append(seconds)
        self.n_done += 1
        total = sum(self.planned.values())
        line = f"{self.n_done:3d} of {total}  {about}: done in {_duration(seconds)}"
        if self.running:
            line += f"; now {', '.join(job[1] for job in self.running.values())}"
        left = {rule: count - len(self.durations[rule]) for rule, count in self.planned.items()}
        n_like_others = sum(count for rule, count in left.items() if self.durations[rule])
        # The first jobs do not predict the duration of the others.
        if self.n_done < total and 2 * n_like_others >= total - self.n_done:
            line += f"; about {_duration(self._seconds_left(left))} left"
        _tell(line)

    def _seconds_left(self, left: dict[str, int]) -> float:
        """Estimate the time for the remaining jobs of each rule from the finished jobs."""
        usual = median(map(fmean, filter(None, self.durations.values())))
        work = 0.0
        for rule, count in left.items():
            taken = self.durations[rule]
            work += count * (fmean(taken) if taken else usual)
        work -= sum(self.clock() - begin for _, _, begin in self.running.values())
        return max(work, 0) / max(len(self.running), 1)


def _duration(seconds: float) -> str:
    """Format a duration: seconds below two minutes, minutes below two hours."""
    if seconds < 120:
        return f"{max(round(seconds), 1)} s"
    return f"{round(seconds / 60)} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
