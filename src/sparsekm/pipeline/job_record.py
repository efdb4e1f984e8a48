"""The record of the files that jobs made in a folder: what no job recorded belongs to others.

Each job has a record of its own, named like its log, so that jobs on several machines never write
the same file. Snakemake's metadata could not serve: they lack logs and figures, lose the files of a
job that failed, and also list the files of other workflows that ran in the folder.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

_RECORDS = Path(".snakemake/sparsekm/jobs")


def record_files(log: Path, files: Iterable[str | Path]) -> None:
    """Record files that the job of this log is about to write, in addition to earlier ones."""
    from sparsekm.io.atomic import write_text

    names = {*_read(_RECORDS / log), *(Path(file).as_posix() for file in files)}
    write_text("".join(f"{name}\n" for name in sorted(names)), _RECORDS / log)


def replace_recorded(log: Path, folder: str | Path, files: Iterable[str | Path]) -> None:
    """Remove what earlier runs of a job made in a folder but this one will not, and record `files`.

    Other files of the folder stay.
    """
    new = {Path(file).as_posix() for file in files}
    for old in _read(_RECORDS / log) - new:
        if Path(old).is_relative_to(folder):
            Path(old).unlink(missing_ok=True)
    record_files(log, new)


def recorded_files(folder: Path) -> set[str]:
    """List the files that jobs recorded in the folder they ran in, with their logs and benchmarks.

    Snakemake writes the benchmark ``results/benchmarks/x.tsv`` of the job with ``logs/x.log``.
    """
    records = folder / _RECORDS
    found = set()
    for record in filter(Path.is_file, records.rglob("*.log")):
        log = record.relative_to(records)
        benchmark = Path("results/benchmarks", *log.parts[1:]).with_suffix(".tsv")
        found |= {log.as_posix(), benchmark.as_posix(), *_read(record)}
    return found


def _read(record: Path) -> set[str]:
    return {*record.read_text(encoding="utf-8").splitlines()} if record.is_file() else set()
