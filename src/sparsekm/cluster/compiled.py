"""The one way kernels are compiled: without the interpreter lock, and kept on disk.

Numba recompiles a kernel when its own file changes, but not when a file whose kernels it calls
does. So what was kept is thrown away as soon as any source file of this folder differs.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from numba import njit

compiled = njit(nogil=True, cache=True)

# For sums that only steer a search: terms may be added in the order that the processor likes best,
# several times faster. What is reported (scores, objectives, centres) is never summed like this.
compiled_loosely = njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})


def forget_stale_kernels(folder: Path) -> None:
    """Remove the kernels kept in `folder`/__pycache__ unless all sources are those they came from.

    Where the folder cannot be written to, nothing was kept there and nothing is done.
    """
    digest = sha256()
    for source in sorted(folder.glob("*.py")):
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    kept = folder / "__pycache__"
    stamp = kept / "kernels.sha256"
    try:
        if stamp.exists() and stamp.read_text() == digest.hexdigest():
            return
        for pattern in ("*.nbi", "*.nbc"):
            for file in kept.glob(pattern):
                file.unlink(missing_ok=True)
        kept.mkdir(exist_ok=True)
        stamp.write_text(digest.hexdigest())
    except OSError:
        return


forget_stale_kernels(Path(__file__).parent)
