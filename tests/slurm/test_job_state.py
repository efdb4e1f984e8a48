"""What profiles/cluster-generic/job_state.sh says, with a Slurm that is played by two scripts."""

import os
import subprocess

import pytest


@pytest.fixture
def told(project_root, tmp_path):
    """Give the function that tells what is said when Slurm's commands answer as given."""

    def tell(scontrol: str, sacct: str = "exit 1") -> str:
        for name, body in (("scontrol", scontrol), ("sacct", sacct)):
            (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
            (tmp_path / name).chmod(0o755)
        done = subprocess.run(
            [project_root / "profiles" / "cluster-generic" / "job_state.sh", "7"],
            env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    return tell


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("COMPLETED", "success"),
        ("PENDING", "running"),
        ("RUNNING", "running"),
        ("COMPLETING", "running"),
        ("SUSPENDED", "running"),
        ("REQUEUED", "running"),
        ("FAILED", "failed"),
        ("CANCELLED", "failed"),
        ("OUT_OF_MEMORY", "failed"),
        ("TIMEOUT", "failed"),
        ("NODE_FAIL", "failed"),
    ],
)
def test_every_state_of_slurm_has_a_word(told, state, said):
    assert told(f'echo "JobId=$4 JobName=a JobState={state} Reason=None"') == f"{said}\n"


UNKNOWN = "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1"


def test_a_forgotten_job_is_looked_up_in_the_accounts(told):
    assert told(UNKNOWN, "echo COMPLETED") == "success\n"
    assert told(UNKNOWN, "echo CANCELLED by 0") == "failed\n"


def test_a_job_that_nothing_is_known_of_has_failed(told):
    assert told(UNKNOWN) == "failed\n"


def test_a_controller_that_does_not_answer_is_asked_again(told):
    refused = "echo 'Unable to contact slurm controller (connect failure)' >&2; exit 1"
    assert told(refused) == "running\n"
