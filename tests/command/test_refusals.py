"""What `sparsekm run` refuses before it writes anything: what is not its own stays as it is."""

import io
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from sparsekm.command import main as command
from sparsekm.command import run as runs
from sparsekm.command.refusals import take_turn
from sparsekm.pipeline.workflow_files import record_files


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a table, where a run only makes two files as its jobs would."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(20, 5)).round(2), columns=list("uvwxy"))
    frame.insert(0, "kind", ["a"] * 10 + ["b"] * 10)
    frame.to_csv("tumours.csv", index=False)

    def make(place, file, folder, options):
        monkeypatch.chdir(folder)
        for log, output in (
            ("logs/report.log", "results/report.html"),
            ("logs/select_fit/tumours/l0.log", "results/tumours/l0/tuned.h5"),
        ):
            record_files(Path(log), [output])
            for path in map(Path, (log, output)):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"made with {yaml.safe_load(file.read_text())}")
        monkeypatch.chdir(tmp_path)
        return 0

    monkeypatch.setattr(runs, "_start_workflow", make)
    monkeypatch.setattr(runs, "_clear_stale_lock", lambda *_: None)
    return tmp_path


def run(*arguments):
    return command.main(["run", *map(str, arguments)])


def contents(folder):
    return {file: file.read_text() for file in folder.rglob("*") if file.is_file()}


OURS = [
    "results/report.html",
    "results/tumours/l0/tuned.h5",
    "results/tumours/clusters.csv",
    "results/benchmarks/cluster_path/tumours/l0.tsv",
    "results/figures/tumours_scores.svg",
    "data/tumours/normalised.h5ad",
    "logs/report.log",
]


@pytest.mark.parametrize("name", OURS)
def test_a_file_that_no_run_made_is_named_and_stays_and_nothing_is_written(here, name, capsys):
    (here / name).parent.mkdir(parents=True)
    (here / name).write_text("mine")
    before = contents(here)
    assert run("tumours.csv", "--labels", "kind", "--output", ".") == 2
    told = capsys.readouterr().err
    assert f"sparsekm: {name}: would be overwritten, but no run recorded having made it" in told
    assert contents(here) == before
    other = re.search(r"--output (\S+)\.$", told, re.M)[1]
    assert run("tumours.csv", "--labels", "kind", "--output", other) == 0
    assert contents(here).items() > before.items()


def test_a_configuration_with_files_of_others_beside_it_is_refused_too(here, capsys):
    (here / "mine.yaml").write_text("matrices: {tumours: {path: tumours.csv, labels: kind}}\n")
    (here / "results").mkdir()
    (here / "results" / "report.html").write_text("mine")
    assert run("mine.yaml") == 2
    assert "results/report.html: would be overwritten" in capsys.readouterr().err
    assert (here / "results" / "report.html").read_text() == "mine"


def test_files_under_other_names_hinder_nothing(here):
    names = ["results/figures/mine.png", "results/mine.html", "logs/mine.log", "data/tumours/a.csv"]
    names += ["results/others/l0/tuned.h5", "results/theory/checks.csv"]
    for name in names:
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text("mine")
    assert run("tumours.csv", "--labels", "kind", "--output", ".") == 0
    assert {(here / name).read_text() for name in names} == {"mine"}


def test_a_report_put_where_a_run_made_another_file_is_refused(here):
    assert run("tumours.csv", "--labels", "kind", "--output", ".") == 0
    assert run("tumours.csv", "--labels", "kind", "--output", ".") == 0
    (here / "results" / "tumours" / "genes.csv").write_text("mine")
    assert run("tumours.csv", "--labels", "kind", "--output", ".") == 2


def test_results_of_other_settings_are_replaced_only_with_force(here, capsys):
    assert run("tumours.csv", "--ignore", "kind", "--clusters", "4") == 0
    before = contents(here)
    assert run("tumours.csv", "--ignore", "kind", "--clusters", "3") == 2
    told = capsys.readouterr().err
    assert "sparsekm-tumours/results/report.html" in told
    assert "sparsekm-tumours/results/tumours/l0/tuned.h5" in told
    assert "matrices.tumours.n_clusters was 4 and is 3" in told
    assert "add --force" in told
    assert contents(here) == before
    output = re.search(r"--output (\S+);", told)[1]
    assert run("tumours.csv", "--ignore", "kind", "--clusters", "3", "--output", output) == 0
    assert contents(here).items() >= before.items()
    assert run("tumours.csv", "--ignore", "kind", "--clusters", "3", "--force") == 0
    report = (here / "sparsekm-tumours" / "results" / "report.html").read_text()
    assert "'n_clusters': 3" in report


def test_a_table_of_the_same_name_does_not_replace_the_results_of_another(here, capsys):
    assert run("tumours.csv", "--labels", "kind") == 0
    (here / "new").mkdir()
    (here / "tumours.csv").rename(here / "new" / "tumours.csv")
    assert run("new/tumours.csv", "--labels", "kind") == 2
    assert 'tumours.path was "../tumours.csv" and is' in capsys.readouterr().err


def test_the_same_settings_and_those_that_made_nothing_run_without_force(here, monkeypatch):
    made = runs._start_workflow
    monkeypatch.setattr(runs, "_start_workflow", lambda *_: 1)
    assert run("tumours.csv", "--labels", "kind", "--methods", "l1") == 2
    monkeypatch.setattr(runs, "_start_workflow", made)
    assert run("tumours.csv", "--labels", "kind") == 0
    assert run("tumours.csv", "--labels", "kind", "--quiet", "--cores", "1") == 0


def test_an_edited_configuration_runs_again_but_another_file_replaces_only_with_force(here, capsys):
    assert run("tumours.csv", "--labels", "kind") == 0
    folder = here / "sparsekm-tumours"
    text = (folder / "config.yaml").read_text()
    (folder / "config.yaml").write_text(text + "n_init: 3\n")
    assert run(folder / "config.yaml") == 0
    (folder / "v2.yaml").write_text(text + "n_init: 4\n")
    assert run(folder / "v2.yaml") == 2
    told = capsys.readouterr().err
    assert "results/report.html" in told
    assert "(config.yaml made it). To keep it, put v2.yaml in another folder" in told
    assert run(folder / "v2.yaml", "--force") == 0
    assert run(folder / "v2.yaml") == 0


def test_force_overwrites_neither_an_edited_configuration_nor_files_of_others(here, capsys):
    (here / "config.yaml").write_text("seed: 1\n")
    assert run("tumours.csv", "--labels", "kind", "--output", ".", "--force") == 2
    assert "config.yaml was edited" in capsys.readouterr().err
    (here / "config.yaml").unlink()
    (here / "logs").mkdir()
    (here / "logs" / "report.log").write_text("mine")
    assert run("tumours.csv", "--labels", "kind", "--output", ".", "--force") == 2
    assert "logs/report.log" in capsys.readouterr().err


def applicable():
    """Give the options of the command as words, with values that it accepts."""
    run = command._parser()._subparsers._group_actions[0].choices["run"]
    for action in run._actions:
        for name in action.option_strings:
            if name not in ("-h", "--help", "--cores", "--quiet", "--force", "--dry-run"):
                value = [*(action.choices or ["1"])][:1] if action.nargs != 0 else []
                yield [name, *value]


@pytest.mark.parametrize("words", list(applicable()), ids=lambda words: words[0])
def test_an_option_that_cannot_apply_to_a_configuration_is_refused_by_name(here, words, capsys):
    (here / "config.yaml").write_text("matrices: {tumours: {path: tumours.csv, labels: kind}}\n")
    before = contents(here)
    assert run("config.yaml", *words) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"sparsekm: {words[0]} cannot be used with a configuration")
    assert contents(here) == before


def test_while_another_run_works_in_the_folder_nothing_is_written(here, capsys):
    folder = here / "sparsekm-tumours"
    assert run("tumours.csv", "--labels", "kind") == 0
    before = contents(here)
    with take_turn(folder):
        assert run("tumours.csv", "--labels", "kind", "--methods", "l1", "--force") == 2
    assert "sparsekm-tumours: another run is working there" in capsys.readouterr().err
    assert contents(here) == before
    assert run("tumours.csv", "--labels", "kind", "--methods", "l1", "--force") == 0


def test_a_command_that_is_suggested_can_be_pasted_into_a_shell(here, capsys, monkeypatch):
    output = "it's a; folder"
    assert run("tumours.csv", "--labels", "kind", "--output", output) == 0
    file = f"{output}/config.yaml"
    with Path(file).open("a") as opened:
        opened.write("n_init: 3\n")
    assert run("tumours.csv", "--labels", "kind", "--output", output) == 2
    monkeypatch.setattr(runs, "_start_workflow", lambda *_: 1)
    assert run(file) == 2
    edited, failed = capsys.readouterr().err.splitlines()
    suggested = [
        *re.findall(r"sparsekm run (.+)\. Or choose", edited),
        *re.findall(r"then: sparsekm run (.+)$", failed),
        *re.findall(r"#   sparsekm run (.+)\n", Path(file).read_text()),
    ]
    assert list(map(shlex.split, suggested)) == [[file]] * 3


def test_a_folder_whose_name_is_not_one_line_is_refused(here, capsys):
    assert run("tumours.csv", "--labels", "kind", "--output", "a\nseed: 1") == 2
    assert "the path should be printable text" in capsys.readouterr().err


def test_a_terminal_without_the_characters_of_a_name_shows_them_as_escapes(here, monkeypatch):
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
