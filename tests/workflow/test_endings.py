"""The schema lets through the files that the reader of matrices can read, and no others."""

from pathlib import Path

import jsonschema
import pytest
import yaml

from sparsekm.io.readers.reader import SUFFIXES

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = yaml.safe_load((ROOT / "workflow" / "schemas" / "config.schema.yaml").read_text())


def passes(config):
    return jsonschema.Draft202012Validator(SCHEMA).is_valid(config)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("case", [str.lower, str.upper])
def test_every_ending_that_is_read_passes(suffix, case):
    assert passes({"matrices": {"own": {"path": f"m{case(suffix)}"}}})
    assert not passes({"matrices": {"own": {"path": f"m{case(suffix)}x"}}})
