"""What ended a run, or keeps the command from running, is told in one line with what to do."""

import os
import signal
import subprocess
import sys

import pytest

from sparsekm.command import run as runs
from sparsekm.command.configuration import read_configuration
from sparsekm.io.input_error import InputError


def test_a_snakemake_that_was_killed_is_named_with_its_signal(here, run_kinds, monkeypatch, capsys):
    monkeypatch.setattr(runs, "_start_workflow", lambda *_: -signal.SIGKILL)
    assert run_kinds() == 2
    told = capsys.readouterr().err.splitlines()
    assert told == [
        "sparsekm: Snakemake was killed by SIGKILL, perhaps for lack of memory (try fewer --cores)."
        " To continue: sparsekm run sparsekm-tumours/config.yaml"
    ]


def started(*arguments, **options):
    command = [sys.executable, "-m", "sparsekm.command.main", *arguments]
    return subprocess.Popen(command, text=True, **options)


@pytest.mark.parametrize("closed", [1, 2])
def test_a_stream_that_is_closed_changes_nothing_but_what_is_seen(here, closed):
    run = started(
        *("run", "tumours.csv", "--labels", "kind", "--dry-run"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: os.close(closed),
    )
    outputs = run.communicate(timeout=120)
    assert run.returncode == 0, outputs
    assert "Traceback" not in "".join(outputs)
    assert (closed == 1) == ("12 samples" not in outputs[0])


def test_output_that_nobody_reads_is_told_in_one_line(here):
    reader, writer = os.pipe()
    os.close(reader)
    given = ("run", "tumours.csv", "--labels", "kind", "--dry-run")
    run = started(*given, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    told = run.communicate(timeout=120)[1].splitlines()
    assert told == ["sparsekm: the output pipe was closed. Keep it open, or add --quiet."]
    assert run.returncode == 2


@pytest.mark.parametrize("number", ["010", "1:30", "-0_7", "190:20:30.15"])
def test_a_number_of_another_base_is_refused_with_its_place(tmp_path, number):
    file = tmp_path / "config.yaml"
    file.write_text(f"methods: [l0]\nseed: {number}\n")
    with pytest.raises(InputError) as refused:
        read_configuration(file)
    told = f"config.yaml, line 2, column 7: {number} has base 8 or 60 in YAML; leave out leading"
    assert told in str(refused.value)


@pytest.mark.parametrize("number", ["0", "10", "0.5", "-3", "'010'", "1e5", "12:", "2018-01-01"])
def test_other_numbers_and_quoted_ones_are_read(tmp_path, number):
    (tmp_path / "config.yaml").write_text(f"seed: {number}\n" if number != "12:" else "12: a\n")
    assert read_configuration(tmp_path / "config.yaml")


def test_a_folder_of_no_known_format_is_refused_before_anything_is_read(here, run, capsys):
    (here / "notes").mkdir()
    assert run("notes") == 2
    assert "sparsekm: notes: is a folder; it should be a file, a .zarr" in capsys.readouterr().err
