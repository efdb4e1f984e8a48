"""Reading many mutants in processes of their own, whatever becomes of those."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from guard import MOST_SECONDS

ROOT_SEED = 20180101
_RUNNER = Path(__file__).with_name("run_trials.py")


@dataclass
class Findings:
    """What came of the mutants.

    Attributes
    ----------
    n_mutants, n_refused : int
    bytes, seconds : int, float
        Largest memory and longest time of a mutant.
    total_seconds : float
        Of reading, over all mutants.
    faults : list of str
        With kind, number and seed, so that each can be had again.
    kinds : dict of str to int
        Mutants of each kind.
    """

    n_mutants: int = 0
    n_refused: int = 0
    bytes: int = 0
    seconds: float = 0.0
    total_seconds: float = 0.0
    faults: list[str] = field(default_factory=list)
    kinds: dict[str, int] = field(default_factory=dict)

    def add(self, result: dict) -> None:
        """Count one mutant."""
        self.n_mutants += 1
        self.n_refused += result["is_refused"]
        self.bytes = max(self.bytes, result["bytes"])
        self.seconds = max(self.seconds, result["seconds"])
        self.total_seconds += result["seconds"]
        self.kinds[result["kind"]] = self.kinds.get(result["kind"], 0) + 1
        if result["fault"]:
            self.faults.append(
                f"{result['kind']}, number {result['number']} of seed {ROOT_SEED}: "
                f"{result['fault']}"
            )

    def describe(self) -> str:
        """Give the figures in a line."""
        return (
            f"{self.n_mutants} mutants of {len(self.kinds)} kinds: {self.n_refused} refused, "
            f"{self.n_mutants - self.n_refused} read, {len(self.faults)} faults; at most "
            f"{self.bytes / 2**20:.0f} MiB and {self.seconds:.2f} s for one, "
            f"{self.total_seconds:.0f} s for all"
        )


def run_campaign(sound: Path, first: int, end: int) -> Findings:
    """Read the mutants with numbers in ``range(first, end)``."""
    findings = Findings()
    while first < end:
        reached = first
        for line in _run_process(sound, first, end):
            if "begins" in line:
                reached = line["begins"]
            elif "ended" in line:
                # The process is gone before its time: the mutant it had begun is to blame.
                findings.n_mutants += 1
                findings.faults.append(
                    f"number {reached} of seed {ROOT_SEED} ended the process: {line['ended']}"
                )
            else:
                findings.add(line)
        first = reached + 1
    return findings


def _run_process(sound: Path, first: int, end: int) -> Iterator[dict]:
    numbers = map(str, (ROOT_SEED, first, end))
    threads = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
    with (
        tempfile.TemporaryDirectory() as scratch,
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            [sys.executable, "-B", _RUNNER, sound, scratch, *numbers],
            env={**os.environ, **threads},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        for line in process.stdout:
            yield json.loads(line)
        status = process.wait(timeout=2 * MOST_SECONDS)
        if status != 0:
            errors.seek(0)
            yield {"ended": f"status {status}, {errors.read()[-2000:]}"}
