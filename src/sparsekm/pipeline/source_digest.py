"""A digest of the source code that a script runs.

A workflow that reran everything after any change to the package would be as useless as one that
never did. The digest covers exactly the code that a script can run: the script, the modules in its
folder that it imports, and the modules of the package that these import, directly or indirectly.
Comments, docstrings and layout are ignored, so correcting a sentence reruns nothing. (Digests
depend on the minor version of Python, which determines how a parsed file is written out.)
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

PACKAGE = "sparsekm"
_DATA_SUFFIXES = (".html", ".css", ".js", ".json", ".csv")
_HOLD_STATEMENTS = (ast.stmt, ast.ExceptHandler, ast.match_case)
_PACKAGE_FOLDER = Path(__file__).resolve().parents[1]


def source_digest(
    script: str | Path,
    package_folder: str | Path = _PACKAGE_FOLDER,
    *,
    modules: Iterable[str] = (),
) -> str:
    """Digest a script and the modules of the package that it imports, in 16 hexadecimal digits.

    Imports are found by parsing, anywhere in a file, and followed from module to module; nothing is
    executed. The ``__init__`` files of packages are not followed, since they only re-export. A name
    imported from the ``__init__`` of a package may come from any of its modules, so all of them are
    included, as are templates and tables in the folder of a module or below it. `modules` are those
    that the script loads by name, which parsing cannot find.
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
        for name in _imports(file, file.stat().st_mtime_ns):
            for module in _locate(name, package_folder, beside):
                if module not in found:
                    found.add(module)
                    waiting.append(module)
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
    """Return the digested content of a file: its parsed code, or its bytes if it is not Python."""
    if file.suffix != ".py":
        return file.read_bytes()
    return ast.dump(_parse(file, modified), annotate_fields=False).encode()


@cache
def _parse(file: Path, modified: int) -> ast.Module:
    """Parse a file without its docstrings; `modified` is part of the cache key."""
    tree = ast.parse(file.read_bytes(), filename=str(file))
    for node in [tree, *_statements(tree)]:
        for children in vars(node).values():
            if isinstance(children, list):
                children[:] = [child for child in children if not _is_bare_string(child)]
    return tree


def _is_bare_string(node: object) -> bool:
    """Tell whether a node is a docstring, of a function or a constant: a string by itself."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


@cache
def _imports(file: Path, modified: int) -> tuple[str, ...]:
    """Dotted names that a file imports."""
    return tuple(sorted(set(_imported_names(_parse(file, modified)))))


def _imported_names(tree: ast.AST) -> Iterator[str]:
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            # All are absolute: no module of the package imports by dots.
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from names


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all statements; expressions, which are most of a tree, contain none."""
    for children in vars(tree).values():
        if isinstance(children, list):
            for child in children:
                if isinstance(child, _HOLD_STATEMENTS):
                    yield child
                    yield from _statements(child)


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
