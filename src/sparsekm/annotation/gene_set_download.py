"""Downloading a file of gene sets, of which only what can be read is stored."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sparsekm.annotation.gene_sets import GeneSetError, read_gene_sets
from sparsekm.io.atomic import atomic_path

if TYPE_CHECKING:
    from sparsekm.network import Downloader

MOST_BYTES = 2**28
"""Largest download accepted; all sets of MSigDB have a tenth of it."""


def fetch_gene_sets(downloader: Downloader, url: str, file: str | Path, identifier: str) -> None:
    """Download a GMT file and store it if it can be read; otherwise it is a `RefusedError`."""
    # Only here: the workflow imports this module to tell addresses from paths.
    from sparsekm.network import RefusedError

    body = downloader.get(url, most=MOST_BYTES)
    with atomic_path(file) as temporary:
        temporary.write_bytes(body)
        try:
            read_gene_sets(temporary, identifier)
        except GeneSetError as error:
            raise RefusedError(f"{url}: should be a GMT file ({error})") from error
