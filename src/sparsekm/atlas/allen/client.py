"""Downloads from the servers, with checks and retries."""

from __future__ import annotations

import re
from collections.abc import Callable

from sparsekm.atlas.envelope import EnvelopeError, open_envelope, parse_json
from sparsekm.atlas.grid import DamagedArchiveError, GridError, Volume
from sparsekm.network.retry import RetryPolicy
from sparsekm.network.transport import TransientError, Transport

MAX_ARCHIVE_BYTES = 64 * 1024 * 1024
"""Largest archive accepted; the largest grid of the atlas has 3.2 MB before compression."""
MAX_JSON_BYTES = 256 * 1024 * 1024

# If the servers cannot parse a query, they return the position of the error.
_SYNTAX_ERROR = re.compile(r"line \d+, column \d+")


class Client:
    """Downloads files and checks that they are complete."""

    def __init__(self, transport: Transport, policy: RetryPolicy):
        self._transport = transport
        self._policy = policy

    def fetch_archive(
        self, url: str, read: Callable[[bytes, str], Volume], *, judge: bool = True
    ) -> bytes:
        """Download a zip archive with correct CRCs; `read` reads its volume.

        If `judge`, an intact archive with an invalid or missing volume is an error (`GridError`).
        It is not retried, since it is what the server meant to send.
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
        """Download JSON in the servers' envelope; a reported failure is an `EnvelopeError`."""

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
