"""Annotation of the clusters and the kept features. Snakemake reads this module without NumPy."""

from __future__ import annotations

from hashlib import sha256


def address_name(url: str) -> str:
    """Return the file name of a download: a digest of its address, which hides passwords.

    Another password or query is another address, which may give another file.
    """
    return f"{sha256(url.encode()).hexdigest()[:16]}.gmt"


def is_address(path: str) -> bool:
    """Tell whether a path is a network address."""
    return path.startswith(("http://", "https://"))
