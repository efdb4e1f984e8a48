"""Sparse k-means for high-dimensional data: clusters, and the few features that make them."""

from importlib.metadata import PackageNotFoundError, version

import lazy_loader

try:
    __version__ = version("sparsekm")
except PackageNotFoundError:
    # Run from its sources, as under conda, where only the search path is set.
    __version__ = "unknown"

# Loaded when first used: a job that only writes a file need not compile the engine. The stub, which
# type checkers read, says where each name is.
__getattr__, __dir__, _names = lazy_loader.attach_stub(__name__, __file__)

# Without what needs AnnData and Matplotlib.
__all__ = ["__version__", *(name for name in _names if name not in ("pl", "tl"))]
