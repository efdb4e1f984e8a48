"""The compilation of all kernels, without the interpreter lock and with a cache on disk.

A kernel contains the code of the kernels that it calls, but Numba checks only the kernel's own file
to decide whether a cached one is valid. Here the names of cached files depend on all sources that
they can contain. If several processes start together, one compiles each kernel, and the others
wait. The one that compiles tells the user if it takes long.

Cached kernels are pickles, so their writer decides what runs. Therefore only the environment can
name a folder for them, as `NUMBA_CACHE_DIR`, and not a file in the current folder.
"""

from __future__ import annotations

import gc
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import cache, partial
from hashlib import sha256
from inspect import getfile
from pathlib import Path
from threading import Timer
from time import monotonic
from typing import Any

from numba import njit
from numba.core import config, event
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.types import BaseNamedTuple

try:
    import fcntl
except ImportError:
    # Windows has no such locks, so processes may compile the same kernel there.
    fcntl = None

_SHARED_FOLDERS = tuple(Path(__file__).parents[1] / room for room in ("cluster", "runtime"))

# Settings of Numba about the place of cached kernels.
_PLACES = ("CACHE_DIR", "CACHE_LOCATOR_CLASSES")


@cache
def _digest_folders(*folders: Path) -> str:
    """Digest the names and contents of all sources in `folders` and below."""
    digest = sha256()
    for folder in folders:
        for source in sorted(folder.rglob("*.py")):
            content = source.read_bytes()
            name = source.relative_to(folder).as_posix()
            digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16]


class _NamedAfterSources(CompileResultCacheImpl):
    """Numba's files, with the digest of a kernel's sources in their names."""

    def __init__(self, function: Callable) -> None:
        self._folders = (*_SHARED_FOLDERS, Path(getfile(function)).parent)
        before = {name: getattr(config, name, "") for name in _PLACES}
        try:
            vars(config).update({name: os.environ.get(f"NUMBA_{name}", "") for name in _PLACES})
            super().__init__(function)
        finally:
            vars(config).update(before)

    def get_filename_base(self, fullname: str, abiflags: str) -> str:
        return f"{super().get_filename_base(fullname, abiflags)}-{_digest_folders(*self._folders)}"

    def covers(self, cls: type) -> bool:
        """Return whether the files' names depend on the source of a class."""
        source = getattr(sys.modules[cls.__module__], "__file__", None) or ""
        return any(Path(source).is_relative_to(folder) for folder in self._folders)


class _KernelCache(FunctionCache):
    _impl_class = _NamedAfterSources

    def save_overload(self, sig, data) -> None:
        """Save a kernel, unless it contains the code of a penalty from other folders."""
        classes = [given.instance_class for given in sig if isinstance(given, BaseNamedTuple)]
        if all(self._impl.covers(cls) for cls in classes):
            # Two processes that save two kernels of a function at once would use the same name. If
            # the disk is full, no kernel is saved.
            with self.alone(""), suppress(OSError):
                super().save_overload(sig, data)

    @contextmanager
    def alone(self, sig) -> Iterator[None]:
        """Wait until no other process compiles this kernel; then others wait for this one.

        A kernel's lock is one byte of a file next to the cached kernels. Two processes cannot wait
        for each other, because calls are not circular, and Numba compiles in one thread at a time.
        """
        file = _open_locks(self.cache_path)
        byte = zlib.crc32(f"{self._impl.filename_base} {sig}".encode())
        _lock(file, "LOCK_EX", byte)
        try:
            yield
        finally:
            _lock(file, "LOCK_UN", byte)


@cache
def _open_locks(folder: str) -> int | None:
    """Open a folder's file of locks only once, because closing any handle would end all locks."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        return os.open(f"{folder}/compiling.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError:
        return None


def _lock(file: int | None, kind: str, byte: int) -> None:
    """Lock a byte or release it; without locks, processes may compile the same kernel."""
    if file is not None and fcntl is not None:
        with suppress(OSError):
            fcntl.lockf(file, getattr(fcntl, kind), 1, byte)


class _Compiling(event.Listener):
    """Disables garbage collection, and tells the user if compiling takes more than two seconds.

    The collector would examine all objects of a compilation many times.
    """

    def __init__(self) -> None:
        # Kernels are compiled within the kernels that call them.
        self._depth, self._silent_for = 0, 2.0

    def on_start(self, event) -> None:
        self._depth += 1
        if self._depth == 1:
            self._collects, self._since = gc.isenabled(), monotonic()
            gc.disable()
            self._timer = Timer(self._silent_for, self._tell)
            self._timer.start()

    def on_end(self, event) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._timer.cancel()
            # A process that forks afterwards should have one thread.
            self._timer.join()
            self._silent_for = max(0.0, self._silent_for - monotonic() + self._since)
            if self._collects:
                gc.enable()

    def _tell(self) -> None:
        self._silent_for = 1e9
        sys.stderr.write(
            "sparsekm: compiling for this machine. This happens once and takes half a minute.\n"
        )


_compiling = _Compiling()


def _compile_alone(kept: _KernelCache | None, compile_signature: Callable, sig):
    # Numba's own lock comes first, so that one thread of a process waits for other processes.
    with (
        global_compiler_lock,
        kept.alone(sig) if kept else nullcontext(),
        event.install_listener("numba:compile", _compiling),
    ):
        return compile_signature(sig)


def _compiler(**options) -> Callable[[Callable], Callable]:
    def compile_kernel(function: Callable) -> Callable:
        kernel, kept = njit(nogil=True, **options)(function), None
        # Without a folder for the cache, as in a read-only container without a home, every process
        # compiles its own kernels.
        with suppress(RuntimeError):
            kept = kernel._cache = _KernelCache(function)
        kernel.compile = partial(_compile_alone, kept, kernel.compile)
        return kernel

    return compile_kernel


compiled = _compiler()

# For sums that only guide a search: terms may be added in the order that is fastest for the
# processor. Reported values (scores, objectives, centres) are never summed like this.
LOOSELY: dict[str, Any] = {"fastmath": {"reassoc", "contract", "nsz"}}
compiled_loosely = _compiler(**LOOSELY)
