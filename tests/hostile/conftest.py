"""The sound files that are spoilt, made once."""

import pytest
from sound_files import write_sound_files


@pytest.fixture(scope="session")
def sound(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sound")
    write_sound_files(folder)
    return folder
