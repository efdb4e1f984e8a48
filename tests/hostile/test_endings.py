"""A file of any ending passes the schema: its reader says what it cannot read."""

import pytest
from configuration_reader import configuration_check

from sparsekm.io.readers.reader import SUFFIXES


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".CSV", ".tumours", ""])
def test_a_file_of_any_ending_passes(suffix):
    config = {"matrices": {"own": {"path": f"m{suffix}"}}}
    assert configuration_check.check_configuration(config) == []
