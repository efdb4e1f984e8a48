"""A run of the small workflow whose jobs go to the small cluster."""

import os
import signal
import subprocess
import sys

from snakemake_process import outside

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


class ClusterRun:
    """Snakemake in a project, with one of its profiles, until `finish`."""

    def __init__(self, project, profile: str, *arguments: str) -> None:
        self._log = project.root / "cluster_run.log"
        command = [sys.executable, "-m", "snakemake", *arguments]
        command += ["--workflow-profile", f"profiles/{profile}", *HURRIED[profile]]
        command += ["--jobs", "6", "--latency-wait", "10"]
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                command,
                cwd=project.root,
                env=outside(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def finish(self, seconds: float) -> str:
        """Wait for the end and return what was printed; fail where the run fails, or lasts."""
        try:
            status = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            status = f"still running after {seconds} s"
        printed = self._log.read_text()
        assert status == 0, f"{status}\n{printed[-8000:]}"
        return printed
