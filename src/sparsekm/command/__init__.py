"""The console command ``sparsekm``, which turns a table into a report."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec

# Packages of the extra `workflow` that the command needs. Snakemake installs others, but
# Snakemake 8 has no loggers.
_NEEDED = (
    *("anndata", "h5py", "matplotlib", "yaml"),
    *("snakemake", "snakemake_interface_logger_plugins"),
)


def run_command(arguments: Sequence[str] | None = None) -> int:
    """Run the command, if what it imports is installed, and return the exit status."""
    if not all(map(find_spec, _NEEDED)):
        told = 'sparsekm: the workflow is not installed: pip install "sparsekm[workflow]"'
        print(told, file=sys.stderr)
        return 2
    from sparsekm.command.main import main

    return main(arguments)
