"""Prevent libraries from reading settings in the current folder, for jobs and the command.

Matplotlib reads `matplotlibrc` there when it is imported, and Numba reads `.numba_config.yaml` then
and before it compiles. A job and the command work in folders that may be somebody else's.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import chdir
from functools import partial
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

_READERS = ("matplotlib", "numba.core.config")


class _Elsewhere(PathFinder):
    """Finds the modules that read settings, and runs them in the folder of this file instead."""

    @classmethod
    def find_spec(cls, fullname, path=None, target=None) -> ModuleSpec | None:
        if fullname not in _READERS:
            return None
        spec = super().find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader.exec_module = partial(_run_elsewhere, spec.loader.exec_module)  # type: ignore[method-assign]
        return spec


def _run_elsewhere(run: Callable[[ModuleType], None], module: ModuleType) -> None:
    with chdir(Path(__file__).parent):
        run(module)
    # Numba reads a file of this name before it compiles, unless it is a device.
    if hasattr(module, "_config_fname"):
        module._config_fname = os.devnull


def leave_unread() -> None:
    """Prevent libraries that are imported later from reading settings in the current folder."""
    if _Elsewhere not in sys.meta_path:
        sys.meta_path.insert(0, _Elsewhere)
