"""Where the workflow is: beside the package in a checkout, within it in a wheel."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]


def find_workflow(package: Path = PACKAGE) -> Path:
    """Return the folder that contains the workflow, given the folder of the package."""
    places = (package / "_workflow", package.parents[1])
    for place in places:
        if (place / "workflow" / "Snakefile").is_file():
            return place
    raise CommandError(
        f"no workflow found in {' or '.join(map(str, places))}: install sparsekm from a wheel, or "
        "from a checkout with pip install -e."
    )


class CommandError(Exception):
    """The command cannot go on; the message says why and what to do."""
