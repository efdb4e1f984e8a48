"""Ways to spoil a file: its bytes, its text, its structure. The generator alone decides how."""

from __future__ import annotations

import gzip
import io
import json
import re
import struct
import zipfile
from pathlib import Path

import hdf5_mutations
import numpy as np

HOSTILE_WORDS = (
    *("../../escaped", "/escaped", "<script>alert(1)</script>", "=cmd|' /C calc'!A0", "$\\frac{"),
    *("\0", "\ud800", "\u202eevil", "\x1b[2J", "NA", "nan", "", " ", "'\";--", "%s%n{0}"),
    "A" * 100_000,
)
HOSTILE_NUMBERS = (
    *("-1", "0", "1e999", "-1e999", "nan", "inf", "1.5", "4294967296", "9223372036854775808"),
    *("18446744073709551615", "9" * 26, "9" * 5000, "0x7f", "1_000", "٣", "1e-320"),
)
_WIDE = (0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**63 - 1, 2**63, 2**64 - 1)
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def mutate(content: bytes, form: str, rng: np.random.Generator, others: list[bytes]) -> bytes:
    """Spoil the content one to three times, with pieces of others; `form` is that of its `Kind`."""
    for _ in range(rng.integers(1, 4)):
        ways = _WAYS.get(form, ())
        if ways and rng.random() < 0.65:
            content = _pick(rng, ways)(content, rng)
        else:
            content = mutate_bytes(content, rng, others)
    return content


def mutate_bytes(content: bytes, rng: np.random.Generator, others: list[bytes]) -> bytes:
    """Flip, overwrite, cut, insert, double, swap, or take over a piece of another file."""
    if not content:
        return rng.bytes(16)
    body = bytearray(content)
    start, length = _piece(rng, len(body))
    piece = bytes(body[start : start + length])
    match rng.integers(10):
        case 0:
            for at in rng.integers(0, len(body), size=rng.integers(1, 9)):
                body[at] ^= 1 << rng.integers(8)
        case 1:
            body[start : start + length] = rng.bytes(length)
        case 2:
            body[start : start + length] = bytes([_pick(rng, (0, 0xFF, 0x7F, 0x80))]) * length
        case 3:
            wide = struct.pack(_pick(rng, ("<Q", ">Q")), _pick(rng, _WIDE))
            wide = wide[: _pick(rng, (1, 2, 4, 8))]
            body[start : start + len(wide)] = wide
        case 4:
            del body[start:]
        case 5:
            del body[start : start + length]
        case 6:
            body[start:start] = rng.bytes(length)
        case 7:
            body[start:start] = piece * int(rng.integers(1, 20))
        case 8:
            to, _ = _piece(rng, len(body))
            body[start : start + length] = body[to : to + length]
        case 9:
            other = _pick(rng, others)
            begin, taken = _piece(rng, max(1, len(other)))
            body[start : start + length] = other[begin : begin + taken]
    return bytes(body)


def mutate_text(content: bytes, rng: np.random.Generator) -> bytes:
    """Change a number, a word, a line, a separator or the encoding."""
    lines = content.split(b"\n")
    at = int(rng.integers(len(lines)))
    match rng.integers(9):
        case 0 | 1:
            return _replace_number(content, rng)
        case 2 | 3:
            cells = re.split(rb"([\t,:= ])", lines[at])
            cells[int(rng.integers(len(cells)))] = _word(rng)
            lines[at] = b"".join(cells)
        case 4:
            lines[at:at] = [lines[int(rng.integers(len(lines)))]] * int(rng.integers(1, 5))
        case 5:
            del lines[at]
        case 6:
            separator = _pick(rng, (b"\t", b",", b'"', b"=", b"\r", b"|", b";", b": ", b"[", b"!"))
            place = int(rng.integers(len(lines[at]) + 1))
            lines[at] = lines[at][:place] + separator + lines[at][place:]
        case 7:
            # Mutants stay small: what a large file takes is no question of damage.
            lines[at] *= min(int(rng.integers(2, 200)), 1 + 10**6 // (1 + len(lines[at])))
        case 8:
            mark = _pick(rng, (b"\xef\xbb\xbf", b"\xff\xfe", b"\x1f\x8b", b"PK\x03\x04", b"#"))
            return mark + content
    return b"\n".join(lines)


def mutate_json(content: bytes, rng: np.random.Generator) -> bytes:
    """Replace, drop, rename or double a node of the tree."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return content
    places = _walk(document)
    if not places:
        return content
    holder, key = places[int(rng.integers(len(places)))]
    match rng.integers(6):
        case 0 | 1 | 2:
            holder[key] = _value(rng)
        case 3:
            del holder[key]
        case 4 if isinstance(holder, dict):
            holder[_word(rng).decode("utf-8", "replace")] = holder.pop(key)
        case _:
            other, at = places[int(rng.integers(len(places)))]
            holder[key] = json.loads(json.dumps(other[at])) if at in _keys(other) else None
    return json.dumps(document).encode()


def mutate_gzip(content: bytes, rng: np.random.Generator) -> bytes:
    """Spoil the text inside of a gzip file."""
    try:
        text = gzip.decompress(content)
    except (OSError, EOFError, ValueError):
        return content
    except Exception:
        return content
    return gzip.compress(mutate_text(text, rng), mtime=0)


def mutate_zip(content: bytes, rng: np.random.Generator) -> bytes:
    """Spoil a member, its name, its method or its claims, in an archive that is whole otherwise."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [(item.filename, archive.read(item)) for item in archive.infolist()]
    except Exception:
        return content
    if not members:
        return content
    at = int(rng.integers(len(members)))
    name, body = members[at]
    methods = [zipfile.ZIP_DEFLATED] * len(members)
    match rng.integers(8):
        case 0 | 1:
            members[at] = name, mutate_bytes(body, rng, [content])
        case 2 | 3:
            members[at] = name, _head_and_rest(body, rng)
        case 4:
            members[at] = _zip_name(name, rng), body
        case 5:
            members.append((name, body))
        case 6:
            del members[at]
        case 7:
            methods[at] = _pick(rng, (zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2, zipfile.ZIP_STORED))
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for (name, body), method in zip(members, methods, strict=False):
            archive.writestr(zipfile.ZipInfo(name), body, compress_type=method)
    return stream.getvalue()


def mutate_hdf5(content: bytes, rng: np.random.Generator) -> bytes:
    """Spoil arrays, links and attributes of an HDF5 file that is whole otherwise."""
    return hdf5_mutations.mutate_structure(content, rng, HOSTILE_WORDS)


_WAYS = {
    "text": (mutate_text,),
    "gzip": (mutate_gzip,),
    "json": (mutate_json, mutate_json, mutate_text),
    "zip": (mutate_zip,),
    "hdf5": (mutate_hdf5,),
    "yaml": (mutate_text,),
}


def write_mutant(file: Path, sound: bytes, form: str, seed: list[int], others: list[bytes]) -> None:
    """Write the mutant of a seed."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(mutate(sound, form, np.random.default_rng(seed), others))


def _pick(rng: np.random.Generator, choices):
    return choices[int(rng.integers(len(choices)))]


def _piece(rng: np.random.Generator, length: int) -> tuple[int, int]:
    """Choose a place, more often near the beginning or the end, and a length."""
    start = int(rng.integers(length))
    if rng.random() < 0.4:
        start = min(length - 1, int(rng.exponential(40)))
        start = start if rng.random() < 0.7 else length - 1 - start
    return start, int(min(length - start, 1 + rng.exponential(12)))


def _word(rng: np.random.Generator) -> bytes:
    return _pick(rng, HOSTILE_WORDS).encode("utf-8", "surrogatepass")


def _replace_number(content: bytes, rng: np.random.Generator) -> bytes:
    found = list(_NUMBER.finditer(content))
    if not found:
        return content + _pick(rng, HOSTILE_NUMBERS).encode()
    start, end = _pick(rng, found).span()
    return content[:start] + _pick(rng, HOSTILE_NUMBERS).encode() + content[end:]


def _head_and_rest(body: bytes, rng: np.random.Generator) -> bytes:
    """Spoil the first 128 bytes, where headers stand, as text."""
    return mutate_text(body[:128], rng) + body[128:]


def _zip_name(name: str, rng: np.random.Generator) -> str:
    words = (f"../../{name}", f"/tmp/{name}", f"C:\\{name}", f"{name}/", "A" * 5000, f"sub/{name}")
    return _pick(rng, words)


def _value(rng: np.random.Generator):
    nested: object = []
    for _ in range(200):
        nested = [nested]
    odd = (None, True, False, [], {}, [[]], [None], {"a": 1}, 0, -1, 1.5, 2**63, 10**40, nested)
    if rng.random() < 0.5:
        return _pick(rng, odd)
    return _word(rng).decode("utf-8", "surrogatepass")


def _keys(holder):
    return holder if isinstance(holder, dict) else range(len(holder))


def _walk(document) -> list[tuple[object, object]]:
    """List every (container, key) of a tree."""
    places, waiting = [], [document] if isinstance(document, dict | list) else []
    while waiting:
        holder = waiting.pop()
        for key in _keys(holder):
            places.append((holder, key))
            if isinstance(holder[key], dict | list):
                waiting.append(holder[key])
    return places
