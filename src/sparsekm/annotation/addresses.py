"""Addresses of files on the network, told from paths."""

from __future__ import annotations

from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit


def address_name(url: str) -> str:
    """Give the file name that an address ends in.

    Examples
    --------
    >>> address_name("https://example.org/ontology/go-basic.obo?release=1")
    'go-basic.obo'
    """
    name = PurePosixPath(unquote(urlsplit(url).path)).name
    if not name or "/" in name or name in (".", ".."):
        raise ValueError(f"url={url!r} should end in the name of a file.")
    return name


def is_address(path: str) -> bool:
    """Say whether a path is an address on the network."""
    return path.startswith(("http://", "https://"))
