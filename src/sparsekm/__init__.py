"""Sparse k-means for high-dimensional data: clusters, and the few features that make them."""

import ast
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

try:
    __version__ = version("sparsekm")
except PackageNotFoundError:
    # Run from its sources, as under conda, where only the search path is set.
    __version__ = "unknown"

# Loaded when first used: a job that only writes a file need not compile the engine. The stub, which
# type checkers read, says where each name is.
_STUB = ast.parse(Path(__file__).with_name("__init__.pyi").read_text(encoding="utf-8"))
_HOMES = {
    alias.name: str(node.module)
    for node in _STUB.body
    if isinstance(node, ast.ImportFrom) and node.module != __name__
    for alias in node.names
}
# Of AnnData: what clusters it, and what draws the result.
_MODULES = ("pl", "tl")

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str):
    if name in _MODULES:
        return import_module(f"sparsekm.{name}")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
