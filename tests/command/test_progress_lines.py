"""What a run tells while it goes on (`--logger sparsekm`)."""

import logging
import sys
from types import SimpleNamespace

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

from snakemake_logger_plugin_sparsekm import LogHandler


def make_handler(capsys):
    """Give a handler, and the function that hands it an event and returns what it writes."""
    handler = LogHandler(SimpleNamespace(), None)

    def hand_on(now=0.0, message="", **fields):
        record = logging.LogRecord("snakemake", logging.INFO, "", 0, message, None, None)
        record.__dict__.update(fields)
        handler.clock = lambda: now
        handler.emit(record)
        return capsys.readouterr().err

    return handler, hand_on


@pytest.fixture
def tell(capsys):
    hand_on = make_handler(capsys)[1]
    return lambda *given, **fields: hand_on(*given, **fields).splitlines()


def begin(tell, now, jobid, rule, **wildcards):
    event = {"event": LogEvent.JOB_INFO, "jobid": jobid, "rule_name": rule, "wildcards": wildcards}
    return tell(now, **event)


def end(tell, now, jobid):
    return tell(now, event=LogEvent.JOB_FINISHED, job_id=jobid)


def test_a_line_tells_what_ended_what_goes_on_and_how_long_it_still_takes(tell):
    stats = {"cluster_path": 2, "reference_path": 2, "results": 1, "total": 5}
    assert tell(event=LogEvent.RUN_INFO, stats=stats) == []
    # The first job is named when it begins, others when another ends.
    first = begin(tell, 0, 1, "cluster_path", dataset="tumours", method="l0")
    assert first == ["  0 of 4; now tumours, l0: cluster path"]
    assert begin(tell, 0, 2, "reference_path", dataset="tumours", method="l1", batch="0") == []
    # How long most of the others take is not known yet.
    assert end(tell, 20, 1) == [
        "  1 of 4  tumours, l0: cluster path: done in 20 s; "
        "now tumours, l1: reference path 1 (20 s)"
    ]
    assert end(tell, 300, 2) == [
        "  2 of 4  tumours, l1: reference path 1: done in 5 min; about 5 min left"
    ]
    assert begin(tell, 300, 3, "cluster_path", dataset="tumours", method="l1") == []
    begin(tell, 300, 4, "reference_path", dataset="tumours", method="l1", batch="1")
    end(tell, 310, 3)
    assert end(tell, 320, 4) == ["  4 of 4  tumours, l1: reference path 2: done in 20 s"]


def test_what_runs_is_named_again_after_two_seconds_and_later_after_a_twentieth_of_the_run(capsys):
    handler, hand_on = make_handler(capsys)
    handler.begin = 0

    def remind(now):
        handler.clock = lambda: now
        handler.remind()
        return capsys.readouterr().err

    hand_on(0, event=LogEvent.RUN_INFO, stats={"normalise_matrix": 1, "total": 1})
    assert remind(5) == ""  # nothing runs yet
    job = {"event": LogEvent.JOB_INFO, "rule_name": "normalise_matrix"}
    hand_on(5, jobid=1, wildcards={"dataset": "a"}, **job)
    assert remind(6.9) == ""
    assert remind(7) == "  0 of 1; now a: normalise matrix (2 s)\n"
    assert remind(8.9) == ""
    assert remind(1000) == "  0 of 1; now a: normalise matrix (17 min)\n"
    assert remind(1049) == ""
    assert remind(1055) == "  0 of 1; now a: normalise matrix (18 min)\n"


def test_errors_are_told_and_what_concerns_snakemake_alone_is_not(tell):
    tell(event=LogEvent.RUN_INFO, stats={"cluster_path": 1, "total": 1})
    begin(tell, 0, 7, "cluster_path", dataset="a", method="l0")
    assert tell(event=LogEvent.JOB_ERROR, jobid=7, rule_name="cluster_path", log=["b.log"]) == [
        "FAILED: a, l0: cluster path; log: b.log"
    ]
    wrong = {"event": LogEvent.ERROR, "exception": "WorkflowError"}
    assert tell(message="no such rule", **wrong) == ["no such rule"]
    assert tell(message="...", event=LogEvent.ERROR, exception="RuleException") == []
    assert tell(message="Building DAG of jobs...") == []
    assert tell(message="Nothing to be done (all requested files are present).") == [
        "Everything is up to date."
    ]


def test_on_a_terminal_one_line_with_a_bar_is_written_over(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")
    handler, hand_on = make_handler(capsys)
    hand_on(0, event=LogEvent.RUN_INFO, stats={"cluster_path": 4, "total": 4})
    job = {"event": LogEvent.JOB_INFO, "rule_name": "cluster_path"}
    first = hand_on(0, jobid=1, wildcards={"dataset": "a", "method": "l0"}, **job)
    assert first == "\r\x1b[K[....................] 0 of 4; now a, l0: cluster path"
    ended = hand_on(20, event=LogEvent.JOB_FINISHED, job_id=1)
    assert ended == "\r\x1b[K[#####...............] 1 of 4; about 60 s left"
    long = hand_on(20, jobid=2, wildcards={"dataset": "a" * 90, "method": "l0"}, **job)
    assert len(long) == len("\r\x1b[K") + 59
    assert "\n" not in first + ended + long
    # What stays gets a line of its own.
    failed = hand_on(21, event=LogEvent.JOB_ERROR, jobid=2, log=["b.log"])
    assert failed.startswith("\r\x1b[KFAILED: aaa")
    assert failed.endswith("; log: b.log\n")
    hand_on(22, jobid=3, wildcards={"dataset": "a", "method": "l1"}, **job)
    handler.close()
    assert capsys.readouterr().err == "\n"
