"""Profiles of a cluster, what jobs ask for, and the script that tells their state."""

import os
import re
import subprocess

import pytest
import yaml
from small_project import make_project

GROUPED = ("group-components", "cores", "retries", "default-resources")


@pytest.fixture(scope="module")
def profiles(project_root):
    files = (project_root / "profiles").glob("*/config.yaml")
    return {file.parent.name: yaml.safe_load(file.read_text()) for file in files}


def test_both_cluster_profiles_group_and_retry_alike(profiles):
    slurm, generic = profiles["slurm"], profiles["cluster-generic"]
    for key in GROUPED:
        assert slurm[key] == generic[key]
    for key in ("rerun-triggers", "rerun-incomplete"):
        assert slurm[key] == generic[key] == profiles["default"][key]
    assert slurm["retries"] > 0


def test_the_default_profile_leaves_executor_and_limits_to_the_profile_of_the_site(profiles):
    known = {"rerun-triggers", "rerun-incomplete", "max-checksum-file-size"}
    assert profiles["default"].keys() == known


def test_groups_stand_in_the_rules_and_have_names_that_no_host_has(profiles, rules_text):
    names = re.findall(r'^    group:\n +.*"(\w+)"', rules_text, re.M)
    assert len(names) == rules_text.count("\n    group:\n") >= 20
    assert all(name.startswith("sparsekm_") for name in names)
    assert {*profiles["slurm"]["group-components"]} <= {*names}
    assert "groups" not in profiles["slurm"]
    # A job that needs thousands of others would slow down Snakemake by the square of their number.
    blocks = dict(re.findall(r"^rule (\w+):\n(.*?)(?=^\S|\Z)", rules_text, re.M | re.S))
    gathering = ("report", "compare_ages", "summarise_simulation", "summarise_yardstick")
    assert not any("    group:\n" in blocks[rule] for rule in gathering)
    # Retries of a rule would run within an allocation that did not suffice.
    assert "retries:" not in rules_text


@pytest.fixture(scope="module")
def planned(tmp_path_factory, project_root):
    """Give the function that tells what the jobs of a full-size run ask for, by rule and age."""
    project = make_project(tmp_path_factory.mktemp("planned"), project_root)
    ages = "atlas: {size: full, ages: [E11.5, P28]}"
    project.configure(f"{{{ages}, matrices: {{tumours: null, cells: null}}}}")

    def plan(*arguments):
        told, asked = project.run("--dry-run", "--cores", "8", *arguments), {}
        for rule, body in re.findall(r"^ *(?:local)?rule (\w+):$(.*?)^ *\[", told, re.M | re.S):
            values = re.search(r"wildcards: (?:dataset|age)=([^,\n]+)", body)
            if values:
                found = dict(re.findall(r"(threads|mem_mb|runtime)[:=] ?(\d+)", body))
                asked[rule, values[1]] = {name: int(value) for name, value in found.items()}
        return asked

    return plan


def test_what_jobs_ask_for_grows_with_the_age(planned):
    asked = planned("--workflow-profile", "none")
    fits = ("cluster_path", "reference_path", "find_consensus")
    for rule in ("assemble_expression", "normalise_expression", *fits):
        assert asked[rule, "E11.5"]["mem_mb"] < asked[rule, "P28"]["mem_mb"] < 2048
    for rule in (*fits, "gene_stability"):
        small, large = asked[rule, "E11.5"], asked[rule, "P28"]
        # In whole minutes, of which none asks for less than three.
        assert 3 <= small["runtime"] <= large["runtime"]
    assert asked["gene_stability", "E11.5"]["runtime"] < asked["gene_stability", "P28"]["runtime"]
    # Without a profile, too.
    assert {job.get("threads", 1) for job in asked.values()} == {1}


@pytest.mark.release
def test_jobs_ask_for_more_with_every_attempt(planned):
    first, second = planned(), planned("--attempt", "2")
    assert first.keys() == second.keys()
    for job, asked in first.items():
        for name in ("mem_mb", "runtime"):
            assert second[job][name] == pytest.approx(2 * asked[name], abs=1)


@pytest.mark.release
# The genes common to all ages stand between the assembly of one and its normalisation.
@pytest.mark.parametrize("genes", ["all", "common"])
def test_no_group_waits_for_itself(tmp_path, project_root, genes):
    project = make_project(tmp_path, project_root)
    project.configure(f"atlas: {{ages: [E11.5, P28], genes: {genes}}}")
    told = project.run("--dry-run", "--workflow-profile", "profiles/cluster-generic")
    groups = re.findall(r"Group job (\w+)", told)
    steps = int(re.search(r"^total +(\d+)$", told, re.M)[1])
    # A method of a data set is one job, whatever the configuration.
    assert groups.count("sparsekm_fit") == 4 * 4
    assert len(groups) < steps / 2


@pytest.fixture
def told(project_root, tmp_path):
    """Give the function that tells what is said when Slurm's commands answer as given."""

    def tell(scontrol: str, sacct: str = "exit 1") -> str:
        for name, body in (("scontrol", scontrol), ("sacct", sacct)):
            (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
            (tmp_path / name).chmod(0o755)
        environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
        command = [project_root / "profiles" / "cluster-generic" / "job_state.sh", "7"]
        return subprocess.check_output(command, env=environment, text=True).removesuffix("\n")

    return tell


@pytest.mark.parametrize(
    ("said", "states"),
    [
        ("success", "COMPLETED"),
        ("running", "PENDING RUNNING COMPLETING SUSPENDED REQUEUED"),
        ("failed", "FAILED CANCELLED OUT_OF_MEMORY TIMEOUT NODE_FAIL"),
    ],
)
def test_every_state_of_slurm_has_a_word(told, said, states):
    for state in states.split():
        assert told(f'echo "JobId=$4 JobName=a JobState={state} Reason=None"') == said, state


UNKNOWN = "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1"
REFUSED = "echo 'Unable to contact slurm controller (connect failure)' >&2; exit 1"


def test_a_forgotten_job_is_looked_up_in_the_accounts_and_a_silent_controller_asked_again(told):
    assert told(UNKNOWN, "echo COMPLETED") == "success"
    assert told(UNKNOWN, "echo CANCELLED by 0") == "failed"
    # Nothing is known of it.
    assert told(UNKNOWN) == "failed"
    assert told(REFUSED) == "running"
