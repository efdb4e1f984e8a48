"""Provenance of results: versions of packages and digests of files."""

from __future__ import annotations

import hashlib
import platform
import re
from importlib import metadata
from pathlib import Path

from sparsekm.io.atomic import write_bytes

# Bytes beyond which taking a digest again takes noticeable time.
_LARGE = 2**26
_DIGEST = re.compile("[0-9a-f]{64}")
_PACKAGES = ("sparsekm", "numpy", "scipy", "scikit-learn", "numba", "pandas", "h5py", "anndata")


def package_versions() -> dict[str, str]:
    """Return the versions of Python and of the installed packages that may affect results."""
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions


def file_digest(file: str | Path) -> str:
    """Return the SHA-256 of a file in hexadecimal, or of all names and contents of a folder."""
    file = Path(file)
    if file.is_dir():
        parts = sorted(part for part in file.rglob("*") if part.is_file())
        lines = (f"{file_digest(part)} {part.relative_to(file).as_posix()}" for part in parts)
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def kept_digest(file: str | Path, folder: str | Path = "cache/digests") -> str:
    """Return the `file_digest` of a file that many jobs read.

    Of a large file it is taken once and kept in `folder`, under a name made of the file's path,
    size and time of modification.
    """
    file, about = Path(file), Path(file).stat()
    if about.st_size < _LARGE:
        return file_digest(file)
    known_by = f"{file.resolve()} {about.st_size} {about.st_mtime_ns}"
    kept = Path(folder) / hashlib.sha256(known_by.encode()).hexdigest()
    if kept.is_file() and _DIGEST.fullmatch(found := kept.read_text()):
        return found
    digest = file_digest(file)
    write_bytes(digest.encode(), kept)
    return digest
