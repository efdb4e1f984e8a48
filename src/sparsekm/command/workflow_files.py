"""The paths of the files that the workflow writes, as its rules declare them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

FOLDERS = ("data", "results", "logs")
# What jobs write besides the outputs of their rules, with the constraints on its wildcards.
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
# What rules declare, but do not spell out.
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
    "figure": "slices|components|gap|consensus|scores|markers|expression|kept_by_age|chosen_by_age"
    "|experiment_[1-4]_(?:overview|cer)",
    "kind": "svg|pdf",
}
# The constraints for all rules.
_OF_RULES = re.compile(r"^wildcard_constraints:\n((?:  +\w+=.*\n)+)", re.M)


def read_patterns(rules: Iterable[Path], **constraints: str) -> re.Pattern:
    """Compile a pattern of the files that rules declare, with these constraints on wildcards."""
    text = "\n".join(file.read_text(encoding="utf-8") for file in rules)
    of_rules = {
        name: rule
        for block in _OF_RULES.findall(text)
        for name, rule in re.findall(r'^ +(\w+)=r?"(.+)",$', block, re.M)
    }
    # Braces in f-strings are not wildcards, and a path without an ending is a folder.
    named = re.findall(rf'(?<!f)"((?:{"|".join(FOLDERS)})/[^"\n]+\.\w+)"', text)
    return match_any({*named, *_COMPOSED}, **(of_rules | constraints))


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
