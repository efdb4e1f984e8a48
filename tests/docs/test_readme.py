"""What the README tells you to type."""

import re
from pathlib import Path

import numpy as np
import pytest

from sparsekm.command.main import main

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
START = (ROOT / "docs" / "getting_started.md").read_text(encoding="utf-8")


def find_python(text):
    (block,) = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)
    return block


def test_the_five_lines_of_python_run_and_find_what_was_planted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(1).normal(size=(45, 60))
    X[:15, :8] += 4
    X[15:30, 8:16] += 4
    header = ",".join(f"gene{j}" for j in range(60))
    np.savetxt("matrix.csv", X, delimiter=",", header=header, comments="")
    names = {}
    exec(compile(find_python(README), "README.md", "exec"), names)
    assert [len(set(names["found"].labels_[k : k + 15])) for k in (0, 15, 30)] == [1, 1, 1]
    kept = set(names["found"].get_support(indices=True))
    assert set(range(16)) <= kept
    # A tenth of what is kept may be noise.
    assert len(kept) <= 18
    assert "vidence of clusters" in capsys.readouterr().out


def test_the_site_begins_with_the_same_lines():
    assert find_python(START) == find_python(README)


@pytest.mark.parametrize("text", [README, START], ids=["README", "getting_started"])
def test_every_make_target_is_there_and_the_command_has_the_options(text, capsys):
    targets = set(re.findall(r"(?:^|`)make ([a-z-]+)", text, re.M))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    known = set(re.findall(r"^([a-z-]+):.*## ", makefile, re.M))
    assert {"env", "run"} <= targets <= known
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    options = set(re.findall(r"--[a-z]+", capsys.readouterr().out))
    commands = re.findall(r"^sparsekm run .*$", text, re.M)
    assert commands
    assert set(re.findall(r"--[a-z]+", " ".join(commands))) <= options
