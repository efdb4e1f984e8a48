"""What a job tells, its threads, and turns and locks that a killed run left."""

import importlib.util
import os
import re
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from sparsekm.runtime.threads import count_threads


def load(project_root, monkeypatch, name):
    monkeypatch.setattr("sys.path", [*sys.path])
    file = project_root / "scripts" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"{name}_of_the_test", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def now():
    """The time, for the test to set."""
    return [0.0]


@pytest.fixture
def progress(project_root, monkeypatch, now):
    """A job's progress, whose clock the test sets."""
    return load(project_root, monkeypatch, "workflow_job").Progress(
        "P4: retrieve atlas", clock=lambda: now[0]
    )


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
    assert told[-2].endswith("less than a minute left")


def test_the_first_steps_do_not_tell_the_time_left_and_a_terminal_has_one_line(
    progress, now, capsys, monkeypatch
):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    for done in (1, 2, 3):
        now[0] += 10
        progress(done, 4, "seeds")
    end = capsys.readouterr().err.split("\r\x1b[K")
    assert end == [
        "",
        "P4: retrieve atlas: 1 of 4 seeds done",
        "P4: retrieve atlas: 2 of 4 seeds done",
        "P4: retrieve atlas: 3 of 4 seeds done, less than a minute left",
    ]


# Called by other scripts, or on their own before a run.
NOT_RULES = {"workflow_job", "rule_problem"}


# Python 3.12 warns of any fork while there are threads, which pytest-xdist has.
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("n_threads", [1, 3])
def test_what_a_script_calls_has_the_threads_of_its_rule(
    n_threads, project_root, monkeypatch, tmp_path
):
    for library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
        monkeypatch.setenv(f"{library}_NUM_THREADS", "7")

    def main(snakemake, progress):
        found = f"{count_threads(None)} {os.environ['OMP_NUM_THREADS']}"
        (tmp_path / "found").write_text(found)

    job = SimpleNamespace(
        threads=n_threads,
        log=[tmp_path / "job.log"],
        rule="cluster_path",
        wildcards={},
        input=[],
        output=[],
        resources=SimpleNamespace(mem_mb=100, runtime=1),
    )
    load(project_root, monkeypatch, "workflow_job").run(main, job)
    assert (tmp_path / "found").read_text() == f"{n_threads} {n_threads}"


def test_every_script_of_a_rule_runs_as_a_job(project_root):
    rules = "".join(file.read_text() for file in (project_root / "workflow").rglob("*.smk"))
    scripts = set(re.findall(r'"(?:\.\./)*scripts/(\w+)\.py"', rules))
    assert len(scripts) > 20
    assert not scripts & NOT_RULES
    for name in sorted(scripts):
        source = (project_root / "scripts" / f"{name}.py").read_text()
        assert "\n@job(snakemake)\ndef main(snakemake, progress):\n" in source, name


HOLD = """
import fcntl, sys, time
opened = open(sys.argv[1], "a")
fcntl.flock(opened, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(1.5)
opened.write("the last word of the job that was left behind")
"""


@pytest.fixture
def workflow_job(project_root, monkeypatch):
    return load(project_root, monkeypatch, "workflow_job")


@pytest.fixture
def stale_lock(project_root, monkeypatch, tmp_path):
    """The script, in a folder whose lock somebody left behind."""
    (tmp_path / ".snakemake" / "locks").mkdir(parents=True)
    (tmp_path / ".snakemake" / "locks" / "0.input.lock").write_text("results/report.html\n")
    monkeypatch.chdir(tmp_path)
    return load(project_root, monkeypatch, "clear_stale_lock")


def test_a_job_waits_for_the_same_one_of_an_earlier_run(workflow_job, tmp_path, capsys):
    log = tmp_path / "job.log"
    command = [sys.executable, "-c", HOLD, str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as left:
        assert left.stdout.readline() == "held\n"
        start = time.monotonic()
        with workflow_job.wait_for_turn(log, "P4, l0: a rule"):
            assert time.monotonic() - start > 0.5
            assert log.read_text() == "the last word of the job that was left behind"
    line = f"P4, l0: a rule: waiting for the same job of an earlier run, which still writes {log}\n"
    assert capsys.readouterr().err == line


def test_a_job_clears_what_a_killed_one_left_of_its_own_files(workflow_job, tmp_path):
    names = (".12.partial.path.h5", ".13.partial.tuned.h5", "path.h5")
    for name in names:
        (tmp_path / name).write_text("x")
    workflow_job.clear_unfinished([str(tmp_path / "path.h5")])
    assert sorted(file.name for file in tmp_path.iterdir()) == [".13.partial.tuned.h5", "path.h5"]


@pytest.mark.parametrize("kind", ["nfs4", ""])
def test_where_other_machines_may_see_the_folder_the_command_is_named(
    stale_lock, tmp_path, monkeypatch, kind
):
    monkeypatch.setattr(stale_lock, "file_system", lambda folder: kind)
    with pytest.raises(
        SystemExit, match="other machines may share .* If none is running there either, run: "
    ) as refused:
        stale_lock.main()
    assert any((tmp_path / ".snakemake" / "locks").iterdir())
    command = str(refused.value).partition(", run: ")[2].removesuffix(".")
    subprocess.run(command, shell=True, check=True, cwd="/")
    assert not (tmp_path / ".snakemake" / "locks").exists()


def test_a_lock_that_nobody_holds_is_removed(stale_lock, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(stale_lock, "file_system", lambda folder: "ext4")
    stale_lock.main()
    assert "Removing the lock left behind" in capsys.readouterr().out
    assert not (tmp_path / ".snakemake" / "locks").exists()


def test_while_a_snakemake_works_in_the_folder_it_keeps_its_lock(stale_lock, tmp_path):
    (tmp_path / "snakemake").write_text("import time; time.sleep(60)")
    with subprocess.Popen([sys.executable, "snakemake"], cwd=tmp_path) as working:
        try:
            with pytest.raises(SystemExit, match=f"process {working.pid} may be running here"):
                stale_lock.main()
        finally:
            working.kill()
    with subprocess.Popen([sys.executable, tmp_path / "snakemake"], cwd="/") as elsewhere:
        try:
            assert stale_lock.find_snakemakes(tmp_path) == []
        finally:
            elsewhere.kill()
