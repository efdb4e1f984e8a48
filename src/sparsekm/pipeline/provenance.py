"""Where results come from: seeds, versions, and digests of inputs and of source code.

Every seed is derived from the root seed and names. Therefore all methods use the same references
and starts, a single job can be repeated alone, and adding a data set does not affect the others.

The digest of a script covers the code that it can run: the script, the modules in its folder that
it imports, and the modules of the package that these import, directly or indirectly.
Files are compared as Python compiles them, without comments, docstrings and layout, so correcting a
sentence reruns nothing. (Digests depend on the minor version of Python, which determines how. A
docstring that is added below a constant can count, where the module branches after it.)
"""

from __future__ import annotations

import contextlib
import dis
import hashlib
import platform
import re
from collections.abc import Iterable, Iterator
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
        parts = sorted(part for part in file.rglob("*") if part.is_file())
        lines = (f"{file_digest(part)} {part.relative_to(file).as_posix()}" for part in parts)
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


# Bytes beyond which taking a digest again takes noticeable time.
_LARGE = 2**26
_NOTE = re.compile("([0-9a-f]{64}) ([0-9a-f]{64})")


def input_digest(file: str | Path, folder: str | Path = ".snakemake/sparsekm/digests") -> str:
    """Return the `file_digest` of a file or folder.

    If it is large, the digest is taken once and noted in `folder`. The note holds until the size,
    the times of modification and change, or the inode of a file is another; nobody can set the time
    of change, so another file moved here with an old time stamp is noticed. A note that is damaged,
    or that cannot be written, only costs the time to take the digest again.
    """
    file = Path(file)
    size, identity = _identify(file)
    if size < _LARGE:
        return file_digest(file)
    note = Path(folder) / hashlib.sha256(str(file.resolve()).encode(errors="replace")).hexdigest()
    with contextlib.suppress(OSError, UnicodeDecodeError):
        found = _NOTE.fullmatch(note.read_text(encoding="utf-8"))
        if found and found[1] == identity:
            return found[2]
    digest = file_digest(file)
    # A file that is being written has no digest to keep.
    if _identify(file)[1] == identity:
        with contextlib.suppress(OSError):
            write_bytes(f"{identity} {digest}".encode(), note)
    return digest


def _identify(file: Path) -> tuple[int, str]:
    """Return the bytes of a file or folder, and a digest of its state without reading it."""
    parts = [file]
    if file.is_dir():
        parts = sorted(part for part in file.rglob("*") if part.is_file())
    states = [part.stat() for part in parts]
    lines = (
        f"{part} {state.st_size} {state.st_mtime_ns} {state.st_ctime_ns} {state.st_ino}"
        for part, state in zip(parts, states, strict=True)
    )
    digest = hashlib.sha256("\n".join(lines).encode(errors="surrogateescape"))
    return sum(state.st_size for state in states), digest.hexdigest()


PACKAGE = "sparsekm"
_DATA_SUFFIXES = (".html", ".css", ".js", ".json", ".csv", ".toml", ".mplstyle")
# Stands for a line that does nothing, such as the docstring of a constant.
_NOTHING = dis.opmap["NOP"]
_PACKAGE_FOLDER = Path(__file__).resolve().parents[1]


def source_digest(
    script: str | Path,
    package_folder: str | Path = _PACKAGE_FOLDER,
    *,
    modules: Iterable[str] = (),
) -> str:
    """Digest a script and the modules of the package that it imports, in 16 hexadecimal digits.

    Imports are found anywhere in a file, and followed from module to module; nothing is
    executed. The ``__init__`` files of packages are not followed, since they only re-export. A
    name imported from the ``__init__`` of a package may come from any of its modules, so all of
    them are included, as are templates and tables in the folder of a module or below it.
    `modules` are those that the script loads by name.
    """
    script, package_folder = Path(script).resolve(), Path(package_folder).resolve()
    files = source_files(script, package_folder, modules=modules)
    digest = hashlib.sha256(_content(script, script.stat().st_mtime_ns))
    for file in files:
        in_package = file.is_relative_to(package_folder)
        name = file.relative_to(package_folder if in_package else script.parent).as_posix()
        digest.update(b"\0" + name.encode() + b"\0" + _content(file, file.stat().st_mtime_ns))
    return digest.hexdigest()[:16]


def source_files(
    script: str | Path,
    package_folder: str | Path = _PACKAGE_FOLDER,
    *,
    modules: Iterable[str] = (),
) -> list[Path]:
    """List the files that a script uses, directly or indirectly, in a fixed order."""
    script, package_folder = Path(script).resolve(), Path(package_folder).resolve()
    found = {file for name in modules for file in _locate(name, package_folder)}
    waiting = [script, *found]
    while waiting:
        file = waiting.pop()
        # Outside the package, modules in the same folder are imported as Python would.
        beside = None if file.is_relative_to(package_folder) else file.parent
        imported = _imported_files(file, file.stat().st_mtime_ns, package_folder, beside) - found
        found |= imported
        waiting += imported
    for folder in {file.parent for file in found if file.is_relative_to(package_folder)}:
        found.update(_data_files(folder))
    return sorted(found)


def _data_files(folder: Path) -> Iterator[Path]:
    """List templates and tables in a folder and below, except in subpackages."""
    for entry in folder.iterdir():
        if entry.is_dir() and not any(entry.glob("*.py")):
            yield from _data_files(entry)
        elif entry.suffix in _DATA_SUFFIXES:
            yield entry


@cache
def _content(file: Path, modified: int) -> bytes:
    """Return the digested content of a file: its compiled code, or its bytes if not Python."""
    if file.suffix != ".py":
        return file.read_bytes()
    return repr([_meaning(code) for code in _compile(file, modified)]).encode()


@cache
def _compile(file: Path, modified: int) -> list[CodeType]:
    """Compile a file without its docstrings; `modified` is part of the cache key."""
    found = [compile(file.read_bytes(), file.name, "exec", dont_inherit=True, optimize=2)]
    for code in found:
        found.extend(part for part in code.co_consts if isinstance(part, CodeType))
    return found


def _meaning(code: CodeType) -> tuple:
    """Return all of a code object but its lines and the code objects in it."""
    instructions = code.co_code
    if _NOTHING in instructions[::2]:
        pairs = (instructions[at : at + 2] for at in range(0, len(instructions), 2))
        instructions = b"".join(pair for pair in pairs if pair[0] != _NOTHING)
    constants = [
        # A set has no order.
        sorted(map(repr, constant)) if isinstance(constant, frozenset) else repr(constant)
        for constant in code.co_consts
        if not isinstance(constant, CodeType)
    ]
    return (
        instructions,
        code.co_exceptiontable,
        constants,
        (code.co_name, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars),
        (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags),
    )


@cache
def _imported_files(
    file: Path, modified: int, package_folder: Path, beside: Path | None
) -> frozenset[Path]:
    """Return the files that a file imports, anywhere in it."""
    names = {name for code in _compile(file, modified) for name in _imported_names(code)}
    return frozenset(found for name in names for found in _locate(name, package_folder, beside))


def _imported_names(code: CodeType) -> Iterator[str]:
    """Yield the dotted names that a code object imports; no module of the package uses dots."""
    imports = dis.opmap["IMPORT_NAME"]
    if imports not in code.co_code[::2]:
        return
    names = None
    for instruction in dis.get_instructions(code):
        if instruction.opcode == imports:
            # Before `import a.b` None is loaded, before `from a import b, c` the names.
            module = instruction.argval
            yield from [f"{module}.{name}" for name in names] if names else [module]
        names = instruction.argval if instruction.opname == "LOAD_CONST" else None


def _locate(name: str, package_folder: Path, beside: Path | None = None) -> list[Path]:
    """Find the files behind a dotted name: a module, a name in a module, or a package.

    Outside the package only files in the folder `beside` are included, not libraries.
    """
    top = name.split(".")[0]
    if top != PACKAGE:
        neighbour = beside / f"{top}.py" if beside else None
        return [neighbour] if neighbour and neighbour.is_file() else []
    place = package_folder
    for part in name.split(".")[1:]:
        if (place / f"{part}.py").is_file():
            return [place / f"{part}.py"]
        if not (place / part).is_dir():
            break
        place = place / part
    else:
        # `import sparsekm.cluster` alone gives no module away; attributes of it could be any.
        return [] if place == package_folder else _modules_of(place)
    return _modules_of(place)


def _modules_of(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*.py") if file.name != "__init__.py")
