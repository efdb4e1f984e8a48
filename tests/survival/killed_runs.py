"""Runs of a project to be killed: what is started, what is waited for, whom the signal strikes."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
from snakemake_process import outside, run_command

SECONDS = 120
# What `make results` passes.
MADE = ("--executor", "sparsekm", "--cores", "2")


class Run:
    """Snakemake at work in a project, in a session of its own; its output goes to a file."""

    def __init__(self, project, *arguments: str) -> None:
        self.root = project.root
        self.output = project.root / "run.txt"
        with self.output.open("w") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "snakemake", *(arguments or MADE)],
                cwd=project.root,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=outside(),
            )

    def is_alive(self) -> bool:
        return self.process.poll() is None

    def text(self) -> str:
        return self.output.read_text()

    def wait_for_a_job(self, rule: str = "") -> psutil.Process:
        """Wait until a job is at work, of a rule where one is given."""

        def find():
            for job in jobs_in(self.root):
                if logs_of(job, self.root / "logs" / rule):
                    return job
            return None

        return self._wait(find, f"job of {rule or 'any rule'}")

    def own_jobs(self) -> list[psutil.Process]:
        """List the jobs at work that this run started."""
        own = {child.pid for child in psutil.Process(self.process.pid).children(recursive=True)}
        return [job for job in jobs_in(self.root) if job.pid in own]

    def kill_writer(self, folder: Path, name: str) -> bool:
        """Kill the process that begins to write a file; tell whether it was still unfinished."""

        def strike():
            # Not by Path.iterdir: every millisecond counts.
            for entry in os.listdir(folder) if folder.is_dir() else ():  # noqa: PTH208
                if entry.startswith(".") and entry.endswith(f".partial.{name}"):
                    # The writer's number is part of its file's temporary name.
                    os.kill(int(entry.split(".")[1]), signal.SIGKILL)
                    return folder / entry
            return None

        left = self._wait(strike, f"unfinished {name} in {folder}", pause=0)
        return left.exists() and not (folder / name).exists()

    def kill_snakemake(self) -> None:
        """Kill Snakemake alone: its jobs live on."""
        self.process.kill()
        self.process.wait()

    def kill_everything(self) -> None:
        """Kill Snakemake and its jobs at once, as a power loss would."""
        jobs = jobs_in(self.root)
        self.kill_snakemake()
        kill(jobs)

    def end(self) -> int:
        return self.process.wait(timeout=600)

    def finish(self, seconds: float) -> str:
        """Wait for the end and return what was printed; fail where the run fails, or lasts."""
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            status = f"still running after {seconds} s"
        assert status == 0, f"{status}\n{self.text()[-8000:]}"
        return self.text()

    def _wait(self, find, what: str, pause: float = 0.02):
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            found = find()
            if found:
                return found
            if not self.is_alive():
                break
            time.sleep(pause)
        raise AssertionError(f"no {what} in {SECONDS} s or before the run ended: {self.text()}")


def jobs_in(root: Path) -> list[psutil.Process]:
    """List the jobs at work in a project, whoever started them: each holds its log open."""
    return [process for process in psutil.process_iter() if logs_of(process, root / "logs")]


def logs_of(process: psutil.Process, start: Path) -> list[str]:
    """List the files that a process holds open whose paths begin like this."""
    try:
        return [file.path for file in process.open_files() if file.path.startswith(str(start))]
    except psutil.Error:
        return []


def kill(jobs: list[psutil.Process]) -> None:
    for job in jobs:
        try:
            job.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(jobs, timeout=20)


def clear_lock(project) -> subprocess.CompletedProcess:
    """Do what `make results` does before it starts Snakemake."""
    return run_command([sys.executable, "-m", "sparsekm.pipeline.stale_lock"], project.root)


def unlock(project) -> None:
    """Remove the lock that a killed Snakemake left, in the way that this machine needs."""
    done = clear_lock(project)
    if "other machines may share this folder" in done.stdout:
        # As it says.
        done = project.snakemake("--unlock")
    assert done.returncode == 0, done.stdout


def make_results(project, source: Path) -> subprocess.CompletedProcess:
    """Run `make results` with this environment in the place of the one that it would make."""
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(source / name, project.root / name)
    environment = project.root / ".venv"
    if not environment.exists():
        environment.mkdir()
        # Python looks beside its bin for this file, and so finds its libraries.
        if (Path(sys.prefix) / "pyvenv.cfg").exists():
            shutil.copy(Path(sys.prefix) / "pyvenv.cfg", environment)
        for folder in ("bin", "lib"):
            (environment / folder).symlink_to(Path(sys.prefix) / folder)
    (environment / ".installed").touch()

    command = ["make", "results", "CORES=2"]
    done = run_command(command, project.root)
    if "other machines may share this folder" in done.stdout:
        unlock(project)
        done = run_command(command, project.root)
    return done
