"""What can go wrong between a server and its client, one function for each."""

import gzip
import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from hand_made import write_zip


@dataclass(frozen=True)
class Reply:
    """What a server is about to send."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


Fault = Callable[[Reply], Reply]


def status(code: int, retry_after: str | None = None) -> Fault:
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    return lambda reply: Reply(code, b"the server is not well", headers)


def compressed(reply: Reply) -> Reply:
    return replace(reply, body=gzip.compress(reply.body), headers={"Content-Encoding": "gzip"})


def html(reply: Reply) -> Reply:
    return Reply(200, b"<!DOCTYPE html><html>Service maintenance</html>")


def with_body(change: Callable[[bytes], bytes]) -> Fault:
    return lambda reply: replace(reply, body=change(reply.body))


def with_answer(change: Callable[[dict], dict]) -> Fault:
    """Change the envelope of an answer."""
    return with_body(lambda body: json.dumps(change(json.loads(body))).encode())


def with_members(change: Callable[[dict[str, bytes]], dict[str, bytes]]) -> Fault:
    """Change the members of a zip archive, which stays sound."""

    def rewrite(body: bytes) -> bytes:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            return write_zip(change({name: archive.read(name) for name in archive.namelist()}))

    return with_body(rewrite)


def with_member(ending: str, change: Callable[[bytes], bytes]) -> Fault:
    """Change the member of a name with this ending, in a sound archive."""
    return with_members(lambda m: {n: change(b) if n.endswith(ending) else b for n, b in m.items()})


without_raw = with_members(lambda m: {n: b for n, b in m.items() if not n.endswith(".raw")})


def wrong_crc(reply: Reply) -> Reply:
    """Flip a bit of the array where it is packed; the directory at the end stays as it was."""
    body = bytearray(reply.body)
    with zipfile.ZipFile(io.BytesIO(reply.body)) as archive:
        member = max(archive.infolist(), key=lambda info: info.compress_size)
    body[member.header_offset + 60 + member.compress_size // 2] ^= 1
    return replace(reply, body=bytes(body))
