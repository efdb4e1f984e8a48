"""Fetch files of gene sets, keep what was fetched, and store nothing that cannot be read.

A body is tried again where the connection fails, is as long as the server announced, and counts
only after it has been read from its first line to its last as the format that it should have: an
error page sent as a file is refused. The cache keeps address, length and SHA-256 beside each file.
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
"""Largest file accepted, as it is sent."""

# Reading annotations to their end without keeping them.
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
    """Fetch a file from the cache or from its address, whole and readable or not at all.

    A body without the format `kind` is refused (`RefusedError`); `timeouts` are those of
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
