"""The one way kernels are compiled: without the interpreter lock, and kept on disk.

A kernel holds the code of the kernels it calls, but Numba looks only at the kernel's own file to
decide whether one kept on disk is still good. Here the files of a kept kernel are named after all
the sources it can hold: those of its own folder, of `cluster` and of `runtime`. Edited sources look
for other files, in whatever folder Numba keeps them, so an old kernel is never found and none is
removed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from inspect import getfile
from pathlib import Path

from numba import njit
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.types import BaseNamedTuple

_SHARED_FOLDERS = tuple(Path(__file__).parents[1] / room for room in ("cluster", "runtime"))


@cache
def source_digest(*folders: Path) -> str:
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
        super().__init__(function)

    def get_filename_base(self, fullname: str, abiflags: str) -> str:
        return f"{super().get_filename_base(fullname, abiflags)}-{source_digest(*self._folders)}"

    def covers(self, cls: type) -> bool:
        """Return whether the files' names tell of the source of a class."""
        source = getattr(sys.modules[cls.__module__], "__file__", None) or ""
        return any(Path(source).is_relative_to(folder) for folder in self._folders)


class _KernelCache(FunctionCache):
    _impl_class = _NamedAfterSources

    def save_overload(self, sig, data) -> None:
        """Keep a kernel, unless it holds the code of a penalty from other folders."""
        classes = [given.instance_class for given in sig if isinstance(given, BaseNamedTuple)]
        if all(self._impl.covers(cls) for cls in classes):
            super().save_overload(sig, data)


def _compiler(**options) -> Callable[[Callable], Callable]:
    def compile_kernel(function: Callable) -> Callable:
        kernel = njit(nogil=True, **options)(function)
        kernel._cache = _KernelCache(function)
        return kernel

    return compile_kernel


compiled = _compiler()

# For sums that only steer a search: terms may be added in the order that the processor likes best,
# several times faster. What is reported (scores, objectives, centres) is never summed like this.
compiled_loosely = _compiler(fastmath={"reassoc", "contract", "nsz"})
