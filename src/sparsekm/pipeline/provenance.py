"""Where numbers come from: versions of packages and digests of files."""

from __future__ import annotations

import hashlib
import platform
from importlib import metadata
from pathlib import Path

_PACKAGES = ("sparsekm", "numpy", "scipy", "scikit-learn", "numba", "pandas", "h5py", "anndata")


def package_versions() -> dict[str, str]:
    """Give the versions of Python and of the packages that numbers may depend on.

    Returns
    -------
    versions : dict
        A package that is not installed is left out.
    """
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions


def file_digest(file: str | Path) -> str:
    """Give the SHA-256 of a file's content in hexadecimal."""
    with Path(file).open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
