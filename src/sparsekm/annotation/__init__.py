"""What the clusters and the kept features are; Snakemake reads this module without NumPy."""

from __future__ import annotations

from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit


def address_name(url: str) -> str:
    """Return the file name at the end of an address."""
    name = PurePosixPath(unquote(urlsplit(url).path)).name
    if not name or "/" in name or name in (".", ".."):
        raise ValueError(f"url={url!r} should end in the name of a file.")
    return name


def is_address(path: str) -> bool:
    """Tell whether a path is a network address."""
    return path.startswith(("http://", "https://"))
