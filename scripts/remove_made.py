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

# Downloads are never removed. Files that were made from the atlas's downloads can be made again
# without downloading.
_FETCHED = "data/raw/fetched/"
# Files that are left in these folders are not listed, because they are meant to stay.
_NOT_LISTED = ("data/paper/", "data/raw/allen/", _FETCHED)
_MOST_NAMED = 20


def list_made() -> set[str]:
    """List the files below the current folder that the workflow made or left half-written."""
    recorded = workflow_files.recorded_files(Path())
    undeclared = workflow_files.match_any(workflow_files.UNDECLARED)
    made = set()
    for path in workflow_files.walk_folders(Path()):
        whole = re.sub(r"/\.\d+\.partial\.([^/]+)$", r"/\1", path)
        if not path.startswith(_FETCHED) and (whole in recorded or undeclared.fullmatch(whole)):
            made.add(path)
    return made


def main() -> None:
    """Remove the workflow's files below the current folder, and print which others are left."""
    sys.stdout.reconfigure(errors="backslashreplace")
    made, others = list_made(), []
    for path in [*workflow_files.walk_folders(Path()), *workflow_files.FOLDERS]:
        if Path(path).is_dir():
            with suppress(OSError):
                Path(path).rmdir()
        elif path in made:
            Path(path).unlink()
        elif Path(path).is_file() and not path.startswith(_NOT_LISTED):
            others.append(path)
    if others:
        shown = ", ".join(sorted(others)[:_MOST_NAMED])
        more = ", ..." if len(others) > _MOST_NAMED else ""
        print(f"Kept, because there is no record that the workflow made them: {shown}{more}")


if __name__ == "__main__":
    main()
