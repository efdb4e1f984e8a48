"""Ask the servers for bodies: fetched, checked, tried again where that may help."""

from __future__ import annotations

import re
from collections.abc import Callable

from sparsekm.atlas.envelope import EnvelopeError, open_envelope, parse_json
from sparsekm.atlas.grid import DamagedArchiveError, GridError, Volume
from sparsekm.network.retry import RetryPolicy
from sparsekm.network.transport import TransientError, Transport

MAX_ARCHIVE_BYTES = 64 * 1024 * 1024
"""Largest archive accepted; the atlas' largest grid has 3.2 MB before it is packed."""
MAX_JSON_BYTES = 256 * 1024 * 1024

# A query the servers cannot read comes back with the place of the mistake.
_SYNTAX_ERROR = re.compile(r"line \d+, column \d+")


class Client:
    """Fetches bodies that are whole."""

    def __init__(self, transport: Transport, policy: RetryPolicy):
        self._transport = transport
        self._policy = policy

    def fetch_archive(
        self, url: str, read: Callable[[bytes, str], Volume], *, judge: bool = True
    ) -> bytes:
        """Fetch a zip archive whose members have the right CRC; `read` takes the volume from it.

        `judge` tells whether a sound archive whose volume breaks the format, or is not there, is an
        error (`GridError`). It is what the server meant to send, so asking again would not help.
        """

        def attempt() -> bytes:
            body = self._transport.get(url, most=MAX_ARCHIVE_BYTES)
            try:
                read(body, url)
            except DamagedArchiveError as error:
                raise TransientError(f"{error} It begins {body[:40]!r}") from error
            except GridError:
                if judge:
                    raise
            return body

        return self._policy.call(attempt, url)

    def fetch_answer(self, url: str) -> tuple[bytes, dict]:
        """Fetch JSON in the servers' envelope, which reports no failure, else `EnvelopeError`."""

        def attempt() -> tuple[bytes, dict]:
            body = self._transport.get(url, most=MAX_JSON_BYTES)
            try:
                envelope = parse_json(body, url)
                if not isinstance(envelope, dict):
                    raise EnvelopeError(f"{url}: the answer should be an object.")
                open_envelope(envelope, url)
            except EnvelopeError as error:
                if _SYNTAX_ERROR.search(str(error)) and b'"success"' in body:
                    raise
                raise TransientError(str(error)) from error
            return body, envelope

        return self._policy.call(attempt, url)
