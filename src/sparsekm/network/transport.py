"""Download one file over HTTP, with limits on its size and time.

A failure that may be temporary is a `TransientError`; any other failure is final.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib.metadata import PackageNotFoundError, version

import requests
import urllib3

from sparsekm.network.errors import NotFoundError, RefusedError
from sparsekm.network.gate import RequestGate

_CHUNK = 64 * 1024
_TRANSIENT_STATUSES = frozenset({408, 425, 429, *range(500, 600)})
_ABSENT_STATUSES = frozenset({404, 410})
_FINAL_ERRORS = (
    requests.exceptions.InvalidSchema,
    requests.exceptions.InvalidURL,
    requests.exceptions.MissingSchema,
    requests.exceptions.TooManyRedirects,
)
# The errors of requests are OSErrors; those of urllib3 occur while a body is streamed.
_TRANSIENT_ERRORS = (OSError, urllib3.exceptions.HTTPError)


class TransientError(Exception):
    """A temporary failure; ``retry_after`` is the wait in seconds that the server asks for."""

    def __init__(self, reason: str, retry_after: float | None = None):
        super().__init__(reason)
        self.retry_after = retry_after


class Transport:
    """Downloads files through a gate.

    `contact`, an address at which you can be reached, goes into the User-Agent. The timeouts, in
    seconds, are for the connection, between two pieces of a body, and for a whole body.
    """

    def __init__(
        self,
        gate: RequestGate,
        contact: str = "",
        *,
        connect_timeout: float = 9.0,
        read_timeout: float = 31.0,
        total_timeout: float = 600.0,
        clock: Callable[[], float] = time.monotonic,
    ):
        self._gate = gate
        self._headers = {
            "User-Agent": f"sparsekm/{_version()}" + (f" ({contact})" if contact else ""),
            # With a compressed transfer the length of the body would not be known.
            "Accept-Encoding": "identity",
        }
        self._timeout = (connect_timeout, read_timeout)
        self._total_timeout = total_timeout
        self._clock = clock
        # A session handles one request at a time; its connections stay open between requests.
        self._sessions: queue.SimpleQueue[requests.Session] = queue.SimpleQueue()

    def get(self, url: str, *, most: int) -> bytes:
        """Download a body of at most `most` bytes, and check the announced length, if any.

        Nothing at this address (404, 410) is a `NotFoundError`, a refusal or a body that is too
        large a `RefusedError`. It is a `TransientError` if the connection fails or is too slow, the
        body is truncated, or the server is overloaded (408, 425, 429, 5xx).
        """
        with self._gate.passing(), self._session() as session:
            start = self._clock()
            try:
                with session.get(
                    url, headers=self._headers, timeout=self._timeout, stream=True
                ) as response:
                    self._check_status(response, url)
                    return self._read(response, url, most, start)
            except _FINAL_ERRORS as error:
                raise RefusedError(f"{url}: {error}") from error
            except RefusedError:
                raise
            except _TRANSIENT_ERRORS as error:
                raise TransientError(f"{type(error).__name__}: {error}") from error

    @contextmanager
    def _session(self) -> Iterator[requests.Session]:
        try:
            session = self._sessions.get_nowait()
        except queue.Empty:
            session = requests.Session()
        yield session
        # Only after success: a session whose request failed is discarded with its connection.
        self._sessions.put(session)

    def _check_status(self, response: requests.Response, url: str) -> None:
        status = response.status_code
        if status in _ABSENT_STATUSES:
            raise NotFoundError(f"{url}: HTTP status={status}.")
        if status in _TRANSIENT_STATUSES:
            wait = parse_retry_after(response.headers.get("Retry-After"))
            if wait is not None:
                self._gate.postpone(wait)
            raise TransientError(f"HTTP status={status} should be 200", wait)
        if status != 200:
            raise RefusedError(f"{url}: HTTP status={status} should be 200.")

    def _read(self, response: requests.Response, url: str, most: int, start: float) -> bytes:
        announced = response.headers.get("Content-Length", "")
        # The length of an unexpectedly compressed body says nothing; urllib3 checks that body.
        compressed = response.headers.get("Content-Encoding", "identity") != "identity"
        wanted = int(announced) if announced.isdecimal() and not compressed else None
        if wanted is not None and wanted > most:
            raise RefusedError(f"{url}: Content-Length={wanted} should be <= {most} bytes.")
        body = bytearray()
        while chunk := response.raw.read1(_CHUNK, decode_content=compressed):
            body += chunk
            if len(body) > most:
                raise RefusedError(f"{url}: the body should have <= {most} bytes, has more.")
            elapsed = self._clock() - start
            if elapsed > self._total_timeout:
                raise TransientError(
                    f"{len(body)} bytes in {elapsed:.0f} s; the body should take "
                    f"<= {self._total_timeout:g} s"
                )
        if wanted is not None and len(body) != wanted:
            raise TransientError(f"the body has {len(body)} bytes, should have {wanted}")
        return bytes(body)


def _version() -> str:
    try:
        return version("sparsekm")
    except PackageNotFoundError:
        return "0"


def parse_retry_after(value: str | None, now: datetime | None = None) -> float | None:
    """Parse a Retry-After header, seconds or a date, as seconds >= 0; None if it is invalid."""
    value = (value or "").strip()
    if value.isascii() and value.isdecimal():
        return float(value)
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - (now or datetime.now(UTC))).total_seconds())
