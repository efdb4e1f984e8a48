"""Remove the lock of a Snakemake that was killed; the command and `make results` do this first.

Snakemake locks the folder it works in. If it is killed by signal 9 or a power loss, the lock
remains and every later run refuses to start. The lock does not say who holds it. It is therefore
removed only if nobody can hold it: no Snakemake is running in this folder, and no other machine has
access to the folder.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

import psutil

from sparsekm.io.atomic import SUPPORTED, is_supported, lock_file, open_to_append
from sparsekm.io.input_error import InputError

LOCKS = Path(".snakemake/locks")
# Types of file systems that several machines may share.
SHARED = (
    "afs", "beegfs", "ceph", "cifs", "fuse", "gfs", "glusterfs", "gpfs", "lustre", "ncpfs",
    "nfs", "ocfs", "panfs", "pvfs", "smb", "virtiofs", "wekafs", "9p",
)  # fmt: skip


def find_snakemakes(folder: Path) -> list[int]:
    """List the processes in a folder that run Snakemake itself, without their children."""
    parents = {}
    for process in psutil.process_iter(["pid", "ppid", "cmdline", "cwd"]):
        words = [Path(word).name for word in process.info["cmdline"] or []]
        # It is called by its name, or as python -m snakemake. Folders of other users' processes are
        # unknown.
        if "snakemake" in words[:4] and process.info["cwd"] in (str(folder), None):
            parents[process.info["pid"]] = process.info["ppid"]
    # A child has its parent's command line until it becomes another program.
    return [pid for pid, parent in parents.items() if parent not in parents]


def file_system(folder: Path) -> str:
    """Return the type of the file system of a folder, or "" if unknown."""
    partitions = {Path(part.mountpoint): part.fstype for part in psutil.disk_partitions(all=True)}
    places = [place for place in (folder, *folder.parents) if place in partitions]
    return partitions[places[0]] if places else ""


def clear_stale_lock(folder: Path) -> None:
    """Remove the lock in a folder, or say why not in an error."""
    locks = folder / LOCKS
    if not locks.is_dir():
        return
    # Only one process at a time, so that no other takes the lock between this check and its
    # removal.
    with open_to_append(locks.parent / "sparsekm" / "clear_stale_lock") as turn:
        lock_file(turn)
        if not any(locks.iterdir()):
            return
        told = f"Snakemake has locked {folder}:"
        if alive := find_snakemakes(folder):
            names = ", ".join(map(str, alive))
            raise InputError(
                f"{told} process {names} may be running here. Wait for it to end, or end it."
            )
        kind = file_system(folder)
        if not kind or kind.startswith(SHARED):
            raise InputError(
                f"{told} no Snakemake is running here on this machine, but other machines may "
                f"share this folder ({kind or 'unknown'}). If none is running there either, run: "
                f"rm -r {shlex.quote(str(locks))}"
            )
        sys.stdout.write("Removing the lock left behind by a Snakemake that was killed.\n")
        # This does the same as snakemake --unlock, which would first read the whole workflow.
        shutil.rmtree(locks)


if __name__ == "__main__":
    if not is_supported():
        sys.exit(f"ERROR: {SUPPORTED}")
    try:
        clear_stale_lock(Path.cwd().resolve())
    except InputError as error:
        sys.exit(f"ERROR: {error}")
