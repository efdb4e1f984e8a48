"""A cache of downloads, so that no file is downloaded twice.

Each file has a record, ``{name}.record.json``, with its address, bytes, SHA-256 and status. The
record is written after the file, and the file is used only if its address, length and SHA-256 agree
with the record. A file that the servers do not have is recorded with status ``missing``. If you
delete a record or the folder, the next run downloads again.
"""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from sparsekm.io.atomic import write_bytes, write_text
from sparsekm.network.errors import NotFoundError

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Record:
    url: str
    status: str
    bytes: int
    sha256: str
    retrieved: str


class BodyCache:
    """Downloads by name, in a folder that is created when the first one is stored."""

    def __init__(self, folder: str | Path):
        self._folder = Path(folder)

    def get(self, name: str, url: str) -> bytes | None:
        """Return an intact stored body from this address, or None.

        If the server is known to have no such file, raise `NotFoundError`.
        """
        record = self._read_record(name, url)
        if record is None:
            return None
        if record.status == "missing":
            raise NotFoundError(f"{url}: not on the server ({record.retrieved}).")
        try:
            body = (self._folder / name).read_bytes()
        except OSError:
            return None
        if sha256(body).hexdigest() != record.sha256:
            _log.warning("%s: changed since it was stored; downloading again", self._folder / name)
            return None
        return body

    def known_bytes(self, name: str, url: str) -> int | None:
        """Return the length of a stored body without reading it, 0 for a missing file, or None."""
        record = self._read_record(name, url)
        if record is None or record.status == "missing":
            return None if record is None else 0
        try:
            found = (self._folder / name).stat().st_size
        except OSError:
            return None
        return found if found == record.bytes else None

    def put(self, name: str, url: str, body: bytes) -> None:
        """Store a body and its record."""
        write_bytes(body, self._folder / name)
        self._write_record(name, _Record(url, "ok", len(body), sha256(body).hexdigest(), _now()))

    def put_missing(self, name: str, url: str) -> None:
        """Record that the server has no such file."""
        self._write_record(name, _Record(url, "missing", 0, "", _now()))

    def _record_path(self, name: str) -> Path:
        return self._folder / f"{name}.record.json"

    def _read_record(self, name: str, url: str) -> _Record | None:
        try:
            record = _Record(**json.loads(self._record_path(name).read_bytes()))
        except (OSError, ValueError, TypeError, RecursionError):
            return None
        return record if record.url == url else None

    def _write_record(self, name: str, record: _Record) -> None:
        write_text(json.dumps(asdict(record), indent=1) + "\n", self._record_path(name))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
