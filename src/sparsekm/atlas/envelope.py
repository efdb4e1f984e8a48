"""The JSON envelope in which the servers wrap every answer.

A failed query has HTTP status 200, ``"success": false`` and the reason as a string in ``"msg"``, so
only the envelope shows that it failed.
"""

from __future__ import annotations

import json
from pathlib import Path

from sparsekm.io.input_error import InputError, is_storable

MOST_JSON_BYTES = 256 * 1024**2
"""Largest answer that is parsed; the largest listing of the atlas has about 20 MB."""
MOST_TEXT = 10_000
"""Maximum characters of a name or of the aliases of a gene."""


class EnvelopeError(InputError):
    """An answer that is not the expected JSON, or that reports a failure."""


def read_json(path: str | Path) -> object:
    """Read a stored answer after checking its size; see `parse_json`."""
    path = Path(path)
    size = path.stat().st_size
    if size > MOST_JSON_BYTES:
        raise EnvelopeError(f"{path}: bytes={size} should be <= {MOST_JSON_BYTES}.")
    return parse_json(path.read_bytes(), str(path))


def parse_json(body: str | bytes, source: str) -> object:
    """Parse JSON that is not nested too deeply; messages name the source."""
    try:
        return json.loads(body)
    except RecursionError:
        raise EnvelopeError(f"{source}: the JSON is nested too deeply.") from None
    except ValueError as error:
        start = body[:40]
        raise EnvelopeError(f"{source}: should be JSON, begins {start!r} ({error}).") from None


def open_envelope(document: object, source: str) -> list[dict]:
    """Return the rows of an answer: parsed JSON, either an envelope or a bare list of rows.

    A failure reported by the server is an `EnvelopeError`, as are rows that are not objects.
    """
    rows = document
    if isinstance(document, dict):
        if document.get("success") is not True:
            reason = str(document.get("msg", "no reason given"))[:300]
            raise EnvelopeError(
                f"{source}: success={document.get('success')!r} should be true: {reason}"
            )
        rows = document.get("msg")
        # Some services answer an empty page with an empty object.
        rows = [] if rows == {} else rows
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise EnvelopeError(f"{source}: msg should be a list of objects.")
    return rows


def write_envelope(rows: list[dict]) -> bytes:
    """Write rows as a complete answer."""
    n_rows = {"num_rows": len(rows), "total_rows": len(rows)}
    return json.dumps({"success": True, "id": 0, "start_row": 0, **n_rows, "msg": rows}).encode()


def read_rows(path: str | Path) -> list[dict]:
    """Read the rows of an answer stored in a file; see `open_envelope`."""
    return open_envelope(read_json(path), str(path))


def require_id(value: object, key: str, source: str) -> int:
    """Return an id, refusing anything but a positive JSON integer.

    An id written as a float may already have lost its last digits.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise EnvelopeError(f"{source}: {key}={value!r} should be an integer, not {_kind(value)}.")
    if not 0 < value < 2**63:
        raise EnvelopeError(f"{source}: {key}={value} should be > 0 and < 2**63.")
    return value


def read_text(row: dict, key: str, source: str) -> str:
    """Return a text field of a row, empty if it is missing.

    A value that is neither text nor an integer is an `EnvelopeError`, as is text that is too long
    or cannot be stored.
    """
    value = row.get(key)
    if value is None:
        return ""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(require_id(value, key, source))
    if not isinstance(value, str):
        raise EnvelopeError(f"{source}: {key} should be text, not {_kind(value)}.")
    if len(value) > MOST_TEXT or not is_storable(value):
        raise EnvelopeError(
            f"{source}: {key}={value[:60]!r} should be text of <= {MOST_TEXT} characters, without "
            "NUL or unpaired surrogates."
        )
    return value


def _kind(value: object) -> str:
    return type(value).__name__
