"""docs/hostile_input.md tells what becomes of each hostile input: the table and the code agree."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from documented_inputs import INPUTS
from guard import MOST_BYTES

pytestmark = pytest.mark.xdist_group("hostile")

RUNNER = Path(__file__).with_name("run_documented.py")


@pytest.fixture(scope="module")
def table(project_root):
    """Rows of the page's first table: by input, what happens and the message."""
    text = (project_root / "docs" / "hostile_input.md").read_text(encoding="utf-8")
    lines = text.split("| input |")[1].split("\n\n")[0].splitlines()[2:]
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    assert all(len(row) == 3 for row in rows)
    return {name: (what, message.strip("`")) for name, what, message in rows}


@pytest.fixture(scope="module")
def told(sound, tmp_path_factory):
    """What came of each input, read in a process with bounds."""
    done = subprocess.run(
        [sys.executable, "-B", RUNNER, sound, tmp_path_factory.mktemp("documented")],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return {row["name"]: row for row in map(json.loads, done.stdout.splitlines())}


def test_the_page_and_the_tests_have_the_same_inputs(table):
    assert list(table) == list(INPUTS)


@pytest.mark.parametrize("name", INPUTS)
def test_an_input_ends_as_the_page_says(table, told, name):
    what, message = table[name]
    row = told[name]
    if what != "refused":
        assert what.startswith(("read", "counts as absent"))
        assert (row["message"], row["kind"]) == ("", "")
    else:
        pattern = ".*".join(map(re.escape, message.split("…")))
        assert re.fullmatch(pattern, row["message"]), row["message"]


@pytest.mark.parametrize("name", INPUTS)
def test_no_input_runs_code_takes_memory_or_acts_elsewhere(told, name):
    row = told[name]
    assert not row["ran"]
    assert row["offences"] == []
    assert row["bytes"] < MOST_BYTES


def test_the_payload_would_be_seen_if_it_were_loaded(tmp_path):
    # Otherwise the tests above would say nothing about pickles.
    import pickle

    from payload import Payload

    assert not (tmp_path / "ran").exists()
    pickle.loads(pickle.dumps(Payload(tmp_path / "ran")))  # noqa: S301
    assert (tmp_path / "ran").exists()
