"""The watch over readers sees what it should, or mutants that do harm would pass."""

import os
import pickle
import subprocess
from pathlib import Path

import pytest
from guard import watched

from sparsekm.io.input_error import InputError
from sparsekm.pipeline.bounded_process import run_bounded

# Python 3.12 warns of any fork while there are threads, which pytest-xdist has.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def run(act, folder):
    def work():
        with watched(folder / "inside"):
            act(folder)

    run_bounded("a file", work)


@pytest.mark.parametrize(
    ("act", "offence"),
    [
        (lambda folder: (folder / "escaped").open("a").close(), "writes"),
        (lambda folder: (folder / "escaped").unlink(missing_ok=True), "os.remove"),
        (lambda folder: pickle.loads(pickle.dumps(Path("a"))), "pickle.find_class"),  # noqa: S301
        (lambda folder: subprocess.run(["true"], check=False), "subprocess.Popen"),
        (lambda folder: os.system("true"), "os.system"),
    ],
)
def test_harm_is_seen(tmp_path, act, offence):
    with pytest.raises(InputError, match=f"did what no reader may: .*{offence}"):
        run(act, tmp_path)


def test_writing_inside_is_no_harm(tmp_path):
    (tmp_path / "inside").mkdir()
    run(lambda folder: (folder / "inside" / "a").write_text("b"), tmp_path)
    assert (tmp_path / "inside" / "a").read_text() == "b"
