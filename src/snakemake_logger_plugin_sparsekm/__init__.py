"""What a run tells, for Snakemake's ``--logger sparsekm``: a line for every job that ends.

Snakemake finds the plugin by the name of this package, which has to stand beside `sparsekm`.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from logging import LogRecord
from statistics import fmean, median

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

# They name what is asked for, and do nothing.
_TARGETS = ("all", "results", "total")
_NOTHING_TO_DO = "Nothing to be done"


class LogHandler(LogHandlerBase):
    """Writes to stderr what ended, what is still under way, and for how long."""

    writes_to_stream = True
    writes_to_file = False
    has_filter = True
    has_formatter = True
    needs_rulegraph = False

    def __post_init__(self) -> None:
        """Begin with no jobs."""
        self.clock = time.monotonic
        # Of each job by its number: rule, what it is about, when it began.
        self.running: dict[int, tuple[str, str, float]] = {}
        self.durations: dict[str, list[float]] = defaultdict(list)
        self.planned: dict[str, int] = {}
        self.n_done = 0

    def emit(self, record: LogRecord) -> None:
        """Tell one event, if it concerns a reader."""
        match getattr(record, "event", None):
            case LogEvent.RUN_INFO if not self.planned:
                self.planned = {
                    rule: int(count) for rule, count in record.stats.items() if rule not in _TARGETS
                }
            case LogEvent.JOB_INFO if record.rule_name in self.planned:
                # Not before the Snakefile was read: it says which copy of the package is meant.
                from sparsekm.command.job_name import name_job

                about = name_job(record.rule_name, record.wildcards)
                self.running[record.jobid] = record.rule_name, about, self.clock()
            case LogEvent.JOB_FINISHED if record.job_id in self.running:
                self._tell_end(*self.running.pop(record.job_id))
            case LogEvent.JOB_ERROR if record.jobid in self.running:
                _, about, _ = self.running.pop(record.jobid)
                _tell(f"FAILED: {about}; its log: {', '.join(map(str, record.log or ()))}")
            # Of a failed job its own line tells more.
            case LogEvent.ERROR if record.exception != "RuleException":
                _tell(record.getMessage())
            case None if record.getMessage().startswith(_NOTHING_TO_DO):
                _tell("Everything is there already.")

    def _tell_end(self, rule: str, about: str, begin: float) -> None:
        """Tell that a job ended, what goes on, and the time left."""
        seconds = self.clock() - begin
        self.durations[rule].append(seconds)
        self.n_done += 1
        total = sum(self.planned.values())
        line = f"{self.n_done:3d} of {total}  {about}: done in {_duration(seconds)}"
        if self.running:
            line += f"; now {', '.join(job[1] for job in self.running.values())}"
        left = {rule: count - len(self.durations[rule]) for rule, count in self.planned.items()}
        n_like_others = sum(count for rule, count in left.items() if self.durations[rule])
        # The first jobs say nothing about the others.
        if self.n_done < total and 2 * n_like_others >= total - self.n_done:
            line += f"; about {_duration(self._seconds_left(left))} left"
        _tell(line)

    def _seconds_left(self, left: dict[str, int]) -> float:
        """Estimate the time that the jobs left of each rule take, by those that have ended."""
        usual = median(map(fmean, filter(None, self.durations.values())))
        work = 0.0
        for rule, count in left.items():
            taken = self.durations[rule]
            work += count * (fmean(taken) if taken else usual)
        work -= sum(self.clock() - begin for _, _, begin in self.running.values())
        return max(work, 0) / max(len(self.running), 1)


def _duration(seconds: float) -> str:
    """Write a time as people do: seconds below two minutes, minutes below two hours."""
    if seconds < 120:
        return f"{max(round(seconds), 1)} s"
    return f"{round(seconds / 60)} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
