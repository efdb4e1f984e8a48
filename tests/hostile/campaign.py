"""Reading many mutants, each in a child process with limits, whatever becomes of those."""

from __future__ import annotations

import contextlib
import shutil
import traceback
import warnings
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from guard import OffenceError, watched
from kinds import KINDS, Kind
from mutations import write_mutant

from sparsekm.io.input_error import InputError
from sparsekm.pipeline.bounded_process import LimitError, Limits, run_bounded

ROOT_SEED = 20180101
# Mutants are small, and libraries are loaded already: less than the limits of jobs.
LIMITS = Limits(memory=2**30, seconds=10, written=2**26)

_SOUND_ENOUGH = (InputError, FileNotFoundError)
# Formats whose libraries take the memory, or the time, that damaged bytes ask for.
_MAY_REACH_LIMITS = ("hdf5", "zip")


@dataclass
class Findings:
    """What came of the mutants."""

    n_mutants: int = 0
    n_refused: int = 0
    n_limited: int = 0  # ended by a limit; these count as refused, too
    faults: list[str] = field(default_factory=list)  # kind, number and seed, to repeat each
    kinds: dict[str, int] = field(default_factory=dict)  # mutants of each kind


class RefusedError(Exception):
    """A reader refused a mutant as it should."""


def run_campaign(sound: Path, scratch: Path, first: int, end: int) -> Findings:
    """Read the mutants with numbers in ``range(first, end)``."""
    own = scratch / "sound"
    shutil.copytree(sound, own)
    findings = Findings()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Once without damage: whatever is imported late is imported now.
        for kind in KINDS:
            file = _put(scratch / "mutant" / Path(kind.file).name, (own / kind.file).read_bytes())
            kind.check(kind.read(file))
            shutil.rmtree(file.parent)
        for number in range(first, end):
            _try_mutant(findings, number, own, scratch)
    return findings


def _try_mutant(findings: Findings, number: int, sound: Path, scratch: Path) -> None:
    """Read one mutant, and judge what came of it."""
    kind = KINDS[number % len(KINDS)]
    file = _put(scratch / "mutant" / Path(kind.file).name, (sound / kind.file).read_bytes())
    # Spoiling a file that is spoilt already has libraries read it too.
    with contextlib.suppress(LimitError):
        run_bounded(file, partial(_spoil, kind, number, file, sound), LIMITS)
    fault = ""
    try:
        run_bounded(file, partial(_read, kind, file, scratch), LIMITS)
    except LimitError as error:
        findings.n_refused += 1
        findings.n_limited += 1
        if kind.form not in _MAY_REACH_LIMITS:
            fault = str(error)
    except InputError as error:
        findings.n_refused += 1
        fault = "" if str(error).startswith("refused: ") else str(error)
    findings.n_mutants += 1
    findings.kinds[kind.name] = findings.kinds.get(kind.name, 0) + 1
    if fault:
        findings.faults.append(f"{kind.name}, number {number} of seed {ROOT_SEED}: {fault}")
    shutil.rmtree(scratch / "mutant")


def _spoil(kind: Kind, number: int, file: Path, sound: Path) -> None:
    others = [(sound / other.file).read_bytes() for other in KINDS[number % 7 :: 7]]
    write_mutant(file, file.read_bytes(), kind.form, [ROOT_SEED, number], others)


def _read(kind: Kind, file: Path, scratch: Path) -> None:
    """Read and check; raise `RefusedError` where it is refused as documented."""
    try:
        with watched(scratch):
            kind.check(kind.read(file))
    except (MemoryError, OffenceError):
        raise
    except Exception as error:
        where = "".join(traceback.format_exception(error)[-6:])
        if isinstance(error, AssertionError):
            raise AssertionError(f"what was read is not valid: {where}") from error
        if not isinstance(error, _SOUND_ENOUGH):
            raise AssertionError(f"{type(error).__name__} is not documented: {where}") from error
        message, name = str(error), Path(kind.file)
        if name.name not in message and str(name.parent) not in message:
            raise AssertionError(f"the message does not name the file: {message}") from error
        if "\n" in message or len(message) > 12_500:
            raise AssertionError(f"the message is not one short line: {message}") from error
        raise RefusedError("refused: " + message) from error


def _put(file: Path, content: bytes) -> Path:
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    return file
