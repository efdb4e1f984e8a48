"""The digest of a file or folder that several processes ask for."""

from __future__ import annotations

import contextlib
import hashlib
import re
from pathlib import Path

from sparsekm.io.atomic import write_bytes
from sparsekm.pipeline.provenance import file_digest

# Bytes beyond which taking a digest again takes noticeable time.
_LARGE = 2**26
_NOTE = re.compile("([0-9a-f]{64}) ([0-9a-f]{64})")


def input_digest(file: str | Path, folder: str | Path = ".snakemake/sparsekm/digests") -> str:
    """Return the `file_digest` of a file or folder.

    If it is large, the digest is taken once and noted in `folder`. The note holds until the size,
    the times of modification and change, or the inode of a file is another; nobody can set the time
    of change, so another file moved here with an old time stamp is noticed. A note that is damaged,
    or that cannot be written, only costs the time to take the digest again.
    """
    file = Path(file)
    size, identity = _identify(file)
    if size < _LARGE:
        return file_digest(file)
    note = Path(folder) / hashlib.sha256(str(file.resolve()).encode(errors="replace")).hexdigest()
    with contextlib.suppress(OSError, UnicodeDecodeError):
        found = _NOTE.fullmatch(note.read_text(encoding="utf-8"))
        if found and found[1] == identity:
            return found[2]
    digest = file_digest(file)
    # A file that is being written has no digest to keep.
    if _identify(file)[1] == identity:
        with contextlib.suppress(OSError):
            write_bytes(f"{identity} {digest}".encode(), note)
    return digest


def _identify(file: Path) -> tuple[int, str]:
    """Return the bytes of a file or folder, and a digest of its state without reading it."""
    parts = [file]
    if file.is_dir():
        parts = sorted(part for part in file.rglob("*") if part.is_file())
    states = [part.stat() for part in parts]
    lines = (
        f"{part} {state.st_size} {state.st_mtime_ns} {state.st_ctime_ns} {state.st_ino}"
        for part, state in zip(parts, states, strict=True)
    )
    digest = hashlib.sha256("\n".join(lines).encode(errors="surrogateescape"))
    return sum(state.st_size for state in states), digest.hexdigest()
