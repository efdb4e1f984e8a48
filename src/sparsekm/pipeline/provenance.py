"""Where results come from: seeds, versions, and digests of inputs and of source code.

Every seed is derived from the root seed and names: all methods use the same references and starts,
a job can be repeated alone, and adding a data set does not affect the others.

The digest of a script covers the code that it can run: the script, the modules in its folder that
it imports, and the rooms (folders) of the package that these import, directly or indirectly.
Of Python only the syntax counts, without comments, docstrings and layout.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import platform
import re
from collections.abc import Callable, Iterable
from functools import cache
from importlib import metadata
from pathlib import Path

from sparsekm.io.atomic import write_text


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
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return versions


def file_digest(file: str | Path) -> str:
    """Return the SHA-256 of a file in hexadecimal, or of all names and contents of a folder."""
    file = Path(file)
    if file.is_dir():
        return _digest_lines(f"{file_digest(part)} {name}" for name, part in _walk(file).items())
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _digest_lines(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode(errors="surrogateescape")).hexdigest()


def _walk(file: Path) -> dict[str, Path]:
    """Return the files in a folder by their names, or the file itself."""
    parts = sorted(part for part in (file, *file.rglob("*")) if part.is_file())
    return {part.relative_to(file).as_posix(): part for part in parts}


# Bytes beyond which taking a digest again takes noticeable time.
_LARGE = 2**26


def input_digest(file: str | Path) -> str:
    """Return the `file_digest` of a file or folder.

    If it is large, the digest is noted for its size, times of modification and change, and inode:
    nobody can set the time of change.
    """
    states = [(part, part.stat()) for part in _walk(Path(file)).values()]
    if sum(state.st_size for _, state in states) < _LARGE:
        return file_digest(file)
    state = _digest_lines(
        f"{part} {state.st_size} {state.st_mtime_ns} {state.st_ctime_ns} {state.st_ino}"
        for part, state in states
    )
    return _noted(f"input-{state}", lambda: file_digest(file))


def _noted(name: str, take: Callable[[], str]) -> str:
    """Return a digest from its note, or take and note it.

    A note that is damaged, or cannot be written, only costs time.
    """
    note = Path(".snakemake/sparsekm/digests", name)
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if found := re.fullmatch("[0-9a-f]{64}", note.read_text(encoding="utf-8")):
            return found[0]
    digest = take()
    with contextlib.suppress(OSError):
        write_text(digest, note)
    return digest


_DATA_SUFFIXES = (".html", ".css", ".js", ".json", ".csv", ".toml", ".mplstyle")
_PACKAGE_FOLDER = Path(__file__).resolve().parents[1]
_IMPORT = re.compile(r"^\s*(?:from|import) +(\w+)(?:\.(\w+)| +import +([\w, ]+))?", re.M)


def source_digest(script: str | Path, package_folder: str | Path = _PACKAGE_FOLDER) -> str:
    """Digest a script and the rooms of the package that it imports, in 16 hexadecimal digits."""
    parts = source_parts(script, package_folder)
    return _digest_lines(f"{part.name} {_part_digest(part)}" for part in parts)[:16]


def source_parts(script: str | Path, package_folder: str | Path = _PACKAGE_FOLDER) -> list[Path]:
    """List a script, the neighbours that it imports, and the rooms of the package, in fixed order.

    Imports are found anywhere in a file, and followed from room to room. Who imports the package
    itself may use any room; its `__init__` file, which only re-exports, is in none.
    """
    package_folder = Path(package_folder).resolve()
    found: set[Path] = set()
    waiting = {Path(script).resolve()}
    while waiting:
        found |= waiting
        waiting = set().union(*(_imported_parts(part, package_folder) for part in waiting)) - found
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
        text = file.read_text("utf-8") if file.suffix == ".py" else ""
        for top, room, names in _IMPORT.findall(text):
            if top == package_folder.name:
                used = {room} if room else {*re.findall(r"\w+", names)} or {""}
                for name in used - {"__version__"}:
                    found.update([rooms[name]] if name in rooms else rooms.values())
            # Scripts import their neighbours as Python would.
            elif not file.is_relative_to(package_folder):
                found.add(file.with_name(f"{top}.py"))
    return frozenset(other for other in found if other.exists())


@cache
def _part_digest(part: Path) -> str:
    """Digest a room; the digest is noted for the bytes of its files, whose digest is fast."""

    def digest(content: Callable[[Path], bytes]) -> str:
        whole = hashlib.sha256(platform.python_version().encode())
        for file in files_of(part):
            whole.update(f"\0{file.relative_to(part.parent).as_posix()}\0".encode() + content(file))
        return whole.hexdigest()

    return _noted(f"source-{digest(Path.read_bytes)}", lambda: digest(_meaning))


class _WithoutTexts(ast.NodeTransformer):
    """Drops docstrings, and what does nothing either."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        return None if isinstance(node.value, ast.Constant) else node


def _meaning(file: Path) -> bytes:
    """Return the syntax of Python without docstrings, or the bytes of another file."""
    if file.suffix != ".py":
        return file.read_bytes()
    tree = _WithoutTexts().visit(ast.parse(file.read_bytes()))
    return ast.dump(tree, annotate_fields=False).encode()
