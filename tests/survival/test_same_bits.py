"""The same results for any number of cores and threads, in every file."""

import pytest
from artifact_content import contents

pytestmark = [pytest.mark.survival, pytest.mark.xdist_group("survival")]

FITS = ("cluster_path", "reference_path", "find_consensus", "gene_stability")


@pytest.mark.parametrize(("cores", "threads"), [(1, 1), (16, 4)])
def test_cores_and_threads_decide_nothing(cores, threads, new_run, undisturbed, monkeypatch):
    project = new_run(f"cores{cores}")
    for library in ("OMP", "OPENBLAS", "MKL"):
        monkeypatch.setenv(f"{library}_NUM_THREADS", str(threads))
    # Jobs take the threads that their rules give them, and no others.
    of_rules = [f"{rule}={threads}" for rule in FITS]
    done = project.snakemake("--cores", str(cores), "--set-threads", *of_rules)
    assert done.returncode == 0, done.stdout
    assert f"Provided cores: {cores}" in done.stdout
    found = "threads: 4" in done.stdout
    assert found == (threads == 4 and cores >= 4)
    assert contents(project.root) == contents(undisturbed.root)
