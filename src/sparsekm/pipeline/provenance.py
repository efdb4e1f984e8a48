"""Where results come from: seeds, versions, and digests of inputs and of source code.

Every seed is derived from the root seed and names. Therefore all methods use the same references
and starts, a single job can be repeated alone, and adding a data set does not affect the others.

The digest of a script covers the code that it can run: the script, the modules in its folder that
it imports, and the rooms (folders) of the package that these import, directly or indirectly.
Files are compared as Python (of one version) compiles them, without comments, docstrings and
layout, so correcting a sentence reruns nothing.
"""

from __future__ import annotations

import contextlib
import dis
import hashlib
import platform
import re
from functools import cache
from importlib import metadata
from pathlib import Path
from types import CodeType

from sparsekm.io.atomic import write_bytes


def derive_seed(root: int, *names: str | int) -> int:
    """Derive a seed in [0, 2**31) from the root seed and names, such as that of a data set.

    Examples
    --------
    >>> derive_seed(1, "E11.5") == derive_seed(1, "E11.5")
    True
    >>> derive_seed(1, "E11.5") == derive_seed(1, "E13.5")
    False
    """
    if root < 0:
        raise ValueError(f"seed={root} should be >= 0.")
    words = [root]
    for name in names:
        # hash() differs from process to process; this does not. The type keeps 1 and "1" apart.
        digest = hashlib.sha256(f"{type(name).__name__}:{name}".encode()).digest()
        words.extend(int.from_bytes(digest[at : at + 4], "little") for at in range(0, 16, 4))
    # Snakemake reads this module wherever it runs, without NumPy.
    import numpy as np

    return int(np.random.SeedSequence(words).generate_state(1, np.uint32)[0] >> 1)


_PACKAGES = ("sparsekm", "numpy", "scipy", "scikit-learn", "numba", "pandas", "h5py", "anndata")


def package_versions() -> dict[str, str]:
    """Return the versions of Python and of the installed packages that may affect results."""
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions


def file_digest(file: str | Path) -> str:
    """Return the SHA-256 of a file in hexadecimal, or of all names and contents of a folder."""
    file = Path(file)
    if file.is_dir():
        lines = (f"{file_digest(part)} {part.relative_to(file).as_posix()}" for part in _walk(file))
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _walk(file: Path) -> list[Path]:
    """List the files in a folder, or the file itself."""
    return sorted(part for part in (file, *file.rglob("*")) if part.is_file())


# Where digests are noted, so that none is taken twice.
_NOTES = Path(".snakemake/sparsekm/digests")
# Bytes beyond which taking a digest again takes noticeable time.
_LARGE = 2**26


def input_digest(file: str | Path, folder: str | Path = _NOTES) -> str:
    """Return the `file_digest` of a file or folder.

    If it is large, the digest is taken once and noted in `folder`. The note holds until the size,
    the times of modification and change, or the inode of a file is another: nobody can set the time
    of change. A note that is damaged, or cannot be written, only costs time.
    """
    file = Path(file)
    size, identity = _identify(file)
    if size < _LARGE:
        return file_digest(file)
    note = Path(folder) / hashlib.sha256(str(file.resolve()).encode(errors="replace")).hexdigest()
    with contextlib.suppress(OSError, UnicodeDecodeError):
        found = re.fullmatch(f"{identity} ([0-9a-f]{{64}})", note.read_text(encoding="utf-8"))
        if found:
            return found[1]
    digest = file_digest(file)
    # A file that is being written has no digest to keep.
    if _identify(file)[1] == identity:
        with contextlib.suppress(OSError):
            write_bytes(f"{identity} {digest}".encode(), note)
    return digest


def _identify(file: Path) -> tuple[int, str]:
    """Return the bytes of a file or folder, and a digest of its state without reading it."""
    states = {part: part.stat() for part in _walk(file)}
    lines = (
        f"{part} {state.st_size} {state.st_mtime_ns} {state.st_ctime_ns} {state.st_ino}"
        for part, state in states.items()
    )
    digest = hashlib.sha256("\n".join(lines).encode(errors="surrogateescape"))
    return sum(state.st_size for state in states.values()), digest.hexdigest()


_DATA_SUFFIXES = (".html", ".css", ".js", ".json", ".csv", ".toml", ".mplstyle")
# Stands for a line that does nothing, such as the docstring of a constant.
_NOTHING = dis.opmap["NOP"]
_PACKAGE_FOLDER = Path(__file__).resolve().parents[1]
_IMPORT = re.compile(r"^\s*(?:from|import)\s+(\w+)(?:\.(\w+))?", re.M)


def source_digest(script: str | Path, package_folder: str | Path = _PACKAGE_FOLDER) -> str:
    """Digest a script and the rooms of the package that it imports, in 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for part in source_parts(script, package_folder):
        digest.update(b"\0" + part.name.encode() + b"\0" + _part_digest(part))
    return digest.hexdigest()[:16]


def source_parts(script: str | Path, package_folder: str | Path = _PACKAGE_FOLDER) -> list[Path]:
    """List a script, the neighbours that it imports, and the rooms of the package, in fixed order.

    Imports are found anywhere in a file, and followed from room to room. Who imports the package
    itself may use any room; its `__init__` file, which only re-exports, is in none.
    """
    package_folder = Path(package_folder).resolve()
    found: set[Path] = set()
    waiting = [Path(script).resolve()]
    while waiting:
        part = waiting.pop()
        if part not in found:
            found.add(part)
            waiting += _imported_parts(part, package_folder)
    return sorted(found)


def files_of(part: Path) -> list[Path]:
    """List the modules, templates and tables of a room, which may be a single module."""
    if part.is_file():
        return [part]
    return sorted(file for file in part.rglob("*") if file.suffix in (".py", *_DATA_SUFFIXES))


@cache
def _imported_parts(part: Path, package_folder: Path) -> frozenset[Path]:
    rooms = {
        entry.stem: entry
        for entry in package_folder.iterdir()
        if entry.name != "__init__.py" and (entry.suffix == ".py" or any(entry.glob("*.py")))
    }
    found = set()
    for file in files_of(part):
        for top, room in _IMPORT.findall(file.read_text("utf-8") if file.suffix == ".py" else ""):
            if top == package_folder.name:
                found.update([rooms[room]] if room in rooms else rooms.values())
            # Scripts import their neighbours as Python would.
            elif not file.is_relative_to(package_folder):
                found.add(file.with_name(f"{top}.py"))
    return frozenset(other for other in found if other.exists())


@cache
def _part_digest(part: Path) -> bytes:
    """Digest a room; the digest is noted under that of the bytes of its files, which is fast."""
    files = {file.relative_to(part.parent).as_posix(): file for file in files_of(part)}
    given = hashlib.sha256(platform.python_version().encode())
    for name, file in files.items():
        given.update(f"\0{name}\0".encode() + file.read_bytes())
    note = _NOTES / f"source-{given.hexdigest()}"
    with contextlib.suppress(OSError, ValueError):
        noted = bytes.fromhex(note.read_text(encoding="ascii"))
        if len(noted) == given.digest_size:
            return noted
    digest = hashlib.sha256()
    for name, file in files.items():
        digest.update(f"\0{name}\0".encode() + _content(file))
    with contextlib.suppress(OSError):
        write_bytes(digest.hexdigest().encode(), note)
    return digest.digest()


def _content(file: Path) -> bytes:
    """Return the digested content of a file: its compiled code, or its bytes if not Python."""
    if file.suffix != ".py":
        return file.read_bytes()
    # Without docstrings.
    code = compile(file.read_bytes(), "", "exec", dont_inherit=True, optimize=2)
    return repr(_meaning(code)).encode()


_SAID = ("name", "names", "varnames", "freevars", "cellvars", "exceptiontable", "flags")
_SAID += ("argcount", "posonlyargcount", "kwonlyargcount")


def _meaning(code: CodeType) -> list:
    """Return all of a code object, with those in it, but its lines."""
    instructions = code.co_code
    if _NOTHING in instructions[::2]:
        pairs = (instructions[at : at + 2] for at in range(0, len(instructions), 2))
        instructions = b"".join(pair for pair in pairs if pair[0] != _NOTHING)
    constants = [
        # A set has no order.
        sorted(map(repr, each)) if isinstance(each, frozenset) else each
        for each in code.co_consts
        if not isinstance(each, CodeType)
    ]
    inside = [_meaning(each) for each in code.co_consts if isinstance(each, CodeType)]
    said = [getattr(code, f"co_{name}") for name in _SAID]
    return [instructions, constants, inside, said]
