"""Remove the files that the workflow made in data, results and logs, for `make clean`.

A file belongs to the workflow if its path matches the output of a rule or one of `UNDECLARED`. All
other files belong to the user and are kept; folders that become empty are removed.
"""

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("data", "results", "logs")
# Files of the atlas, whose folder is named by its source. Downloads stay: only what is made of them
# is removed, and made again without a download.
UNDECLARED = (
    "data/raw/{source}/manifest.csv",
    "data/raw/{source}/plan.csv",
    "data/raw/{source}/{age}/manifest.csv",
    "data/raw/phantom/ontology.json",
    "data/raw/phantom/genes.json",
    "data/raw/phantom/{age}/listing.json",
    "data/raw/phantom/{age}/truth.csv",
    "data/raw/phantom/{age}/{grid}_gridAnnotation.zip",
    "data/raw/phantom/{age}/energy/{id}.zip",
)
KEPT = ("data/paper/", "data/raw/allen/", "data/raw/fetched/")
# The constraints for all rules.
_CONSTRAINTS = re.compile(r"^wildcard_constraints:\n((?:  +\w+=.*\n)+)", re.M)
_MOST_NAMED = 20


def read_patterns(rules: Iterable[Path]) -> re.Pattern:
    """Compile a pattern of the files that rules write, with the constraints on wildcards."""
    text = "\n".join(file.read_text(encoding="utf-8") for file in rules)
    constraints = {"id": r"\d+"} | {
        name: rule
        for block in _CONSTRAINTS.findall(text)
        for name, rule in re.findall(r'^ +(\w+)=r?"(.+)",$', block, re.M)
    }
    # Braces in f-strings are not wildcards.
    named = re.findall(rf'(?<!f)"((?:{"|".join(FOLDERS)})/[^"\n]+)"', text)

    def one(pattern: str) -> str:
        parts = re.split(r"\{+([^{}]*)\}+", pattern)
        parts[::2] = map(re.escape, parts[::2])
        parts[1::2] = (f"(?:{constraints.get(name, '[^/]+')})" for name in parts[1::2])
        return "".join(parts)

    # If a rule writes a folder, its output includes all files below.
    return re.compile(f"(?:{'|'.join(map(one, sorted({*named, *UNDECLARED})))})(?:/.*)?")


def is_made(file: str, patterns: re.Pattern) -> bool:
    """Tell whether the workflow made a file, or a killed job left it half-written."""
    return patterns.fullmatch(re.sub(r"/\.\d+\.partial\.([^/]+)$", r"/\1", file)) is not None


def remove_made(patterns: re.Pattern) -> list[str]:
    """Remove the workflow's files below the current folder, and list all other files."""
    others = []
    for folder in FOLDERS:
        for place, _, files in os.walk(folder, topdown=False):
            for file in sorted(Path(place, name).as_posix() for name in files):
                if is_made(file, patterns):
                    Path(file).unlink()
                elif not file.startswith(KEPT):
                    others.append(file)
            with suppress(OSError):
                Path(place).rmdir()
    return sorted(others)


def main() -> None:
    """Remove the files, and print which are left."""
    others = remove_made(read_patterns(sorted((ROOT / "workflow" / "rules").glob("*.smk"))))
    if others:
        shown = ", ".join(others[:_MOST_NAMED]) + (", ..." if len(others) > _MOST_NAMED else "")
        print(f"Kept, not made by the workflow: {shown}")


if __name__ == "__main__":
    main()
