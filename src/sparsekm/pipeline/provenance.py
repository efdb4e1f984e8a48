"""Where numbers come from: versions of packages and digests of files."""

from __future__ import annotations

import hashlib
import platform
from importlib import metadata
from pathlib import Path

_PACKAGES = ("sparsekm", "numpy", "scipy", "scikit-learn", "numba", "pandas", "h5py", "anndata")


def package_versions() -> dict[str, str]:
    """Give the versions of Python and of the installed packages that numbers may depend on."""
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions


def file_digest(file: str | Path) -> str:
    """Give the SHA-256 of a file in hexadecimal; of a folder, that of all names and contents."""
    file = Path(file)
    if file.is_dir():
        parts = sorted(part for part in file.rglob("*") if part.is_file())
        lines = (f"{file_digest(part)} {part.relative_to(file).as_posix()}" for part in parts)
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
