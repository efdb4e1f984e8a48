"""Provenance of results: versions of packages and digests of files."""

from __future__ import annotations

import hashlib
import platform
from importlib import metadata
from pathlib import Path

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
