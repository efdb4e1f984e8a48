"""A real Slurm on this machine: three nodes, without systemd, control groups or accounting.

Of Debian's packages nothing is configured but ``/etc/slurm/slurm.conf``, which is put back at the
end; everything else stands in a folder of the tests.
"""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path

import psutil

PACKAGES = ("slurmctld", "slurmd", "slurm-client", "munge")
NODES = ("n1", "n2", "n3")
CONFIGURED = Path("/etc/slurm/slurm.conf")
SAVED = CONFIGURED.with_name("slurm.conf.before-tests")
MARK = "sparsekm-small-cluster"

CONFIGURATION = Path(__file__).with_name("slurm.conf.template").read_text()
NODE = "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=4 RealMemory=4000\n"
PARTITION = "PartitionName=all Nodes={nodes} Default=YES MaxTime=INFINITE State=UP\n"


class CannotRunError(RuntimeError):
    """This machine does not allow a Slurm of the tests' own."""


def install() -> None:
    """Install Debian's packages of Slurm; raise where they cannot be, or a Slurm runs already."""
    if os.geteuid() != 0:
        raise CannotRunError("installing and starting Slurm takes root")
    if shutil.which("apt-get") is None:
        raise CannotRunError("Slurm is installed from Debian's packages, and there is no apt-get")
    _stop_leftover()
    for daemon in ("slurmctld", "slurmd"):
        if subprocess.run(["pgrep", "-x", daemon], capture_output=True).returncode == 0:
            raise CannotRunError(f"{daemon} runs here already, and is left alone")
    if all(shutil.which(name) for name in ("slurmctld", "slurmd", "sbatch", "munged")):
        return
    for arguments in ("update -q", f"install -q -y --no-install-recommends {' '.join(PACKAGES)}"):
        try:
            quietly = ("env", "DEBIAN_FRONTEND=noninteractive")
            _run(*quietly, "apt-get", *arguments.split(), seconds=240)
        except subprocess.SubprocessError as error:
            raise CannotRunError(" ".join(str(error).split())[-400:]) from error


def _stop_leftover() -> None:
    """Stop what an earlier run of the tests, itself killed, has left."""
    if CONFIGURED.is_symlink():
        folder = CONFIGURED.readlink().parent
        if (folder / MARK).exists():
            SmallCluster(folder).stop()


class SmallCluster:
    """Three nodes in one folder, whose path is short and which every user may enter."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def start(self) -> None:
        """Start all daemons and wait until every node is idle."""
        (self.folder / MARK).touch()
        (self.folder / "state").mkdir()
        host = socket.gethostname().split(".")[0]
        ports = _free_ports(1 + len(NODES))
        lines = CONFIGURATION.format(folder=self.folder, host=host, controller_port=ports[0])
        for name, port in zip(NODES, ports[1:], strict=True):
            lines += NODE.format(name=name, host=host, port=port)
        lines += PARTITION.format(nodes=",".join(NODES))
        (self.folder / "slurm.conf").write_text(lines)
        CONFIGURED.parent.mkdir(exist_ok=True)
        if CONFIGURED.exists() or CONFIGURED.is_symlink():
            CONFIGURED.rename(SAVED)
        CONFIGURED.symlink_to(self.folder / "slurm.conf")
        key = self.folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(128))
        named = {"key-file": key}
        for name in ("socket", "pid-file", "log-file", "seed-file"):
            named[name] = self.folder / f"munge.{name.removesuffix('-file')}"
        _run("munged", *(f"--{name}={path}" for name, path in named.items()))
        _run("slurmctld")
        for name in NODES:
            self.start_node(name)
        self._wait_until(lambda: self.node_states() == dict.fromkeys(NODES, "IDLE"), 60)

    def start_node(self, name: str) -> None:
        """Start the daemon of a node."""
        (self.folder / f"spool-{name}").mkdir(exist_ok=True)
        _run("slurmd", "-N", name)

    def stop(self) -> None:
        """End all jobs, stop all daemons, and put back the configuration that was there."""
        with contextlib.suppress(subprocess.SubprocessError, OSError):
            _run("scancel", "--user=root")
            self._wait_until(lambda: not _run("squeue", "--noheader").strip(), 20)
        for name in [*(f"slurmd-{node}" for node in NODES), "slurmctld", "munge"]:
            _stop(self.folder / f"{name}.pid")
        if CONFIGURED.is_symlink() and CONFIGURED.readlink().parent == self.folder:
            CONFIGURED.unlink()
            if SAVED.exists() or SAVED.is_symlink():
                SAVED.rename(CONFIGURED)
        shutil.rmtree(self.folder, ignore_errors=True)

    def node_states(self) -> dict[str, str]:
        """Give the state of every node by its name."""
        answer = _run("sinfo", "--noheader", "--Node", "--format=%N %T")
        return {name: state.upper() for name, state in map(str.split, answer.splitlines())}

    def jobs(self) -> list[dict[str, str]]:
        """Give what Slurm knows of every job since the start, in the order of submission."""
        answer = _run("scontrol", "--oneliner", "show", "job")
        jobs = [dict(re.findall(r"(\w+)=(\S*)", line)) for line in answer.splitlines()]
        return sorted((job for job in jobs if "JobId" in job), key=lambda job: int(job["JobId"]))

    def running_job(self, seconds: float) -> dict[str, str]:
        """Wait for a job that has been running for a second or more, and give it."""
        found = {}

        def is_running() -> bool:
            for job in self.jobs():
                if job["JobState"] == "RUNNING" and job["RunTime"] >= "00:00:01":
                    found.update(job)
            return bool(found)

        self._wait_until(is_running, seconds)
        return found

    def crash(self, node: str, job: str) -> None:
        """Kill a node's daemon, and everything of a job on it: no process can say goodbye."""
        for process in (_process(self.folder / f"slurmd-{node}.pid"), *_processes_of_job(job)):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()

    def start_now(self, job: str) -> None:
        """Start a job that Slurm lets wait two minutes, as it does after the crash of a node."""
        self._wait_until(lambda: "Reason=BeginTime" in _run("scontrol", "show", "job", job), 30)
        _run("scontrol", "update", f"JobId={job}", "StartTime=now")

    def wait_for_state(self, node: str, state: str, seconds: float) -> None:
        """Wait until a node is in a state."""
        self._wait_until(lambda: self.node_states()[node].startswith(state), seconds)

    def _wait_until(self, is_so, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not is_so():
            if time.monotonic() > end:
                told = [f"not within {seconds} s: {self.node_states()}"]
                told += [f"{log}:\n{log.read_text()[-2000:]}" for log in self.folder.glob("*.log")]
                raise TimeoutError("\n".join(told))
            time.sleep(0.2)


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as opened:
        sockets = [opened.enter_context(socket.socket()) for _ in range(count)]
        for free in sockets:
            free.bind(("127.0.0.1", 0))
        return [free.getsockname()[1] for free in sockets]


def _run(*command: str, seconds: float = 30) -> str:
    """Run a command to its end and return what it printed; daemons go to the background."""
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    program = shutil.which(command[0], path=path) or command[0]
    options = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    done = subprocess.run([program, *command[1:]], timeout=seconds, **options)
    if done.returncode:
        raise subprocess.SubprocessError(f"{' '.join(command)}: {done.stderr}{done.stdout}")
    return done.stdout


def _process(pid_file: Path) -> psutil.Process:
    return psutil.Process(int(pid_file.read_text()))


def _stop(pid_file: Path) -> None:
    """Stop a daemon, unless another process has its number by now."""
    with contextlib.suppress(OSError, ValueError, psutil.NoSuchProcess):
        daemon = _process(pid_file)
        if daemon.name().startswith(pid_file.stem.split("-")[0]):
            daemon.terminate()
            if psutil.wait_procs([daemon], timeout=5)[1]:
                daemon.kill()


def _processes_of_job(job: str) -> list[psutil.Process]:
    """List the step daemons of a job and all processes of its steps, the daemons first."""
    daemons, processes = [], []
    for process in psutil.process_iter(["cmdline", "environ"]):
        title, variables = process.info["cmdline"] or [], process.info["environ"] or {}
        if " ".join(title).startswith(f"slurmstepd: [{job}."):
            daemons.append(process)
        elif variables.get("SLURM_JOB_ID") == job:
            processes.append(process)
    return daemons + processes
