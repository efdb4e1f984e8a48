"""The digest of a file that many jobs read."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from sparsekm.io.atomic import write_bytes
from sparsekm.pipeline.provenance import file_digest

# Bytes beyond which taking a digest again takes noticeable time.
_LARGE = 2**26
_DIGEST = re.compile("[0-9a-f]{64}")


def input_digest(file: str | Path, folder: str | Path = ".snakemake/digests") -> str:
    """Return the `file_digest` of a file.

    Of a large file it is taken once and kept in `folder`, under a name made of the file's path,
    size and time of modification.
    """
    file = Path(file)
    about = file.stat()
    if about.st_size < _LARGE:
        return file_digest(file)
    known_by = f"{file.resolve()} {about.st_size} {about.st_mtime_ns}"
    kept = Path(folder) / hashlib.sha256(known_by.encode()).hexdigest()
    if kept.is_file() and _DIGEST.fullmatch(found := kept.read_text()):
        return found
    digest = file_digest(file)
    write_bytes(digest.encode(), kept)
    return digest
