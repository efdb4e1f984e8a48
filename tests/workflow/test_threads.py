"""A job has the threads of its rule, whatever it calls."""

import importlib.util
import os
import re
import sys
from types import SimpleNamespace

import pytest

from sparsekm.runtime.threads import count_threads

# Called by other scripts, or on their own before a run.
NOT_RULES = {"workflow_job", "posed_problem", "gap_of_paths", "atlas_source", "study_replicates"}


# Python 3.12 warns of any fork while there are threads, which pytest-xdist has.
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("n_threads", [1, 3])
def test_what_a_script_calls_has_the_threads_of_its_rule(
    n_threads, project_root, monkeypatch, tmp_path
):
    monkeypatch.setattr("sys.path", [*sys.path])
    for library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
        monkeypatch.setenv(f"{library}_NUM_THREADS", "7")
    file = project_root / "scripts" / "workflow_job.py"
    spec = importlib.util.spec_from_file_location("workflow_job_of_the_test", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

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
    module.run(main, job)
    assert (tmp_path / "found").read_text() == f"{n_threads} {n_threads}"


def test_every_script_of_a_rule_runs_as_a_job(project_root):
    rules = "".join(file.read_text() for file in (project_root / "workflow").rglob("*.smk"))
    scripts = set(re.findall(r'"(?:\.\./)*scripts/(\w+)\.py"', rules))
    assert len(scripts) > 30
    assert not scripts & NOT_RULES
    for name in sorted(scripts):
        source = (project_root / "scripts" / f"{name}.py").read_text()
        assert "\n@job(snakemake)\ndef main(snakemake, progress):\n" in source, name
