"""Remove the lock of a Snakemake that was killed; `make results` asks for this first.

Snakemake locks the folder it works in. Killed by signal 9, or by a power loss, it leaves the lock
behind and every later run refuses. The lock does not say who holds it. So it is removed only where
nobody can: no Snakemake works in this folder, and no other machine sees the folder.
"""

import subprocess
import sys
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from sparsekm.io.file_lock import SUPPORTED, is_supported, lock_file

LOCKS = Path(".snakemake/locks")
# Of file systems that several machines may share.
SHARED = (
    "afs", "beegfs", "ceph", "cifs", "fuse", "gfs", "glusterfs", "gpfs", "lustre", "ncpfs",
    "nfs", "ocfs", "panfs", "pvfs", "smb", "virtiofs", "wekafs", "9p",
)  # fmt: skip


def find_snakemakes(folder: Path) -> list[int]:
    """List the processes that run Snakemake itself, not its jobs, in a folder."""
    found = []
    for process in psutil.process_iter(["pid", "cmdline", "cwd"]):
        words = [Path(word).name for word in process.info["cmdline"] or []]
        # Called by its name, or as python -m snakemake. Where somebody else's works is not told.
        if "snakemake" in words[:3] and process.info["cwd"] in (str(folder), None):
            found.append(process.info["pid"])
    return found


def file_system(folder: Path) -> str:
    """Name the type of the file system that holds a folder; nothing where it is unknown."""
    partitions = {Path(part.mountpoint): part.fstype for part in psutil.disk_partitions(all=True)}
    places = [place for place in (folder, *folder.parents) if place in partitions]
    return partitions[places[0]] if places else ""


def obstacle(folder: Path) -> str:
    """Say why the lock should not be removed; nothing where it may be."""
    alive = find_snakemakes(folder)
    if alive:
        names = ", ".join(map(str, alive))
        return f"process {names} may be at work. Wait for it to end, or end it"
    kind = file_system(folder)
    if not kind or kind.startswith(SHARED):
        return (
            f"none does on this machine, but others may share this folder ({kind or 'unknown'}). "
            "If none does there either, run: .venv/bin/snakemake --unlock"
        )
    return ""


def main() -> None:
    """Remove the lock, or say why not and end with status 1."""
    if not is_supported():
        sys.exit(f"ERROR: {SUPPORTED}")
    if not LOCKS.is_dir() or not any(LOCKS.iterdir()):
        return
    folder = Path.cwd().resolve()
    # One at a time: a lock must not be taken between the look and its removal by another of us.
    with (LOCKS.parent / "clear_stale_lock").open("a") as turn:
        lock_file(turn)
        if not LOCKS.is_dir() or not any(LOCKS.iterdir()):
            return
        reason = obstacle(folder)
        if reason:
            sys.exit(f"ERROR: Snakemake has locked {folder}: {reason}.")
        print("A Snakemake was killed here and left its lock behind: removing it.", flush=True)
        # Where the Snakefile is not found by itself, the arguments name it.
        done = subprocess.run(
            [sys.executable, "-m", "snakemake", "--unlock", "--quiet", "all", *sys.argv[1:]],
            check=False,
        )
        sys.exit(done.returncode)


if __name__ == "__main__":
    main()
