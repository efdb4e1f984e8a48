"""Killed at three moments, or restored in another place, a run ends as an undisturbed one."""

import shutil

import pytest
from artifact_content import contents
from killed_runs import Run, clear_lock, jobs_in, kill, make_results, unlock

pytestmark = pytest.mark.xdist_group("workflow")

WRITTEN = "results/tumours/l0"


@pytest.fixture
def undone(copied):
    """The finished project without one method's results on one data set; nothing outlives it."""
    shutil.rmtree(copied.root / WRITTEN)
    # Made of them, and so equal to what they would be made to: else nobody would ask for them.
    for table in (copied.root / "results" / "tumours").glob("*.*"):
        table.unlink()
    (copied.root / "results" / "report.html").unlink()
    yield copied
    kill(jobs_in(copied.root))


def kill_while_hdf5_is_written(project, attempts=5):
    """Kill the job that writes clusters.h5ad, and Snakemake; tell whether the file was begun."""
    folder = project.root / "results" / "tumours"
    for _ in range(attempts):
        unlock(project)
        (folder / "clusters.h5ad").unlink(missing_ok=True)
        run = Run(project)
        is_begun = run.kill_writer(folder, "clusters.h5ad")
        run.kill_everything()
        # The writer can be done between the look and the kill.
        if is_begun:
            return True
    return False


@pytest.mark.release
def test_kills_of_snakemake_a_job_and_a_writer_of_hdf5_do_no_harm(undone, finished, project_root):
    # First: Snakemake alone, whose job lives on. Its lock stays as long as it lives, and longer.
    run = Run(undone)
    job = run.wait_for_a_job("cluster_path")
    # It would be done in a moment.
    job.suspend()
    refused = clear_lock(undone)
    assert refused.returncode == 1
    assert f"process {run.process.pid} may be running here" in refused.stdout
    run.kill_snakemake()
    assert job.is_running()
    assert any((undone.root / ".snakemake" / "locks").iterdir())
    job.resume()
    unlock(undone)

    # Second: a job.
    run = Run(undone)
    kill([run.wait_for_a_job("gene_stability")])
    assert run.end() != 0
    assert "Error in rule gene_stability" in run.text()
    assert not (undone.root / WRITTEN / "stability.csv").exists()

    # Third: both, in the middle of a file.
    assert kill_while_hdf5_is_written(undone)
    assert len(list((undone.root / "results" / "tumours").glob(".*.partial.clusters.h5ad"))) == 1
    assert not (undone.root / "results" / "tumours" / "clusters.h5ad").exists()

    done = make_results(undone, project_root)
    assert done.returncode == 0, done.stdout
    assert contents(undone.root) == contents(finished.root)
    assert not list(undone.root.glob("*/**/*.partial.*"))
    assert undone.planned() == set()


@pytest.fixture
def clone(fresh):
    """A fresh clone: every file has a new time stamp."""
    for file in fresh.root.rglob("*"):
        file.touch()
    return fresh


def copy_backwards(source, target):
    """Copy a folder with new time stamps, what was made last first."""
    files = [file for file in source.rglob("*") if file.is_file()]
    for file in sorted(files, key=lambda file: file.stat().st_mtime_ns, reverse=True):
        new = target / file.relative_to(source)
        new.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, new)


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param(True, marks=pytest.mark.release),
        pytest.param(False, marks=pytest.mark.survival),
    ],
)
def test_restored_nothing_reruns_but_without_metadata_only_after_a_word(finished, clone, metadata):
    for folder in ("results", "data", *[".snakemake/metadata"] * metadata):
        copy_backwards(finished.root / folder, clone.root / folder)
    if not metadata:
        assert clone.planned() != set()
        clone.run("--touch", "--forceall", "--cores", "1")
    assert clone.planned() == set()
    # What the results were made with is known too.
    clone.configure("tuning: {rule: one-se}")
    assert {job.split()[0] for job in clone.planned()} >= {"tune_sparsity", "report"}
