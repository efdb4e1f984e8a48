"""Remove the files that the workflow made in data, results and logs, for `make clean`.

A file belongs to the workflow if a job recorded having made it, or if its path is one of
`UNDECLARED`. All other files belong to the user and are kept; empty folders are removed.
"""

import re
import sys
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from sparsekm.pipeline import workflow_files

# Downloads stay; of the atlas's, what was made of them is removed, and made again without one.
_KEPT = ("data/paper/", "data/raw/allen/", "data/raw/fetched/")
_FETCHED = "data/raw/fetched/"
_MOST_NAMED = 20


def list_made() -> set[str]:
    """List the files below the current folder that the workflow made, or left half-written."""
    recorded = workflow_files.recorded_files(Path())
    undeclared = workflow_files.match_any(workflow_files.UNDECLARED)

    def is_made(path: str) -> bool:
        whole = re.sub(r"/\.\d+\.partial\.([^/]+)$", r"/\1", path)
        return whole in recorded or undeclared.fullmatch(whole) is not None

    files = (path for path in workflow_files.walk_folders(Path()) if not path.startswith(_FETCHED))
    return {path for path in files if is_made(path)}


def remove_made() -> list[str]:
    """Remove the workflow's files below the current folder, and list all other files."""
    made, others = list_made(), []
    for path in [*workflow_files.walk_folders(Path()), *workflow_files.FOLDERS]:
        if Path(path).is_dir():
            with suppress(OSError):
                Path(path).rmdir()
        elif path in made:
            Path(path).unlink()
        elif Path(path).is_file() and not path.startswith(_KEPT):
            others.append(path)
    return sorted(others)


def main() -> None:
    """Remove the files, and print which are left."""
    sys.stdout.reconfigure(errors="backslashreplace")
    others = remove_made()
    if others:
        shown = ", ".join(others[:_MOST_NAMED]) + (", ..." if len(others) > _MOST_NAMED else "")
        print(f"Kept, not recorded as made by the workflow: {shown}")


if __name__ == "__main__":
    main()
