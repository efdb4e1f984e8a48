"""The one way kernels are compiled: without the interpreter lock, and kept on disk.

A kernel holds the code of the kernels it calls, but Numba looks only at the kernel's own file to
decide whether one kept on disk is still good. Here the files of a kept kernel are named after all
the sources it can hold: those of its own folder and of this one. Edited sources look for other
files, in whatever folder Numba keeps them, so an old kernel is never found and none is removed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from hashlib import sha256
from inspect import getfile
from pathlib import Path

from numba import njit
from numba.core.caching import CompileResultCacheImpl, FunctionCache


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
        self._folders = (Path(__file__).parent, Path(getfile(function)).parent)
        super().__init__(function)

    def get_filename_base(self, fullname: str, abiflags: str) -> str:
        return f"{super().get_filename_base(fullname, abiflags)}-{source_digest(*self._folders)}"


class _KernelCache(FunctionCache):
    _impl_class = _NamedAfterSources


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
