"""The provenance of results: seeds, versions, and digests of inputs and of source code.

Every seed is derived from the root seed and names: all methods use the same references and starts,
a job can be repeated alone, and adding a data set does not affect the others.

The digest of a script covers the code that it can run: the script, the modules that it imports,
directly or indirectly, and the tables and templates that they read. Only the syntax of Python
counts, without comments, docstrings and layout.
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
    """Derive a seed in [0, 2**31) from the root seed and names, such as a data set's name.

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
        # hash() differs from process to process; this digest does not. The type distinguishes 1 and
        # "1".
        digest = hashlib.sha256(f"{type(name).__name__}:{name}".encode()).digest()
        words.extend(int.from_bytes(digest[at : at + 4], "little") for at in range(0, 16, 4))
    # Snakemake reads this module also without NumPy.
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


_COMPUTING = ("numpy", "scipy", "numba", "scikit-learn")


def computing_versions() -> str:
    """Return major and minor versions of the packages that compute; patches change no result."""
    known = package_versions()
    versions = [f"{name} {known[name]}" for name in _COMPUTING if name in known]
    return ", ".join(re.sub(r"( \d+\.\d+).*", r"\1", each) for each in versions)


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


# Beyond this number of bytes, computing a digest again takes noticeable time.
_LARGE = 2**26


def input_digest(file: str | Path) -> str:
    """Return the `file_digest` of a file or folder.

    For a large file, the digest is stored with its size, times of modification and change, and
    inode. Nobody can set the time of change.
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
    """Return a stored digest, or compute and store it.

    A stored digest that is damaged, or cannot be written, only costs time.
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
_IMPORT = re.compile(
    r"^\s*(?:from +([\w.]+) +import +(?:\(([^)]*)\)|([^\n]*))|import +([\w., ]+))", re.M
)


def source_digest(
    script: str | Path, *modules: str, package_folder: str | Path = _PACKAGE_FOLDER
) -> str:
    """Digest a script and the files that it uses, see `source_files`, in 16 hexadecimal digits."""
    files = source_files(script, *modules, package_folder=package_folder)
    return _digest_lines(f"{file.name} {_code_digest(file)}" for file in files)[:16]


def source_files(
    script: str | Path, *modules: str, package_folder: str | Path = _PACKAGE_FOLDER
) -> list[Path]:
    """List a script, the modules of its folder and of the package that it uses, and their data.

    Imports are found anywhere in a file, and followed. `modules` are further modules of the
    package, which the job finds by name in a table. A file that imports the package itself may use
    all of it. The package's `__init__` file, which only re-exports, does not count.
    """
    package_folder = Path(package_folder).resolve()
    files: set[Path] = set()
    waiting = {Path(script).resolve()}.union(*(_locate(name, package_folder) for name in modules))
    while waiting:
        files |= waiting
        waiting = set().union(*(_used_files(file, package_folder) for file in waiting)) - files
    return sorted(files)


def _locate(module: str, package_folder: Path) -> set[Path]:
    """Return the files that importing a module of the package runs; none for any other module."""
    top, *parts = module.split(".")
    if top != package_folder.name or not parts:
        return set()
    files = [package_folder.joinpath(*parts).with_suffix(".py")]
    for depth in range(1, len(parts) + 1):
        files.append(package_folder.joinpath(*parts[:depth], "__init__.py"))
    return {file for file in files if file.is_file()}


@cache
def _used_files(file: Path, package_folder: Path) -> frozenset[Path]:
    """Return the files that a module imports, and the data that it reads."""
    if file.suffix != ".py":
        return frozenset()
    top, is_ours = package_folder.name, file.is_relative_to(package_folder)
    files = {*_data_in(file.parent)[file]} if is_ours else set()
    for source, *given, modules in _IMPORT.findall(file.read_text("utf-8")):
        names = re.findall(r"(\w+)(?: +as +\w+)?", re.sub("#.*", "", "".join(given)))
        for module in (*modules.split(), source, *(f"{source}.{name}" for name in names)):
            located = _locate(module.strip(","), package_folder)
            files |= located
            is_whole = (module == top and not names) or (source == top and not located)
            if is_whole and module not in (source, f"{top}.__version__"):
                files |= {*package_folder.rglob("*.py")} - {package_folder / "__init__.py"}
        # Scripts import files in their folder, as in Python.
        if not is_ours:
            files.add(file.with_name(f"{(source or modules).split('.')[0].strip()}.py"))
    return frozenset(each for each in files if each.exists())


@cache
def _data_in(folder: Path) -> dict[Path, set[Path]]:
    """Return the data that each module of a folder reads: files named by it or by none."""
    texts = {module: module.read_text("utf-8") for module in folder.glob("*.py")}
    read: dict[Path, set[Path]] = {module: set() for module in texts}
    for data in folder.rglob("*"):
        home = next(place for place in data.parents if any(place.glob("*.py")))
        if data.suffix in _DATA_SUFFIXES and home == folder:
            words = data.relative_to(folder).parts
            named = [m for m, text in texts.items() if any(word in text for word in words)]
            named += [module for module in texts if module.stem == data.stem]
            for module in named or texts:
                read[module].add(data)
    return read


@cache
def _code_digest(file: Path) -> str:
    """Digest a file; the digest is stored for its bytes, whose digest is fast."""
    python = ".".join(platform.python_version_tuple()[:2]).encode()
    state = hashlib.sha256(python + b"\0" + file.read_bytes()).hexdigest()
    return _noted(f"source-{state}", lambda: hashlib.sha256(python + _meaning(file)).hexdigest())


class _WithoutTexts(ast.NodeTransformer):
    """Drops docstrings and other expressions without effect."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        return None if isinstance(node.value, ast.Constant) else node


def _meaning(file: Path) -> bytes:
    """Return the syntax of Python without docstrings, or the bytes of another file."""
    if file.suffix != ".py":
        return file.read_bytes()
    tree = _WithoutTexts().visit(ast.parse(file.read_bytes()))
    return ast.dump(tree, annotate_fields=False).encode()
