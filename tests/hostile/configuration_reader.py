"""Reading a configuration as the command and the workflow do."""

from __future__ import annotations

import sys
from pathlib import Path

from sparsekm.command import configuration
from sparsekm.io.input_error import InputError

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow"))

import configuration_check


def read_configuration(file: Path) -> dict:
    """Give the configuration with its defaults; raise what the workflow would say."""
    config = configuration.read_configuration(file)
    wrong = configuration_check.check_configuration(config)
    for line in wrong:
        assert "\n" not in line
        assert len(line) <= configuration_check.MOST_CHARACTERS + 10
    if wrong:
        raise InputError(f"{file}: " + " ".join(wrong))
    return config
