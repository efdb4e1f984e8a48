"""Every block of the README does what it says, whatever blocks there are."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from sparsekm.command.main import main

ROOT = Path(__file__).resolve().parents[2]
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.M | re.S)
KINDS = {kind for kind, _ in BLOCKS}
COMMANDS = [
    command
    for kind, block in BLOCKS
    if kind in ("", "bash")
    for line in block.splitlines()
    if (command := line.partition("#")[0].strip())
]


def test_blocks_are_of_python_which_another_test_runs_or_commands():
    assert {"python"} <= KINDS <= {"python", "", "bash"}
    assert {command.split()[0] for command in COMMANDS} <= {"make", "sparsekm", "snakemake"}


@pytest.mark.parametrize("command", [line for line in COMMANDS if line.startswith("make ")])
def test_a_target_is_there_with_these_arguments(command):
    done = subprocess.run(
        [*shlex.split(command), "--dry-run"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("command", [line for line in COMMANDS if line.startswith("sparsekm ")])
def test_the_command_reads_the_table_that_the_pages_show(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "own_data.md").read_text(encoding="utf-8")
    exec(re.search(r"^```python\n(.*?)^```$", page, re.M | re.S)[1], {})
    assert main([*shlex.split(command)[1:], "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "tumours.csv: 60 samples x 200 features" in told
    assert "3 classes: basal 20, luminal 20, normal 20" in told
