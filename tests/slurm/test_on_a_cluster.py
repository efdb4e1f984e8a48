"""The workflow on a real Slurm: the same bits, more memory for who lacked it, a node that dies."""

import re
import sys

import pytest
import yaml
from artifact_content import content_digest, contents
from killed_runs import Run
from snakemake_process import run_command

pytestmark = [pytest.mark.slurm, pytest.mark.xdist_group("slurm")]


# What a test may hurry: how often the state of jobs is asked for. Six jobs share the machine.
HURRIED = {
    "cluster-generic": ["--seconds-between-status-checks", "1"],
    # The small cluster has no accounts.
    "slurm": [
        *("--slurm-init-seconds-before-status-checks", "10"),
        *("--slurm-status-command", "squeue"),
        "--slurm-no-account",
    ],
}


def start(project, profile: str, *arguments: str) -> Run:
    """Start Snakemake in a project, with one of its profiles."""
    options = ["--workflow-profile", f"profiles/{profile}", *HURRIED[profile]]
    return Run(project, *arguments, *options, "--jobs", "6", "--latency-wait", "10")


def completed(job: dict[str, str]) -> bool:
    """Say whether Slurm ran a job to its end."""
    return job["JobState"] == "COMPLETED"


def logged(project, job: dict[str, str]) -> str:
    """Return the state of a job and the end of its log, so that a failure explains itself."""
    logs = project.root.glob(f"**/{job['JobId']}.log")
    return "\n".join([job["JobState"], *(log.read_text()[-4000:] for log in logs)])


@pytest.mark.parametrize(
    ("profile", "targets"),
    [("cluster-generic", []), ("slurm", ["results/tumours/l0/tuned.h5"])],
    ids=["cluster-generic", "slurm"],
)
def test_a_cluster_makes_the_bits_of_a_local_run(cluster, undisturbed, project, profile, targets):
    before = len(cluster.jobs())
    printed = start(project, profile, *targets).finish(600)
    made = contents(project.root)
    assert {name: undisturbed.get(name) for name in made} == made
    assert set(targets or undisturbed) <= set(made)
    jobs = cluster.jobs()[before:]
    logs = {job["JobId"]: logged(project, job) for job in jobs if not completed(job)}
    assert logs == {}
    steps = int(re.search(r"of (\d+) steps \(100%\) done", printed)[1])
    assert len(jobs) < steps
    if not targets:
        assert len({job["BatchHost"] for job in jobs}) > 1
        # Small jobs were grouped: far fewer jobs were submitted than there were steps.
        assert steps > 30
        assert 5 < len(jobs) < steps / 2


@pytest.fixture
def site(tmp_path, rules_text):
    """A profile as a site may have it, with all rules of ours in one group to save time."""
    settings = {"executor": "slurm", "jobs": 6, "latency-wait": 10, "slurm-no-account": True}
    settings |= {"slurm-status-command": "squeue", "slurm-init-seconds-before-status-checks": 5}
    settings["default-resources"] = ["mem_mb=1000", "runtime=30"]
    ours = re.findall(r"^rule (\w+):", rules_text, re.M)
    settings["groups"] = dict.fromkeys(["compare_choices", *ours], "all")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "config.yaml").write_text(yaml.safe_dump(settings))
    return tmp_path / "site"


def test_a_run_of_a_table_with_a_profile_of_the_site_runs_under_slurm(cluster, project, site):
    before = len(cluster.jobs())
    command = [sys.executable, "-m", "sparsekm.command.main", "run", project.root / "tumours.csv"]
    options = ["--labels", "kind", "--methods", "kmeans", "--profile", "./site"]
    done = run_command([*command, *options], site.parent)
    assert done.returncode == 0, done.stdout
    states = [job["JobState"] for job in cluster.jobs()[before:]]
    assert states
    assert {*states} == {"COMPLETED"}
    assert (site.parent / "sparsekm-tumours" / "results" / "report.html").is_file()


def test_a_job_that_lacked_memory_succeeds_with_more(cluster, undisturbed, project):
    rules = project.root / "workflow" / "rules" / "matrices.smk"
    asked = "mem_mb=reading_memory"
    assert rules.read_text().count(asked) == 1
    # A job's Snakemake and Python with AnnData take more than this for most of their life, so that
    # Slurm, which looks every second, sees it. At their peak they take 380 MB.
    rules.write_text(rules.read_text().replace(asked, "mem_mb=growing(140, 10)"))
    before = len(cluster.jobs())
    target = "data/tumours/normalised.h5ad"
    start(project, "cluster-generic", target).finish(300)
    first, *others = cluster.jobs()[before:]
    assert first["MinMemoryNode"] == "140M"
    assert first["JobState"] in ("FAILED", "CANCELLED", "OUT_OF_MEMORY")
    log = project.root / "logs" / "cluster" / f"{first['JobId']}.log"
    assert "exceeded memory limit" in log.read_text()
    assert [job["MinMemoryNode"] for job in others] == ["280M", "420M"][: len(others)]
    assert others[-1]["JobState"] == "COMPLETED"
    assert content_digest(project.root / target) == undisturbed[target]


def test_a_workflow_survives_the_crash_of_a_node(cluster, undisturbed, project):
    target = "results/tumours/l0/tuned.h5"
    run = start(project, "cluster-generic", target)
    job = cluster.running_job(120)
    node = job["BatchHost"]
    cluster.crash(node, job["JobId"])
    try:
        cluster.wait_for_state(node, "DOWN", 120)
        cluster.start_now(job["JobId"])
        run.finish(300)
    finally:
        cluster.start_node(node)
        cluster.wait_for_state(node, "IDLE", 120)
    again = next(other for other in cluster.jobs() if other["JobId"] == job["JobId"])
    assert int(again["Restarts"]) == 1
    assert again["JobState"] == "COMPLETED"
    assert again["BatchHost"] != node
    assert content_digest(project.root / target) == undisturbed[target]
