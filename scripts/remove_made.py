"""Remove what the workflow made in data, results and logs, and nothing else, for `make clean`.

A file is the workflow's where its name fits one that a rule writes, or one of `UNDECLARED`.
Whatever else stands there is the user's and stays; folders go when that leaves them empty.
"""

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("data", "results", "logs")
# What the retrieval of an age stores beside its manifest.
UNDECLARED = (
    "data/raw/{age}/listing.json",
    "data/raw/{age}/truth.csv",
    "data/raw/{age}/{grid}_gridAnnotation.zip",
    "data/raw/{age}/energy/{id}.zip",
)
# Those that hold for all rules.
_CONSTRAINTS = re.compile(r"^wildcard_constraints:\n((?:  +\w+=.*\n)+)", re.M)
_MOST_NAMED = 20


def read_patterns(rules: Iterable[Path]) -> re.Pattern:
    """Compile the names of files that rules write, with the constraints on their wildcards."""
    text = "\n".join(file.read_text(encoding="utf-8") for file in rules)
    constraints = {"id": r"\d+"} | {
        name: rule
        for block in _CONSTRAINTS.findall(text)
        for name, rule in re.findall(r'^ +(\w+)=r?"(.+)",$', block, re.M)
    }
    # The braces of an f-string hold no wildcards, of which any name would do.
    named = re.findall(rf'(?<!f)"((?:{"|".join(FOLDERS)})/[^"\n]+)"', text)

    def one(pattern: str) -> str:
        parts = re.split(r"\{+([^{}]*)\}+", pattern)
        parts[::2] = map(re.escape, parts[::2])
        parts[1::2] = (f"(?:{constraints.get(name, '[^/]+')})" for name in parts[1::2])
        return "".join(parts)

    # Below a name there are files where a rule writes a whole folder.
    return re.compile(f"(?:{'|'.join(map(one, sorted({*named, *UNDECLARED})))})(?:/.*)?")


def is_made(file: str, patterns: re.Pattern) -> bool:
    """Tell whether a file is the workflow's: written, or left half-written by a killed job."""
    return patterns.fullmatch(re.sub(r"/\.\d+\.partial\.([^/]+)$", r"/\1", file)) is not None


def remove_made(patterns: re.Pattern) -> list[str]:
    """Remove the workflow's files below the present folder, and list those that are not."""
    others = []
    for folder in FOLDERS:
        for place, _, files in os.walk(folder, topdown=False):
            for file in sorted(Path(place, name).as_posix() for name in files):
                if is_made(file, patterns):
                    Path(file).unlink()
                elif not file.startswith("data/paper/"):
                    others.append(file)
            with suppress(OSError):
                Path(place).rmdir()
    return sorted(others)


def main() -> None:
    """Remove, and name what is left."""
    others = remove_made(read_patterns(sorted((ROOT / "workflow" / "rules").glob("*.smk"))))
    if others:
        shown = ", ".join(others[:_MOST_NAMED]) + (", ..." if len(others) > _MOST_NAMED else "")
        print(f"Not made by the workflow, and kept: {shown}")


if __name__ == "__main__":
    main()
