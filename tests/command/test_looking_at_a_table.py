"""What `sparsekm run` says and writes before anything runs, and its last lines."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from sound_files import ATTRIBUTES
from test_raw_counts import draw_counts
from written_files import save_fit

from sparsekm.command import main as command
from sparsekm.command.configuration import path_rule
from sparsekm.command.run import describe_results
from sparsekm.io.table_settings import TABLE_SETTINGS
from sparsekm.io.tables import SCORES


def written(folder="sparsekm-tumours"):
    return yaml.safe_load(Path(folder, "config.yaml").read_text())


def test_a_table_is_described_and_its_settings_are_written(run_kinds, capsys):
    assert run_kinds("--methods", "kmeans", "l0") == 0
    told = capsys.readouterr().out
    assert "tumours.csv: 12 samples x 5 features\n" in told
    assert "2 classes: a 5, b 5; 2 samples without a class" in told
    assert "min_cluster_size is set to 3" in told
    assert "Report: sparsekm-tumours/results/report.html" in told
    assert "Logs:   sparsekm-tumours/logs" in told
    entry = {"path": "../tumours.csv", "labels": "kind"}
    configured = {"matrices": {"tumours": entry}, "methods": ["kmeans", "l0"]}
    assert written() == {**configured, "min_cluster_size": 3}


def test_every_option_about_the_table_becomes_a_setting(run, capsys):
    options = ["--ignore", "kind", "u", "--no-transpose", "--decimal", ".", "--normalise", "none"]
    options += ["--groups", "y", "--keep", "v", "--missing-values", "-999", "?"]
    options += ["--impute", "median", "--max-missing", "0.4", "--duplicates", "max"]
    assert run("tumours.csv", *options, "--clusters", "3", "--output", "out") == 0
    settings = {"path": "../tumours.csv", "groups": "y", "ignore": ["kind", "u"], "keep": ["v"]}
    settings |= {"transpose": False, "decimal": ".", "normalise": "none", "impute": "median"}
    settings |= {"missing_values": ["-999", "?"], "max_missing": 0.4, "duplicates": "max"}
    assert written("out")["matrices"]["tumours"] == settings | {"n_clusters": 3}
    # Without classes and a number K is left to the data.
    capsys.readouterr()
    assert run("tumours.csv", "--ignore", "kind") == 0
    assert "the run will suggest a number of clusters" in capsys.readouterr().out
    assert written()["matrices"]["tumours"]["n_clusters"] == "auto"


def test_raw_counts_are_normalised_and_the_configuration_says_so(run, capsys):
    counts = draw_counts(np.random.default_rng(0), shape=(12, 240))
    table = pd.DataFrame(counts, [f"s{i}" for i in range(12)]).add_prefix("gene")
    table.to_csv("counts.csv")
    chosen = ["counts.csv", "--no-transpose", "--clusters", "2"]
    assert run(*chosen) == 0
    told = capsys.readouterr().out
    assert "NOTE: the values look like raw counts" in told
    assert "        --normalise zscore\n" in told
    assert written("sparsekm-counts")["matrices"]["counts"]["normalise"] == "counts"
    # What the command names undoes it.
    assert run(*chosen, "--normalise", "zscore", "--output", "plain") == 0
    assert written("plain")["matrices"]["counts"]["normalise"] == "zscore"


@pytest.mark.parametrize("given", ["all", "300"])
def test_a_number_of_features_may_be_all_but_no_other_word(run, capsys, given):
    options = ["tumours.csv", "--ignore", "kind", "--clusters"]
    with pytest.raises(SystemExit):
        run(*options, "2", "--n-top-features", "most")
    assert "'most' should be a whole number, or all" in capsys.readouterr().err
    setting = next(one for one in TABLE_SETTINGS if one.name == "n_top_features")
    assert setting.read_number(given) == (given if given == "all" else 300)
    assert run(*options, "auto") == 0
    assert written()["matrices"]["tumours"]["n_clusters"] == "auto"


def test_guesses_are_said_aloud_and_quiet_says_nothing(run, capsys):
    names = [f"gene{j}" for j in range(4)], [f"s{i}" for i in range(6)]
    pd.DataFrame(np.arange(24).reshape(4, 6) % 7, *names).to_csv("t.csv")
    assert run("t.csv", "--clusters", "2") == 0
    note = "NOTE: rows are read as features and columns as samples, because of row"
    assert note in capsys.readouterr().out
    assert run("t.csv", "--clusters", "2", "--quiet") == 0
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("arguments", "message", "options"),
    [
        (["nowhere.csv"], "nowhere.csv: no such file", None),
        (["nowhere.yaml"], "nowhere.yaml: no such file", None),
        (["bad.yaml"], "bad.yaml, line 2, column 1: found character", None),
        (["folder.yaml"], "folder.yaml: should be a file of at most 1,048,576 bytes.", None),
        (["tumours.csv", "--output", "a\nb"], "the path should be printable text", None),
        (["tumours.csv", "--output", "a{1}"], "a{1}: the path should have no braces", None),
        (["a<b>.csv"], "a<b>.csv: the path should have no name in angle brackets", None),
        (
            ["tumours.csv", "--labels", "Kind"],
            "Do you mean labels: kind?",
            "--labels Kind --labels kind",
        ),
        (["tumours.csv", "--ignore", "U"], "Do you mean ignore: [u]?", "--ignore u"),
        (["tumours.csv", "--labels", "kind", "--clusters", "12"], "n_clusters=12", None),
    ],
)
def test_what_is_wrong_is_one_line_with_its_cure(here, run, capsys, arguments, message, options):
    (here / "bad.yaml").write_bytes(b"report:\n\ttitle: a\n")
    (here / "folder.yaml").mkdir()
    (here / "a<b>.csv").write_bytes((here / "tumours.csv").read_bytes())
    before = {*here.iterdir()}
    assert run(*arguments) == 2
    first, *others = capsys.readouterr().err.splitlines()
    assert first.startswith("sparsekm: ")
    assert message in first
    assert len(others) == (options is not None)
    if options:
        assert others[0] == f"    sparsekm run tumours.csv {options}"
    assert {*here.iterdir()} == before


def test_a_table_that_is_no_file_is_refused_in_one_line(here, run, capsys, unread):
    for arguments in (
        [str(unread("t.csv"))],
        ["tumours.csv", "--feature-groups", str(unread("groups.csv"))],
    ):
        assert run(*arguments) == 2
        told = capsys.readouterr().err.splitlines()
        assert len(told) == 1
        assert "should be a file; it is a folder, a pipe, a socket or a device" in told[0]
    assert path_rule(str(unread("sets.gmt"))) == "not be a pipe, socket or device"


def test_names_of_any_length_and_characters_are_short_lines_on_the_terminal(run, capsys):
    names = ["gene" * 2500, "a\tb\x1b[2J", *"uvw"]
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(12, 5)), columns=names)
    kinds = ["class" * 1000] * 6 + ["two\x1b[2J\tlines"] * 6
    file = f"{'long' * 60}.csv"
    frame.assign(kind=kinds).to_csv(file, index=False)
    assert run(file, "--labels", "kind", "--quiet") == 0
    (folder,) = Path().glob("sparsekm-*")
    # Names of files are made from it.
    assert len(folder.name) < 110
    assert written(folder)["matrices"].popitem()[1]["labels"] == "kind"
    Path(file).rename("t.csv")
    assert run("t.csv", "--labels", "kind") == 0
    told = capsys.readouterr().out
    assert max(map(len, told.splitlines())) < 520
    assert "two\\x1b[2J\\tlines 6" in told


def test_without_the_extra_one_line_says_how_to_install_it():
    # Of what the extra brings, nothing can be imported.
    hidden = "anndata h5py jinja2 jsonschema matplotlib openpyxl psutil requests snakemake yaml"
    code = (
        f"import sys; sys.modules |= dict.fromkeys({hidden.split()}); import sparsekm.command; "
        "sys.exit(sparsekm.command.run_command(['run', 'tumours.csv']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    told = 'sparsekm: the workflow is not installed: pip install "sparsekm[workflow]"'
    assert done.stderr.splitlines() == [told]


def test_a_dry_run_prints_what_a_run_prints_first_and_writes_nothing(here, run, run_kinds, capsys):
    assert run_kinds("--dry-run") == 0
    told = capsys.readouterr().out
    assert told.startswith("tumours.csv: 12 samples x 5 features\n  samples: without names\n")
    assert "  features: 'u' ... 'y'\n  rows hold samples (--transpose reads them" in told
    assert [file.name for file in here.iterdir()] == ["tumours.csv"]
    assert run_kinds() == 0
    assert capsys.readouterr().out.startswith(told)
    assert run("sparsekm-tumours/config.yaml", "--dry-run") == 2
    assert "--dry-run cannot be used with a configuration" in capsys.readouterr().err


def test_all_doubts_are_asked_in_one_stop_and_each_command_leads_to_the_result(run, capsys):
    def ask(*options):
        assert run("t.csv", "--dry-run", *options) == 2
        lines = capsys.readouterr().err.splitlines()
        return lines[0], [line for line in lines if line.startswith("    sparsekm run")]

    def shape(command):
        assert run(*shlex.split(command)[2:]) == 0
        return capsys.readouterr().out.partition("\n")[0]

    lines = [
        "sample,age,a,b b",
        *(f"s{i},{40 + i % 2},{i}.5,{'-x' if i == 3 else i * i}" for i in range(9)),
    ]
    Path("t.csv").write_text("\n".join(lines))
    first, commands = ask()
    assert "[age] may describe or number the samples" in first
    assert "the first such value is '-x' in column 'b b', line 5" in first
    shapes = [f"t.csv: 9 samples x {p} features" for p in (2, 3, 1)]
    assert list(map(shape, commands)) == shapes
    assert "--ignore age --no-transpose --missing-values=-x" in commands[0]
    # What was said before is said again.
    assert all("--labels age" in command for command in ask("--labels", "age")[1])
    ranks = [f"rank_of_the_gene_{'x' * i}" for i in range(60)]
    header = ["gene", *ranks, *(f"GSM{i}" for i in range(70))]
    rows = [[f"TP{i}", *range(60), *(f"{j / 7 + i:.2f}" for j in range(70))] for i in range(9)]
    Path("t.csv").write_text("\n".join(",".join(map(str, row)) for row in [header, *rows]))
    command = ask()[1][0]
    assert command.endswith(shlex.join(["--ignore", *ranks, "--transpose"]))
    assert shape(command) == "t.csv: 70 samples x 9 features"


def test_both_readings_are_shown_with_names_numbers_and_sizes_where_neither_is_certain(run, capsys):
    Path("t.csv").write_text(
        ",foo,bar,baz\nzork,1.5,2,3\nblim,3,4.5,1\nquax,7,2,3.5\nfnord,1,8,2\n"
    )
    assert run("t.csv") == 2
    told = capsys.readouterr().err.splitlines()
    assert told[1] == "  if rows hold samples, 4 samples x 3 features (evidence: none):"
    assert [line.split() for line in told[2:5]] == [
        ["foo", "bar", "baz"],
        ["zork", "1.5", "2.0", "3.0"],
        ["blim", "3.0", "4.5", "1.0"],
    ]
    assert told[6] == "    sparsekm run t.csv --no-transpose"
    assert "3 samples x 4 features" in told[7]
    assert [line.split()[0] for line in told[8:12]] == ["zork", "foo", "bar", "baz"]
    assert told[12] == "    sparsekm run t.csv --transpose"
    # The reading that is taken is shown as well.
    assert run("t.csv", "--dry-run", "--no-transpose") == 0
    assert "zork  1.5  2.0  3.0" in capsys.readouterr().out


RATES = {"cer": 0.125, "cer_chance": 0.5, "ari": 0.75, "ami": -0.0625}
NAMES, SHOWN = ["CER", "chance", "ARI", "AMI"], ["0.125", "0.500", "0.750", "-0.062"]


def describe(root, rates, *methods):
    for method in methods:
        row = {"dataset": "own", "method": method, "n_clusters": 3, "n_nonzero_weights": 1500}
        file = root / "results" / "own" / method / "scores.csv"
        SCORES.write_row(file, {**dict.fromkeys(SCORES.columns), **row, **rates})
    return describe_results(root, {"matrices": {"own": {}}}, lambda path: path.name)


@pytest.mark.parametrize("known", [True, False])
def test_rates_are_shown_with_that_of_chance_where_classes_are_known(tmp_path, known):
    lines = describe(tmp_path, RATES if known else {}, "l0")
    head, found = (line.split() for line in lines[1:3])
    assert head == ["own", "clusters", "features", "kept", *(NAMES if known else [])]
    assert found == ["ℓ₀-k-means", "3", "1,500", *(SHOWN if known else [])]
    assert any("chance:" in line for line in lines) == known
    # The columns of numbers end where their names end.
    assert len(lines[1]) == len(lines[2])


def test_the_finding_comes_first_and_then_the_method_it_is_from(tmp_path):
    place, two = tmp_path / "results" / "own", np.ones(2)
    about = {**ATTRIBUTES, "conclusion": "The answer, " + "in many words " * 20}
    save_fit(place / "sparse" / "tuned.h5", np.eye(2), [0, 1], two, about)
    for name in ("clusters.csv", "ranked.zip"):
        Path(place, name).write_text("")
    lines = describe(tmp_path, {}, "l0", "sparse")
    assert lines[1].startswith("own: The answer, in many words")
    table = lines[lines.index("", 1) + 1 :]
    assert [line.split()[0] for line in table[:3]] == ["own", "Sparse", "ℓ₀-k-means"]
    assert max(map(len, lines)) <= 100
    assert "  Clusters: clusters.csv" in lines
    assert "  Ranked:   ranked.zip" in lines
    assert not any("Features:" in line for line in lines)


@pytest.mark.parametrize("name", ["run", "predict"])
def test_the_help_of_every_option_fits_two_lines_of_a_narrow_terminal(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        command.main([name, "--help"])
    told = capsys.readouterr().out.partition("\nexamples:")[0]
    entries = re.split(r"^  (?=\S)", told, flags=re.M)
    texts = [re.findall(r"(?:^.{22}|^.+?)  (\S.*)$", entry, re.M) for entry in entries[1:]]
    assert len(texts) > 10
    assert [text for text in texts if len(text) > 2] == []


def test_the_help_has_two_examples_that_are_understood_and_says_where_to_read_on(capsys, run):
    with pytest.raises(SystemExit):
        run("--help")
    told = capsys.readouterr().out
    examples = re.findall(r"^  sparsekm (run .*)$", told[told.index("\nexamples:") :], re.M)
    assert len(examples) == 2
    for example in examples:
        assert command._parser().parse_args(shlex.split(example)).command == "run"
    pages = re.findall(r"[\w/]+\.md", told[told.index("\ndocumentation:") :])
    assert pages
    root = Path(command.__file__).parents[3]
    assert all((root / page).is_file() for page in pages)
