"""The files of a workflow: as its rules declare them, and as its jobs recorded them.

Each job has its own record, named like its log, so that no two jobs write the same file.
Snakemake's metadata lack logs and figures, lose the files of a failed job, and also list the files
of other workflows that ran in the folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

FOLDERS = ("data", "results", "logs")
# Files that jobs write besides the outputs of their rules, with constraints on wildcards.
UNDECLARED = (
    "data/raw/phantom/ontology.json",
    "data/raw/phantom/genes.json",
    "data/raw/phantom/{age}/listing.json",
    "data/raw/phantom/{age}/truth.csv",
    "data/raw/phantom/{age}/{grid}_gridAnnotation.zip",
    "data/raw/phantom/{age}/energy/{id}.zip",
    "results/simulation/repetitions/{experiment}/{setting}/{row}/{file}",
)
FIGURES = "results/figures/{dataset}_{figure}.{kind}"
# Files that rules declare without a literal path.
_COMPOSED = (
    "data/raw/{source}/manifest.csv",
    "data/raw/{source}/{age}/manifest.csv",
    "data/raw/{source}/plan.csv",
    "data/raw/fetched/{file}",
    FIGURES,
)
_CONSTRAINTS = {
    "id": r"\d+",
    "source": "allen|phantom",
    "figure": "slices|answer|samples|components|count|divisions|dots|consensus|gap|scores"
    "|expression|kept_by_age"
    "|experiment_[1-4]_(?:overview|cer)",
    "kind": "svg|png|pdf",
}


def read_patterns(rules: Iterable[Path], **constraints: str) -> re.Pattern:
    """Compile a pattern of the files that rules declare, with these constraints on wildcards."""
    text = "\n".join(file.read_text(encoding="utf-8") for file in rules)
    # Only constraints for all rules begin without indentation.
    blocks = re.findall(r"^wildcard_constraints:\n((?:  +\w+=.*\n)+)", text, re.M)
    of_rules = re.findall(r'^ +(\w+)=r?"(.+)",$', "".join(blocks), re.M)
    # Braces in f-strings are not wildcards, and a path without an ending is a folder.
    named = re.findall(rf'(?<!f)"((?:{"|".join(FOLDERS)})/[^"\n]+\.\w+)"', text)
    return match_any({*named, *_COMPOSED}, **(dict(of_rules) | constraints))


def match_any(paths: Iterable[str], **constraints: str) -> re.Pattern:
    """Compile a pattern of paths with wildcards."""
    known = _CONSTRAINTS | constraints

    def one(path: str) -> str:
        parts = re.split(r"\{+([^{}]*)\}+", path)
        parts[::2] = map(re.escape, parts[::2])
        parts[1::2] = (f"(?:{known.get(name, '[^/]+')})" for name in parts[1::2])
        return "".join(parts)

    return re.compile("|".join(map(one, sorted(paths))))


def walk_folders(folder: Path) -> Iterator[str]:
    """List everything in the folders that the workflow writes to, contents before their folder."""
    for name in FOLDERS:
        for place, folders, files in os.walk(folder / name, topdown=False):
            for entry in sorted([*files, *folders]):
                yield (Path(place) / entry).relative_to(folder).as_posix()


_RECORDS = Path(".snakemake/sparsekm/jobs")


def _record_of(log: Path) -> Path:
    # A module's prefix may be absolute.
    return _RECORDS / log.relative_to(log.anchor)


def record_files(log: Path, files: Iterable[str | Path]) -> None:
    """Record files that the job of this log is about to write, in addition to earlier ones."""
    from sparsekm.io.atomic import write_text

    record, new = _record_of(log), {Path(file).as_posix() for file in files}
    names = _read(record)
    if not (record.exists() and new <= names):
        write_text("".join(f"{name}\n" for name in sorted(names | new)), record)


def replace_recorded(log: Path, folder: str | Path, files: Iterable[str | Path]) -> None:
    """Record files of a folder; delete files that only earlier runs of the job made there."""
    new = {Path(file).as_posix() for file in files}
    for old in _read(_record_of(log)) - new:
        # A record from somebody else could name a file elsewhere with "..".
        if Path(os.path.normpath(old)).parent == Path(folder):
            Path(old).unlink(missing_ok=True)
    record_files(log, new)


def recorded_files(folder: Path) -> set[str]:
    """List the files that jobs recorded in the folder they ran in, with their logs and benchmarks.

    Snakemake writes the benchmark ``results/benchmarks/x.tsv`` of the job with ``logs/x.log``.
    """
    records, files = folder / _RECORDS, set()
    for record in filter(Path.is_file, records.rglob("*.log")):
        log = record.relative_to(records)
        benchmark = Path("results/benchmarks", *log.parts[1:]).with_suffix(".tsv")
        files |= {log.as_posix(), benchmark.as_posix(), *_read(record)}
    return files


def left_behind(made: set[str]) -> list[str]:
    """List the files that jobs made in the results of this folder, but that a run does not make.

    A folder that has only such files is listed instead of them. Studies, which run separately, and
    figures, which the report keeps up to date, do not count.
    """
    others = r"results/(?!(?:benchmarks|figures|simulation|theory|yardstick)/)"
    kept, left = {place for file in made for place in Path(file).parents}, set()
    for file in recorded_files(Path()) - made:
        if re.match(others, file) and Path(file).exists():
            # The path begins with the data set's folder.
            places = (*list(Path(file).parents)[-3::-1], Path(file))
            left.add(next(place.as_posix() for place in places if place not in kept))
    return sorted(left)


def _read(record: Path) -> set[str]:
    return {*record.read_text(encoding="utf-8").splitlines()} if record.is_file() else set()


def name_job(rule: str, wildcards: Mapping[str, str]) -> str:
    """Return the readable name of a job.

    Examples
    --------
    >>> name_job("cluster_path", {"dataset": "tumours", "method": "l1"})
    'tumours, l1: cluster path'
    >>> name_job("reference_path", {"dataset": "tumours", "method": "l1", "batch": "0"})
    'tumours, l1: reference path 1'
    """
    names = ", ".join(str(value) for key, value in wildcards.items() if key != "batch")
    batch = f" {int(wildcards['batch']) + 1}" if "batch" in wildcards else ""
    words = rule.replace("_", " ") + batch
    return f"{names}: {words}" if names else words
