"""A run that dies at any moment goes on when the same command is given again."""

import contextlib
import subprocess
import time

import psutil
import pytest
import yaml
from snakemake_process import DRAWN, RUN, outside, printed, run_command


@contextlib.contextmanager
def started(folder):
    """Start a run, and wait for its end; what it says goes to a file beside the folder."""
    with (folder.parent / "told").open("a") as told:
        options = {"cwd": folder, "env": outside(), "stdout": told, "stderr": subprocess.STDOUT}
        with subprocess.Popen(RUN, **options) as running:
            yield running


def fork_servers(running):
    """Yield the process that jobs are forked from, and those that take its place, until the end."""
    while running.poll() is None:
        for process in psutil.Process(running.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                if any("multiprocessing.forkserver" in word for word in process.cmdline()):
                    yield process
        time.sleep(0.02)


@pytest.mark.release
@pytest.mark.usefixtures("kernels")
def test_after_the_fork_server_or_the_command_was_killed_the_same_command_finishes(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "config.yaml").write_text(yaml.safe_dump(DRAWN))
    with started(folder) as running:
        for server in fork_servers(running):
            server.kill()
    told = (tmp_path / "told").read_text()
    assert running.returncode == 2
    cure = "the process that starts jobs was killed, perhaps for lack of memory (fewer cores need"
    assert f"ERROR in simulate_matrix: {cure} less). Run the same command to continue." in told
    assert "Traceback" not in told
    # Snakemake left the log of the job that never began.
    assert (folder / "logs" / "simulate_matrix" / "small.log").is_file()

    # Nor does a job that has begun say why it is given up.
    with started(folder) as running:
        for server in fork_servers(running):
            if server.children():
                server.kill()
                break
    told = (tmp_path / "told").read_text().removeprefix(told)
    assert cure in told
    assert running.returncode == 2

    # Killed alone, the command leaves its Snakemake at work.
    with started(folder) as running:
        next(fork_servers(running))
        running.kill()
    told = printed(run_command(RUN, folder))
    assert "sparsekm: waiting for the Snakemake of a killed run to end" in told
    assert (folder / "results" / "report.html").is_file()
