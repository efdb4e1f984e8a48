"""What a job tells about how far it is."""

import importlib.util

import pytest


@pytest.fixture
def now():
    """The time, for the test to set."""
    return [0.0]


@pytest.fixture
def progress(project_root, monkeypatch, now):
    """A job's progress, whose clock the test sets."""
    monkeypatch.setattr("sys.path", ["/nowhere"])
    file = project_root / "scripts" / "workflow_job.py"
    spec = importlib.util.spec_from_file_location("workflow_job_of_the_test", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Progress("P4: retrieve atlas", clock=lambda: now[0])


def lines(capsys):
    return capsys.readouterr().err.splitlines()


def test_the_time_left_follows_from_the_pace_of_the_last_minute(progress, now, capsys):
    count = progress.counting("grids")
    # An earlier run's 1,000 grids come in a second, the others take half a second each.
    for done in range(1, 1001):
        now[0] = 0.001 * done
        count(done, 2000)
    assert lines(capsys) == []
    for done in range(1001, 2001):
        now[0] = 1 + 0.5 * (done - 1000)
        count(done, 2000)
    told = lines(capsys)
    assert 80 < len(told) < 110
    # 492 grids at half a second each, rounded up.
    assert told[50] == "P4: retrieve atlas: 1508 of 2000 grids done, about 5 min left"
    assert told[-2].endswith("about a minute left")


def test_hours_are_told_as_such_and_the_end_has_no_time_left(progress, now, capsys):
    for done in (1, 2):
        now[0] += 60
        progress(done, 200)
    assert lines(capsys)[-1].endswith("2 of 200 steps done, about 3.3 h left")
    now[0] += 60
    progress(200, 200)
    assert lines(capsys)[-1].endswith("200 of 200 steps done")
