"""Reading zip archives that others made, with every claim checked before memory is taken.

Nothing is ever extracted to disk, so that the names of members can point nowhere.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

from sparsekm.storage.input_error import InputError, reason_of

MOST_INFLATION = 1100
"""Times that deflate can shrink anything, rounded up; a larger claim cannot be true."""

_SLACK_BYTES = 2**16
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1
# What zipfile raises about damage, depending on where it sits. The last are its own slips: sizes
# that do not fit a C type, names that are no text, records that are cut short.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    RuntimeError,
    OverflowError,
    UnicodeError,
    struct.error,
    ValueError,
)


class DamagedZipError(InputError):
    """A zip archive that is not whole; the message does not name the file."""


@contextmanager
def open_zip(file: str | Path | BytesIO) -> Iterator[zipfile.ZipFile]:
    """Open an archive; what zipfile raises about damage becomes a `DamagedZipError`.

    Other `InputError` pass unchanged, as does `FileNotFoundError`.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            yield archive
    except (InputError, FileNotFoundError):
        raise
    except _DAMAGE as error:
        raise DamagedZipError(reason_of(error)) from error


def check_member(member: zipfile.ZipInfo) -> None:
    """Refuse a member that is encrypted, compressed in a rare way, or claims too much.

    Raises
    ------
    DamagedZipError
    """
    name = member.filename
    if member.flag_bits & _ENCRYPTED:
        raise DamagedZipError(f"{name} should not be encrypted")
    if member.compress_type not in _METHODS:
        # lzma and bzip2 have no bound on what a few bytes can become.
        raise DamagedZipError(
            f"{name} has compression method {member.compress_type}, which should be deflate or none"
        )
    if member.file_size > MOST_INFLATION * member.compress_size + _SLACK_BYTES:
        raise DamagedZipError(
            f"{name} claims {member.file_size} bytes, more than {member.compress_size} compressed "
            "bytes can hold"
        )


def read_whole(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """Inflate a member, of which the caller has checked the size; this checks its CRC.

    Raises
    ------
    DamagedZipError
        If it inflates to another size than it claims.
    """
    check_member(member)
    with archive.open(member) as stream:
        body = stream.read(member.file_size + 1)
    if len(body) != member.file_size:
        raise DamagedZipError(
            f"{member.filename} inflates to {len(body)} bytes, should be the declared "
            f"{member.file_size}"
        )
    return body
