"""Reading a configuration as the workflow does: Snakemake loads it, the workflow checks it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import yaml
from snakemake.common.configfile import load_configfile
from snakemake.exceptions import WorkflowError
from snakemake.utils import update_config, validate

from sparsekm.io.input_error import InputError

_WORKFLOW = Path(__file__).resolve().parents[2] / "workflow"
_SCHEMA = _WORKFLOW / "schemas" / "config.schema.yaml"
sys.path.insert(0, str(_WORKFLOW))

from configuration_check import (  # noqa: E402
    MOST_CHARACTERS,
    meaning_errors,
    schema_errors,
    structure_errors,
)

_NAME = re.compile(r"[A-Za-z0-9_.-]+")


class ConfigurationError(InputError):
    """What the workflow, or Snakemake before it, has against a configuration."""


def read_configuration(file: Path) -> dict:
    """Give the configuration with its defaults; raise what the workflow would say."""
    config: dict = {}
    try:
        update_config(config, load_configfile(file))
    # Text that is no YAML, or no mapping, never reaches the workflow.
    except (WorkflowError, yaml.YAMLError, ValueError) as error:
        raise ConfigurationError(f"{file}: {error}") from error
    wrong = structure_errors(config)
    if not wrong:
        for section in ("atlas", "matrices", "simulation", "annotation"):
            if config.get(section) is None:
                config[section] = {}
        wrong = schema_errors(config)
    if not wrong:
        validate(config, str(_SCHEMA))
        wrong = meaning_errors(config)
    for line in wrong:
        assert "\n" not in line
        assert len(line) <= MOST_CHARACTERS + 10
    if wrong:
        raise ConfigurationError(f"{file}: " + " ".join(wrong))
    return config


def check_configuration(config: dict) -> None:
    """Fail where a configuration that was let through cannot be worked with."""
    assert config["methods"]
    assert config["atlas"]["ages"] or config["matrices"]
    for name, entry in config["matrices"].items():
        assert _NAME.fullmatch(name)
        assert name not in (".", "..", "raw", "simulation")
        assert entry is None or ("path" in entry) != ("draw" in entry)
    assert isinstance(config["seed"], int)
    assert isinstance(config["n_init"], int)
