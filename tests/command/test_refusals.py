"""What `sparsekm run` refuses before it writes anything: what is not its own stays as it is."""

import io
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from sparsekm.command import main as command
from sparsekm.command import run as runs
from sparsekm.command.refusals import take_turn


def contents(folder):
    return {file: file.read_text() for file in folder.rglob("*") if file.is_file()}


def put(file, text="mine"):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


OURS = """results/report.html results/tumours/l0/tuned.h5 results/figures/tumours_scores.svg
results/tumours/clusters.csv results/benchmarks/cluster_path/tumours/l0.tsv
data/tumours/normalised.h5ad logs/report.log"""


@pytest.mark.parametrize("name", OURS.split())
def test_a_file_that_no_run_made_is_named_and_nothing_is_written(here, run_kinds, name, capsys):
    put(here / name)
    before = contents(here)
    for more in ([], ["--force"]):
        assert run_kinds("--output", ".", *more) == 2
        told = capsys.readouterr().err
        assert f"sparsekm: {name}: would be overwritten, but is not from a recorded run" in told
    assert contents(here) == before
    assert run_kinds("--output", re.search(r"--output (\S+)\.$", told, re.M)[1]) == 0
    assert contents(here).items() > before.items()


def test_files_under_other_names_hinder_nothing(here, run_kinds):
    names = ["results/figures/mine.png", "results/mine.html", "logs/mine.log", "data/tumours/a.csv"]
    names += ["results/others/l0/tuned.h5", "results/theory/checks.csv"]
    for name in names:
        put(here / name)
    assert run_kinds("--output", ".") == 0
    assert {(here / name).read_text() for name in names} == {"mine"}
    # A report put where that run made another file.
    put(here / "results" / "tumours" / "genes.csv")
    assert run_kinds("--output", ".") == 2


def test_results_of_other_settings_are_replaced_only_with_force(here, run, capsys):
    four, three = (["tumours.csv", "--ignore", "kind", "--clusters", k] for k in (4, 3))
    assert run(*four) == 0
    before = contents(here)
    assert run(*three) == 2
    told = capsys.readouterr().err
    assert "sparsekm-tumours/results/report.html" in told
    assert "sparsekm-tumours/results/tumours/l0/tuned.h5" in told
    assert "matrices.tumours.n_clusters was 4 and is 3" in told
    assert "add --force" in told
    assert contents(here) == before
    output = re.search(r"--output (\S+);", told)[1]
    assert run(*three, "--output", output) == 0
    assert contents(here).items() >= before.items()
    assert run(*three, "--force") == 0
    assert "'n_clusters': 3" in (here / "sparsekm-tumours" / "results" / "report.html").read_text()
    # The same settings again, and a table of the same name.
    assert run(*three, "--quiet", "--cores", "1") == 0
    (here / "new").mkdir()
    (here / "tumours.csv").rename(here / "new" / "tumours.csv")
    assert run("new/tumours.csv", *three[1:]) == 2
    assert 'tumours.path was "../tumours.csv" and is' in capsys.readouterr().err


def test_settings_that_made_nothing_are_replaced_without_force(run_kinds, monkeypatch):
    with monkeypatch.context() as failing:
        failing.setattr(runs, "_start_workflow", lambda *_: 1)
        assert run_kinds("--methods", "l1") == 2
    assert run_kinds() == 0


def test_an_edited_configuration_stays_and_another_needs_force(here, run, run_kinds, capsys):
    assert run_kinds() == 0
    folder = here / "sparsekm-tumours"
    text = (folder / "config.yaml").read_text()
    put(folder / "config.yaml", text + "n_init: 3\n")
    assert run_kinds("--force") == 2
    assert "config.yaml was edited and will not be overwritten" in capsys.readouterr().err
    assert run(folder / "config.yaml") == 0
    put(folder / "v2.yaml", text + "n_init: 4\n")
    assert run(folder / "v2.yaml") == 2
    told = capsys.readouterr().err
    assert "results/report.html" in told
    assert "(made with config.yaml). To keep these results, put v2.yaml in another folder" in told
    assert run(folder / "v2.yaml", "--force") == 0
    assert run(folder / "v2.yaml") == 0


def applicable():
    """Give the options of the command as words, with values that it accepts."""
    run = command._parser()._subparsers._group_actions[0].choices["run"]
    apply = ("-h", "--help", "--cores", "--profile", "--quiet", "--force", "--dry-run")
    for action in run._actions:
        for name in action.option_strings:
            if name not in apply:
                value = [*(action.choices or ["1"])][:1] if action.nargs != 0 else []
                yield [name, *value]


def test_an_option_that_cannot_apply_to_a_configuration_is_refused_by_name(here, run, capsys):
    put(here / "config.yaml", "matrices: {tumours: {path: tumours.csv, labels: kind}}\n")
    put(here / "results" / "report.html")
    before = contents(here)
    for words in applicable():
        assert run("config.yaml", *words) == 2
        told = capsys.readouterr().err
        assert told.startswith(f"sparsekm: {words[0]} cannot be used with a configuration")
    # Files of others beside a configuration are refused, too.
    assert run("config.yaml") == 2
    assert "results/report.html: would be overwritten" in capsys.readouterr().err
    assert contents(here) == before


def test_while_another_run_works_in_the_folder_nothing_is_written(here, run_kinds, capsys):
    assert run_kinds() == 0
    before = contents(here)
    with take_turn(here / "sparsekm-tumours"):
        assert run_kinds("--methods", "l1", "--force") == 2
    assert "sparsekm-tumours: another run is working there" in capsys.readouterr().err
    assert contents(here) == before
    assert run_kinds("--methods", "l1", "--force") == 0


def test_a_suggested_command_can_be_pasted_into_a_shell(run, run_kinds, capsys, monkeypatch):
    output = "it's a; folder"
    assert run_kinds("--output", output) == 0
    file = f"{output}/config.yaml"
    with Path(file).open("a") as opened:
        opened.write("n_init: 3\n")
    assert run_kinds("--output", output) == 2
    monkeypatch.setattr(runs, "_start_workflow", lambda *_: 1)
    assert run(file) == 2
    edited, failed = capsys.readouterr().err.splitlines()
    suggested = [
        *re.findall(r"sparsekm run (.+)\. Or choose", edited),
        *re.findall(r"then: sparsekm run (.+)$", failed),
        *re.findall(r"#   sparsekm run (.+)\n", Path(file).read_text()),
    ]
    assert list(map(shlex.split, suggested)) == [[file]] * 3


def test_a_terminal_without_the_characters_of_a_name_shows_them_as_escapes(here, run, monkeypatch):
    table = (here / "tumours.csv").read_text().replace("u,v,w", "β-catenin,v,w")
    (here / "Ωmega.csv").write_text(table, encoding="utf-8")
    terminals = [io.TextIOWrapper(io.BytesIO(), encoding="latin-1") for _ in range(2)]
    for name, terminal in zip(("stdout", "stderr"), terminals, strict=True):
        monkeypatch.setattr(sys, name, terminal)
    assert run("Ωmega.csv", "--labels", "kind") == 0
    assert run("Ωmega.csv", "--labels", "β") == 2
    shown = []
    for terminal in terminals:
        terminal.flush()
        shown.append(terminal.buffer.getvalue().decode("latin-1"))
    assert "\\u03b2-catenin" in shown[0]
    assert "labels" in shown[1]


def test_python_without_docstrings_is_refused(here):
    told = subprocess.run(
        [sys.executable, "-OO", Path(sys.executable).with_name("sparsekm"), "run", "tumours.csv"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (told.returncode, told.stdout) == (2, "")
    assert "sparsekm: PYTHONOPTIMIZE=2 removes docstrings" in told.stderr
