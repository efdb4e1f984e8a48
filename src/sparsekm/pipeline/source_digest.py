"""A digest of the source code that a script runs.

A workflow that reran everything after any change to the package would be as useless as one that
never did. The digest covers exactly the code that a script can run: the script, the modules in its
folder that it imports, and the modules of the package that these import, directly or indirectly.
Files are compared as Python compiles them, without comments, docstrings and layout, so correcting a
sentence reruns nothing. (Digests depend on the minor version of Python, which determines how. A
docstring that is added below a constant can count, where the module branches after it.)
"""

from __future__ import annotations

import dis
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType

PACKAGE = "sparsekm"
_DATA_SUFFIXES = (".html", ".css", ".js", ".json", ".csv")
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
