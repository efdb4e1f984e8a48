"""Kills at random moments, any number of cores: every run ends in what an undisturbed one has."""

import contextlib
import random
import shutil
import subprocess
import sys
import time

import psutil
import pytest
from artifact_content import contents
from killed_runs import Run, jobs_in, kill, make_results, unlock
from snakemake_process import outside, run_command

pytestmark = [pytest.mark.survival, pytest.mark.xdist_group("survival")]

KILLS_OF_A_RUN = 5


def strike(run, rng):
    """Kill Snakemake, one of its jobs, or all of them; give the name of what was struck."""
    victim = rng.choice(["snakemake", "job", "everything"])
    # Not those that an earlier Snakemake left behind; and the youngest, since one about to end may
    # be gone before the signal comes. Else nothing is struck, and the run ends as if nothing were.
    jobs = run.own_jobs()
    if victim == "job" and jobs:
        kill([max(jobs, key=psutil.Process.create_time)])
        assert run.end() != 0, run.text()
    elif victim == "snakemake":
        run.kill_snakemake()
    else:
        run.kill_everything()
    return victim


@pytest.mark.parametrize("number", range(4))
def test_killed_five_times_it_ends_as_undisturbed(number, seed, new_run, undisturbed, project_root):
    project = new_run()
    rng = random.Random(seed + number)
    try:
        for _ in range(KILLS_OF_A_RUN):
            unlock(project)
            run = Run(project)
            run.wait_for_a_job()
            time.sleep(rng.uniform(0, 5))
            assert run.is_alive(), "the run was over before it was struck"
            print("struck:", strike(run, rng), len(jobs_in(project.root)), "jobs live on")
        done = make_results(project, project_root)
        assert done.returncode == 0, done.stdout
        assert contents(project.root) == undisturbed
        assert not list(project.root.glob("*/**/*.partial.*"))
        assert project.planned() == set()
    finally:
        kill(jobs_in(project.root))


FITS = ("cluster_path", "reference_path", "find_consensus", "gene_stability")


@pytest.mark.parametrize(("cores", "threads"), [(1, 1), (16, 4)])
def test_cores_and_threads_decide_nothing(cores, threads, new_run, undisturbed, monkeypatch):
    project = new_run()
    for library in ("OMP", "OPENBLAS", "MKL"):
        monkeypatch.setenv(f"{library}_NUM_THREADS", str(threads))
    # Jobs take the threads that their rules give them, and no others.
    of_rules = [f"{rule}={threads}" for rule in FITS]
    told = project.run("--cores", str(cores), "--set-threads", *of_rules)
    assert f"Provided cores: {cores}" in told
    assert ("threads: 4" in told) == (threads == 4 and cores >= 4)
    assert contents(project.root) == undisturbed


TABLE_RUN = [sys.executable, "-m", "sparsekm.command.main", "run", "tumours.csv"]
TABLE_RUN += ["--labels", "kind", "--methods", "kmeans", "l0", "--cores", "2"]


def victims(command):
    """Give the command, its Snakemake, the process that jobs are forked from, and its jobs."""
    found = {"command": [psutil.Process(command.pid)]}
    for process in found["command"][0].children(recursive=True):
        # Some just ended.
        words = []
        with contextlib.suppress(psutil.NoSuchProcess):
            words = process.cmdline()
        if any("multiprocessing.forkserver" in word for word in words):
            found.setdefault("jobs", process.children(recursive=True))
            found.setdefault("fork server", [process])
        elif "snakemake" in words[:4]:
            found.setdefault("snakemake", [process])
    return found | {"everything": [each for some in found.values() for each in some]}


def test_killed_in_its_first_seconds_the_same_command_finishes_every_time(fresh, seed, tmp_path):
    rng = random.Random(seed)

    def new_folder(number):
        folder = tmp_path / str(number)
        folder.mkdir()
        shutil.copy(fresh.root / "tumours.csv", folder)
        return folder

    start = time.monotonic()
    assert run_command(TABLE_RUN, new_folder("undisturbed")).returncode == 0
    seconds = min(20, 0.7 * (time.monotonic() - start))
    for number in range(10):
        folder, moment = new_folder(number), rng.uniform(0, seconds)
        # Which nobody reads any more once the command is dead.
        told = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        with subprocess.Popen(TABLE_RUN, cwd=folder, env=outside(), **told) as running:
            time.sleep(moment)
            assert running.poll() is None, "the run was over before it was struck"
            struck = rng.choice([*victims(running).items()])
            for process in struck[1]:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
        done = run_command(TABLE_RUN, folder)
        assert done.returncode == 0, f"{struck[0]} after {moment:.1f} s\n{done.stdout}"
        print(f"struck after {moment:.1f} s: {struck[0]}; before: {running.returncode}")
