"""What a job sees and tells, its threads, its end, and turns and locks that a killed run left."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from snakemake_process import run_command

from sparsekm.io.input_error import InputError
from sparsekm.pipeline import stale_lock
from sparsekm.runtime.threads import count_threads


@pytest.fixture
def workflow_job(project_root, monkeypatch):
    monkeypatch.setattr("sys.path", [*sys.path])
    file = project_root / "scripts" / "workflow_job.py"
    spec = importlib.util.spec_from_file_location("workflow_job_of_the_test", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def progress(workflow_job):
    """A job's progress, and its clock, which the test sets."""
    now = [0.0]
    return workflow_job.Progress("P4: retrieve atlas", clock=lambda: now[0]), now


def test_the_time_left_follows_from_the_pace_of_the_last_minute(progress, capsys):
    progress, now = progress
    count = progress.counting("grids")
    # An earlier run's 1,000 grids come in a second, the others take half a second each.
    for done in range(1, 1001):
        now[0] = 0.001 * done
        count(done, 2000)
    assert capsys.readouterr().err == ""
    for done in range(1001, 2001):
        now[0] = 1 + 0.5 * (done - 1000)
        count(done, 2000)
    told = capsys.readouterr().err.splitlines()
    assert 80 < len(told) < 110
    # The first line comes after two seconds, and then one every five: 498 grids are left at half a
    # second each, rounded up.
    assert told[50] == "P4: retrieve atlas: 1502 of 2000 grids done, about 5 min left"
    assert told[-2].endswith("less than a minute left")


def test_a_job_of_one_step_tells_no_steps(progress, capsys):
    progress, now = progress
    now[0] = 60
    progress(1, 1)
    assert capsys.readouterr().err == ""


def test_first_steps_tell_no_time_left_and_a_terminal_has_one_line(progress, capsys, monkeypatch):
    progress, now = progress
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    for done in (1, 2, 3):
        now[0] += 10
        progress(done, 4, "seeds")
    assert capsys.readouterr().err.split("\r\x1b[K") == [
        "",
        "P4: retrieve atlas: 1 of 4 seeds done",
        "P4: retrieve atlas: 2 of 4 seeds done",
        "P4: retrieve atlas: 3 of 4 seeds done, less than a minute left",
    ]


@pytest.fixture
def run(workflow_job, tmp_path, monkeypatch):
    """Give the function that runs a job in an empty folder, with the files that it writes."""
    monkeypatch.chdir(tmp_path)

    def run(main, *outputs, threads=1, runtime=1):
        resources = SimpleNamespace(mem_mb=100, runtime=runtime)
        of_job = {"threads": threads, "log": ["job.log"], "resources": resources}
        job = SimpleNamespace(rule="a_rule", wildcards={"age": "P4"}, input=[], **of_job)
        job.output = [str(output) for output in outputs]
        workflow_job.run(main, job)

    return run


# Python 3.12 warns of any fork while there are threads, which pytest-xdist has.
forks = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@forks
@pytest.mark.parametrize("threads", [1, 3])
def test_a_job_has_its_rules_threads_and_clears_what_one_left(threads, run, monkeypatch, tmp_path):
    for library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
        monkeypatch.setenv(f"{library}_NUM_THREADS", "7")
    for name in (".12.partial.path.h5", ".13.partial.tuned.h5", "path.h5"):
        (tmp_path / name).write_text("x")

    def main(snakemake, progress):
        found = f"{count_threads(None)} {os.environ['OMP_NUM_THREADS']}"
        (tmp_path / "found").write_text(found)

    run(main, tmp_path / "path.h5", threads=threads)
    assert (tmp_path / "found").read_text() == f"{threads} {threads}"
    assert [file.name for file in tmp_path.glob(".*.partial.*")] == [".13.partial.tuned.h5"]
    assert (tmp_path / "path.h5").exists()


@forks
def test_a_job_that_takes_too_long_ends_in_one_line_that_says_how_to_allow_it_more(run, capfd):
    def hang(snakemake, progress):
        while True:
            pass

    # A second of processor time.
    with pytest.raises(SystemExit):
        run(hang, runtime=1 / 180)
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(
        "ERROR in P4: a rule: P4: a rule: the process that read it took too long"
    )
    assert "2248 MiB of memory, 1 s of processor time" in line
    assert "--set-resources a_rule:mem_mb=N (or runtime)" in line


def test_every_script_of_a_rule_runs_as_a_job(project_root, rules_text):
    scripts = set(re.findall(r'"(?:\.\./)*scripts/(\w+)\.py"', rules_text))
    assert len(scripts) > 20
    begin = "\n@job(snakemake)\ndef main(snakemake, progress):\n"
    for name in sorted(scripts):
        assert begin in (project_root / "scripts" / f"{name}.py").read_text(), name


HOLD = """
import fcntl, sys, time
opened = open(sys.argv[1], "a")
fcntl.flock(opened, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(1)
open("over", "w").close()
"""


@forks
def test_a_job_waits_for_the_same_one_of_an_earlier_run(run, capfd):
    log = Path("job.log")
    command = [sys.executable, "-c", HOLD, str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as left:
        assert left.stdout.readline() == "held\n"
        run(lambda snakemake, progress: str(Path("over").rename("was over")))
    assert Path("was over").exists()
    line = f"P4: a rule: waiting for the same job of an earlier run, which still writes {log}\n"
    assert line in capfd.readouterr().err


@pytest.fixture
def lock(tmp_path):
    """A lock that somebody left behind."""
    lock = tmp_path / ".snakemake" / "locks" / "0.input.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text("results/report.html\n")
    return lock


@pytest.mark.parametrize("kind", ["nfs4", ""])
def test_where_others_may_see_the_folder_a_command_is_told(lock, tmp_path, monkeypatch, kind):
    monkeypatch.setattr(stale_lock, "file_system", lambda folder: kind)
    told = "other machines may share .* If none is running there either, run: "
    with pytest.raises(InputError, match=told) as refused:
        stale_lock.clear_stale_lock(tmp_path)
    assert lock.exists()
    command = str(refused.value).partition(", run: ")[2].removesuffix(".")
    subprocess.run(command, shell=True, check=True, cwd="/")
    assert not lock.exists()


def test_a_lock_that_nobody_holds_is_removed(lock, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(stale_lock, "file_system", lambda folder: "ext4")
    stale_lock.clear_stale_lock(tmp_path)
    assert "Removing the lock left behind" in capsys.readouterr().out
    assert not lock.exists()


def test_while_a_snakemake_works_in_the_folder_it_keeps_its_lock(lock, tmp_path):
    (tmp_path / "snakemake").write_text("import time; time.sleep(60)")
    for folder in (tmp_path, "/"):
        with subprocess.Popen([sys.executable, tmp_path / "snakemake"], cwd=folder) as working:
            try:
                expected = [working.pid] if folder == tmp_path else []
                assert stale_lock.find_snakemakes(tmp_path) == expected
                if expected:
                    with pytest.raises(InputError, match=f"{working.pid} may be running here"):
                        stale_lock.clear_stale_lock(tmp_path)
            finally:
                working.kill()
    assert lock.exists()


SCRIPTS = {
    "tell.py": """
import os, sys
from pathlib import Path
import beside
told = [snakemake.params.word, snakemake.rule, snakemake.threads, beside.WORD, Path(__file__).name]
told += [Path.cwd(), "sparsekm.tuning.chosen_fit" in sys.modules]
told += [len([*Path(f"/proc/{os.getppid()}/task").iterdir()])]
Path(snakemake.output[0]).write_text("|".join(map(str, told)))
""",
    "beside.py": "WORD = 'beside the script'",
    "stop.py": "import sys\nprint('ERROR: why', file=sys.stderr)\nsys.exit(1)",
    "kill.py": "import os\nos.kill(os.getpid(), 9)",
}


@pytest.mark.skipif(sys.platform != "linux", reason="jobs are forked on Linux only")
def test_a_fork_sees_what_snakemake_gives_it_and_finds_all_imported_by_one_thread(tmp_path):
    root = tmp_path / "project"
    root.mkdir()
    shutil.copy(Path(__file__).with_name("three_jobs.smk"), root / "Snakefile")
    for name, text in SCRIPTS.items():
        (root / name).write_text(text)
    # Of a Snakemake that was killed while it wrote it.
    (root / ".77.partial.told.tsv").touch()
    options = ["--executor", "sparsekm", "--cores", "2", "--keep-going", "--directory", str(root)]
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(root / "Snakefile"), *options]
    done = run_command(command, root.parent)
    expected = ["as it is", "tell", "1", "beside the script", "tell.py", str(root), "True", "1"]
    assert (root / "told.txt").read_text().split("|") == expected
    assert pd.read_csv(root / "told.tsv", sep="\t").loc[0, "s"] > 0
    assert not [*root.glob(".*.partial.*")]
    # One that fails says why, and one that is killed is named.
    assert done.returncode == 1
    assert done.stdout.count("ERROR: why") == 1
    assert "Traceback" not in done.stdout
    assert "ERROR in kill: its process died (SIGKILL)." in done.stdout
