"""Download files of gene sets into the cache, and store only what can be read.

A download is retried if the connection fails, must be as long as the server announced, and is
stored only after it has been read completely in the expected format, so that an error page sent as
a file is refused. The cache keeps address, length and SHA-256 of each file.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path

from sparsekm.annotation.addresses import address_name
from sparsekm.annotation.annotation_readers import read_gaf, read_gene2go
from sparsekm.annotation.gmt_reader import read_gmt
from sparsekm.annotation.obo_reader import read_obo
from sparsekm.annotation.text_lines import GeneSetError
from sparsekm.io.atomic import atomic_path
from sparsekm.network.cache import BodyCache
from sparsekm.network.errors import RefusedError
from sparsekm.network.gate import RequestGate
from sparsekm.network.retry import RetryPolicy
from sparsekm.network.transport import Transport

MOST_BYTES = 2 * 1024**3
"""Largest download accepted, in bytes."""

# These read annotations to the end without keeping them.
_READERS: dict[str, Callable[[Path], object]] = {
    "gmt": read_gmt,
    "obo": read_obo,
    "gaf": lambda file: deque(read_gaf(file), maxlen=0),
    "gene2go": lambda file: deque(read_gene2go(file), maxlen=0),
}


def fetch_gene_sets(
    url: str,
    file: str | Path,
    kind: str,
    *,
    cache: str | Path,
    requests_per_second: float = 2.0,
    contact: str = "",
    policy: RetryPolicy | None = None,
    **timeouts: float,
) -> None:
    """Get a file from the cache or download it, and store it if it can be read.

    A download that is not in the format `kind` is refused (`RefusedError`); `timeouts` are those of
    `Transport`.
    """
    if kind not in _READERS:
        raise ValueError(f"kind={kind!r} should be one of {list(_READERS)}.")
    kept, name = BodyCache(cache), f"gene_sets/{address_name(url)}"
    body = kept.get(name, url)
    is_new = body is None
    if is_new:
        gate = RequestGate(Path(cache) / "limits", per_second=requests_per_second, at_once=1)
        transport = Transport(gate, contact, **timeouts)
        body = (policy or RetryPolicy()).call(lambda: transport.get(url, most=MOST_BYTES), url)
    with atomic_path(file) as temporary:
        temporary.write_bytes(body)
        try:
            _READERS[kind](temporary)
        except GeneSetError as error:
            raise RefusedError(f"{url}: should be a file in the format {kind} ({error})") from error
    if is_new:
        kept.put(name, url, body)
