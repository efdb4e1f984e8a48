"""What ended a run, or keeps the command from running, is told in one line with what to do."""

import os
import signal
import subprocess
import sys

import pytest

from sparsekm.command import run as runs


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


def test_a_folder_of_no_known_format_is_refused_before_anything_is_read(here, run, capsys):
    (here / "notes").mkdir()
    assert run("notes") == 2
    assert "sparsekm: notes: is a folder; it should be a file, a .zarr" in capsys.readouterr().err
