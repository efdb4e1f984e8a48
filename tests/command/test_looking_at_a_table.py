"""What `sparsekm run` says and writes before anything runs."""

import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from sparsekm.command import main as command
from sparsekm.command import run as runs


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to work in, where the workflow is not really started."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runs, "_start_workflow", lambda *_: 0)
    monkeypatch.setattr(runs, "_clear_stale_lock", lambda *_: None)
    return tmp_path


@pytest.fixture
def table(here):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(12, 5)).round(2), columns=list("uvwxy"))
    frame.insert(0, "kind", ["a"] * 5 + ["b"] * 5 + ["", "NA"])
    frame.to_csv("tumours.csv", index=False)
    return "tumours.csv"


def written(folder="sparsekm-tumours"):
    return yaml.safe_load(Path(folder, "config.yaml").read_text())


def run(*arguments):
    return command.main(["run", *arguments])


def test_a_table_is_described_and_its_settings_are_written(table, capsys):
    assert run(table, "--labels", "kind", "--methods", "kmeans", "l0") == 0
    told = capsys.readouterr().out
    assert "tumours.csv: 12 samples x 5 features\n" in told
    assert "2 classes: a 5, b 5; 2 samples without a class" in told
    assert "Report: sparsekm-tumours/results/report.html" in told
    assert "Logs:   sparsekm-tumours/logs" in told
    entry = {"path": "../tumours.csv", "labels": "kind"}
    assert written()["matrices"] == {"tumours": entry}
    assert written()["methods"] == ["kmeans", "l0"]


def test_every_option_about_the_table_becomes_a_setting(table):
    options = ["--ignore", "kind", "u", "--no-transpose", "--decimal", ".", "--normalise", "none"]
    options += ["--groups", "y", "--keep", "v", "--missing-values", "-999", "?"]
    options += ["--impute", "median", "--max-missing", "0.4", "--duplicates", "max"]
    assert run(table, *options, "--clusters", "3", "--output", "out") == 0
    assert written("out")["matrices"]["tumours"] == {
        "path": "../tumours.csv",
        "groups": "y",
        "ignore": ["kind", "u"],
        "transpose": False,
        "decimal": ".",
        "normalise": "none",
        "keep": ["v"],
        "missing_values": ["-999", "?"],
        "impute": "median",
        "max_missing": 0.4,
        "duplicates": "max",
        "n_clusters": 3,
    }


def test_without_classes_and_a_number_k_is_left_to_the_data(table, capsys):
    assert run(table, "--ignore", "kind") == 0
    assert "the run will suggest a number of clusters" in capsys.readouterr().out
    assert written()["matrices"]["tumours"]["n_clusters"] == "auto"


def test_few_samples_lower_the_smallest_cluster_with_a_word(table, capsys):
    assert run(table, "--labels", "kind") == 0
    assert "min_cluster_size is set to 3" in capsys.readouterr().out
    assert written()["min_cluster_size"] == 3


def test_guesses_are_said_aloud_and_quiet_says_nothing(here, capsys):
    frame = pd.DataFrame(np.arange(24).reshape(4, 6) % 7, index=[f"gene{j}" for j in range(4)])
    frame.columns = [f"s{i}" for i in range(6)]
    frame.to_csv("t.csv")
    assert run("t.csv", "--clusters", "2") == 0
    assert (
        "NOTE: lines are read as features and columns as samples, because of line"
        in capsys.readouterr().out
    )
    assert run("t.csv", "--clusters", "2", "--quiet") == 0
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("arguments", "message", "options"),
    [
        (["nowhere.csv"], "nowhere.csv: no such file", None),
        (["nowhere.yaml"], "nowhere.yaml: no such file", None),
        (["tumours.csv", "--labels", "Kind"], "Do you mean labels: kind?", "--labels kind"),
        (["tumours.csv", "--ignore", "U"], "Do you mean ignore: [u]?", "--ignore u"),
        (["tumours.csv", "--labels", "kind", "--clusters", "12"], "n_clusters=12", "--clusters K"),
    ],
)
def test_what_is_wrong_is_one_line_and_the_options_that_cure_it(
    table, capsys, arguments, message, options
):
    assert run(*arguments) == 2
    told = capsys.readouterr()
    first, *others = told.err.splitlines()
    assert first.startswith("sparsekm: ")
    assert message in first
    assert len(others) == (options is not None)
    if options:
        assert others[0].startswith(f"  Command line options for this: {options}")


def test_a_path_that_snakemake_would_misread_is_refused(table, here, capsys):
    assert run(table, "--labels", "kind", "--output", "out{1}") == 2
    assert "out{1}: the path should have no braces" in capsys.readouterr().err
    for name, rule in (("a{b}.csv", "no braces"), ("a<b>.csv", "no name in angle brackets")):
        (here / table).rename(here / name)
        assert run(name, "--labels", "kind") == 2
        assert f"{name}: the path should have {rule}" in capsys.readouterr().err
        (here / name).rename(here / table)
    assert [file.name for file in here.iterdir()] == [table]


def test_names_of_any_length_and_characters_are_short_lines_on_the_terminal(here, capsys):
    names = ["gene" * 2500, "a\tb\x1b[2J", *"uvw"]
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(12, 5)), columns=names)
    kinds = ["class" * 1000] * 6 + ["two\x1b[2J\tlines"] * 6
    frame.assign(kind=kinds).to_csv(here / "t.csv", index=False)
    assert run("t.csv", "--labels", "kind") == 0
    told = capsys.readouterr().out
    assert max(map(len, told.splitlines())) < 520
    assert "two\\x1b[2J\\tlines 6" in told
    assert written("sparsekm-t")["matrices"]["t"]["labels"] == "kind"


def test_the_name_of_a_data_set_leaves_room_for_names_of_files(here):
    file = here / f"{'long' * 60}.csv"
    pd.DataFrame(np.random.default_rng(0).normal(size=(12, 5))).to_csv(file, index=False)
    assert run(file.name, "--clusters", "2") == 0
    (folder,) = here.glob("sparsekm-*")
    assert len(folder.name) < 110


def test_a_configuration_that_cannot_be_read_or_is_a_folder_is_a_line(here, capsys):
    (here / "config.yaml").write_bytes(b"report:\n\ttitle: a\n")
    (here / "folder.yaml").mkdir()
    assert run("config.yaml") == run("folder.yaml") == 2
    content, folder = capsys.readouterr().err.splitlines()
    assert content.startswith("sparsekm: config.yaml, line 2, column 1: found character")
    assert folder == "sparsekm: folder.yaml: is a directory."


def test_an_edited_configuration_stays_and_can_be_run(table, capsys):
    assert run(table, "--labels", "kind") == 0
    with Path("sparsekm-tumours/config.yaml").open("a") as file:
        file.write("n_init: 3\n")
    assert run(table, "--labels", "kind") == 2
    assert "sparsekm run sparsekm-tumours/config.yaml" in capsys.readouterr().err
    assert run("sparsekm-tumours/config.yaml") == 0
    assert written()["n_init"] == 3


def test_without_the_extra_one_line_says_how_to_install_it(table, capsys, monkeypatch):
    monkeypatch.setattr(command, "find_spec", lambda name: None if name == "snakemake" else name)
    assert run(table) == 2
    told = capsys.readouterr().err.splitlines()
    assert told == ['sparsekm: the workflow is not installed: pip install "sparsekm[workflow]"']


def test_a_dry_run_prints_what_the_run_prints_first_and_writes_nothing(table, here, capsys):
    assert run(table, "--labels", "kind", "--dry-run") == 0
    told = capsys.readouterr().out
    assert told.startswith("tumours.csv: 12 samples x 5 features\n  samples: without names\n")
    assert "  features: 'u' ... 'y'\n  lines hold samples (--transpose reads them" in told
    assert [file.name for file in here.iterdir()] == [table]
    assert run(table, "--labels", "kind") == 0
    assert capsys.readouterr().out.startswith(told)
    assert run("sparsekm-tumours/config.yaml", "--dry-run") == 0
    assert capsys.readouterr().out.startswith("tumours: 12 samples x 5 features\n")


def test_what_a_message_advises_can_be_pasted(here, capsys):
    lines = ["sample,a,b b", *(f"s{i},{i}.5,{'trace' if i == 3 else i}" for i in range(9))]
    (here / "t.csv").write_text("\n".join(lines))
    assert run("t.csv", "--dry-run") == 2
    options = capsys.readouterr().err.splitlines()[-1].partition(": ")[2].split(", or ")
    assert options == ["--missing-values trace", "--ignore 'b b'"]
    for option, shape in zip(options, ("9 samples x 2", "9 samples x 1"), strict=True):
        assert run("t.csv", "--dry-run", *shlex.split(option)) == 0
        assert f"t.csv: {shape} features" in capsys.readouterr().out


def test_a_long_list_in_a_message_is_whole(here, capsys):
    ranks = [f"rank_of_the_gene_{'x' * i}" for i in range(60)]
    header = ["gene", *ranks, *(f"GSM{i}" for i in range(70))]
    rows = [[f"TP{i}", *range(60), *(f"{j / 7 + i:.2f}" for j in range(70))] for i in range(9)]
    (here / "t.csv").write_text("\n".join(",".join(map(str, row)) for row in [header, *rows]))
    assert run("t.csv", "--dry-run") == 2
    option = capsys.readouterr().err.splitlines()[-1].partition(": ")[2].split(", or ")[0]
    assert shlex.split(option) == ["--ignore", *ranks]
    assert run("t.csv", "--dry-run", *shlex.split(option)) == 0
    assert "70 samples x 9 features" in capsys.readouterr().out
