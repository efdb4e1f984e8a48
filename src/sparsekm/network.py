"""Downloads over HTTP, with limits on time and size, retries, and a record of earlier downloads.

One time limit applies to a whole exchange, with redirects, headers and body, and one size limit to
the body. Every failure ends in one of the errors below, with the address in its message.
"""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urljoin

import requests
import urllib3

from sparsekm import __version__
from sparsekm.io.atomic import open_to_append, write_bytes
from sparsekm.io.input_error import hide_secrets

T = TypeVar("T")

MOST_REDIRECTS = 5
_CHUNK = 64 * 1024
_SILENCE = 30.0
"""Seconds without a byte after which a connection counts as lost."""
_LONGEST_PAUSE = 60.0
_TRANSIENT_STATUSES = frozenset({408, 425, 429, *range(500, 600)})
_ABSENT_STATUSES = frozenset({404, 410})


class NotFoundError(LookupError):
    """The source has no such file; retrying will not help."""


class UnavailableError(RuntimeError):
    """The source cannot deliver a file now; retrying later may help."""


class RefusedError(RuntimeError):
    """The source refuses the request, or its response is unacceptable; retrying will not help."""


class TransientError(Exception):
    """A temporary failure; ``retry_after`` is the wait in seconds that the server asks for."""

    def __init__(self, reason: str, retry_after: float = 0.0):
        super().__init__(reason)
        self.retry_after = retry_after


class Downloader:
    """Downloads files one after another, in the main thread of a process.

    `contact`, an address at which you can be reached, goes into the User-Agent. An exchange may
    take `timeout` seconds. A file has up to `tries` attempts, which with the pauses between them
    take at most `total_timeout` seconds.
    """

    def __init__(
        self,
        contact: str = "",
        *,
        tries: int = 5,
        timeout: float = 600.0,
        total_timeout: float = 1800.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ):
        self._tries, self._timeout, self._total_timeout = tries, timeout, total_timeout
        self._clock, self._sleep = clock, sleep
        self._session = _Session()
        who = f" ({contact})" if contact else ""
        self._session.headers["User-Agent"] = f"sparsekm/{__version__}{who}"
        # For a compressed transfer, the length of the body would not be known.
        self._session.headers["Accept-Encoding"] = "identity"

    def get(self, url: str, *, most: int, read: Callable[[bytes], T] = bytes) -> T:
        """Download a body of at most `most` bytes, and return what `read` makes of it.

        A failure that may be temporary, also a `TransientError` of `read`, is tried again. The last
        failure is an `UnavailableError`, and so is a server that asks for a longer pause than is
        left.
        """
        deadline, pause = self._clock() + self._total_timeout, 1.0
        for attempt in count(1):
            try:
                left = deadline - self._clock()
                return read(self._exchange(url, most, max(0.001, min(self._timeout, left))))
            except TransientError as error:
                wait = max(pause, error.retry_after)
                if attempt == self._tries or wait > deadline - self._clock():
                    times = "attempt" if attempt == 1 else "attempts"
                    pause_asked = f"; asked to wait {wait:g} s" if error.retry_after else ""
                    raise UnavailableError(
                        f"{url}: failed after {attempt} {times} ({error}{pause_asked})."
                    ) from error
            self._sleep(wait)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _exchange(self, url: str, most: int, seconds: float) -> bytes:
        start = time.monotonic()
        try:
            with time_limit(seconds):
                return self._follow(url, most, min(seconds, _SILENCE))
        except ValueError as error:
            raise RefusedError(f"{url}: not an address that can be requested ({error}).") from error
        # The errors of requests are OSErrors; errors of urllib3 occur while a body is streamed.
        except (OSError, urllib3.exceptions.HTTPError) as error:
            self._session.close()
            if time.monotonic() - start >= seconds:
                raise TransientError(f"took longer than {seconds:g} s") from error
            raise TransientError(f"{type(error).__name__}: {error}") from error

    def _follow(self, url: str, most: int, silence: float) -> bytes:
        """Follow redirects, whose bodies are not read, to a body."""
        address = url
        for _ in range(1 + MOST_REDIRECTS):
            with self._session.get(
                address, timeout=silence, stream=True, allow_redirects=False
            ) as response:
                if not response.is_redirect:
                    _check_status(response, url)
                    return _read(response, url, most)
                address = urljoin(address, response.headers["Location"])
                if url.startswith("https:") and not address.startswith("https:"):
                    raise RefusedError(f"{url}: redirects should lead to https:// addresses.")
        raise RefusedError(
            f"{url}: redirects should be <= {MOST_REDIRECTS}; the last leads to "
            f"{hide_secrets(address)}"
        )


class _Session(requests.Session):
    """A session that does not follow redirects, whose bodies it would read into memory."""

    def get_redirect_target(self, resp: requests.Response) -> None:
        return None


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise a TimeoutError in the block when the time is up, even if it waits.

    Timeouts of sockets start anew with every byte; a signal, which only the main thread gets, does
    not. It is repeated, because the block may mistake the first error for another one.
    """

    def ring(signum: int, frame: object) -> None:
        raise TimeoutError(f"took longer than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        # The signal can arrive in the line above; the next one would come a second later.
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _check_status(response: requests.Response, url: str) -> None:
    status = response.status_code
    if status in _ABSENT_STATUSES:
        raise NotFoundError(f"{url}: HTTP status={status}.")
    if status in _TRANSIENT_STATUSES:
        wait = parse_retry_after(response.headers.get("Retry-After", ""))
        raise TransientError(f"HTTP status={status} should be 200", wait)
    if status != 200:
        raise RefusedError(f"{url}: HTTP status={status} should be 200.")


def _read(response: requests.Response, url: str, most: int) -> bytes:
    """Read a body; urllib3 decompresses it, and refuses a truncated one."""
    announced = response.headers.get("Content-Length", "")
    if announced.isdecimal() and int(announced) > most:
        raise RefusedError(f"{url}: Content-Length={announced} should be <= {most} bytes.")
    body = bytearray()
    while chunk := response.raw.read(_CHUNK, decode_content=True):
        body += chunk
        if len(body) > most:
            raise RefusedError(f"{url}: the body should have <= {most} bytes; it has more.")
    return bytes(body)


def parse_retry_after(value: str) -> float:
    """Parse a Retry-After header, seconds or a date, as seconds; 0 if it is invalid."""
    try:
        return float(min(urllib3.Retry().parse_retry_after(value), 1e9))
    except (urllib3.exceptions.InvalidHeader, ValueError, OverflowError):
        return 0.0


class Received:
    """The downloads of a folder, so that no file is downloaded twice.

    ``received.jsonl`` has a line for each, written after the file, with its address, length,
    SHA-256 and status (``ok``, or ``missing`` if the server has no such file). A file counts only
    if it agrees with its last line. If you delete a file or its lines, the next run downloads it
    again.
    """

    _KEYS = ("file", "url", "status", "bytes", "sha256", "retrieved")

    def __init__(self, folder: str | Path):
        self._folder = Path(folder)
        self._lines = self._folder / "received.jsonl"
        self._records: dict[str, dict[str, Any]] = {}
        text = self._lines.read_text("utf-8", "replace") if self._lines.exists() else ""
        for line in text.splitlines():
            # This may be half a line of a killed job, or damage. The file counts as absent.
            with suppress(ValueError, TypeError, RecursionError):
                record = json.loads(line)
                if {*record} == {*self._KEYS}:
                    self._records[record["file"]] = record

    def find(self, file: str, url: str) -> bytes | None:
        """Return the intact body of a file on disk; raise an error if it is known not to exist."""
        if not self.knows(file, url):
            return None
        record = self._records[file]
        if record["status"] == "missing":
            raise NotFoundError(f"{url}: not on the server ({record['retrieved']}).")
        body = (self._folder / file).read_bytes()
        return body if sha256(body).hexdigest() == record["sha256"] else None

    def knows(self, file: str, url: str) -> bool:
        """Tell, without reading it, whether a file is on disk or known to be missing."""
        record = self._records.get(file)
        if record is None or record["url"] != url:
            return False
        path = self._folder / file
        is_whole = path.is_file() and path.stat().st_size == record["bytes"]
        return is_whole or record["status"] == "missing"

    def add(self, file: str, url: str, body: bytes | None) -> None:
        """Store a body and its line; None records that the server has no such file."""
        about = ("missing", 0, "")
        if body is not None:
            write_bytes(body, self._folder / file)
            about = ("ok", len(body), sha256(body).hexdigest())
        now = datetime.now(UTC).isoformat(timespec="seconds")
        record = dict(zip(self._KEYS, (file, url, *about, now), strict=True))
        self._records[file] = record
        # The line end comes first, so that half a line of a killed job does not spoil the next
        # line.
        with open_to_append(self._lines) as opened:
            opened.write("\n" + json.dumps(record))
