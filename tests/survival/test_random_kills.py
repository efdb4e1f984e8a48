"""Kills at random moments, any number of cores: every run ends in what an undisturbed one has."""

import random
import time

import psutil
import pytest
from artifact_content import contents
from killed_runs import Run, jobs_in, kill, make_results, unlock

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
