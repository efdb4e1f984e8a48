"""Sparse k-means for high-dimensional data: clusters, and the few features that make them."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("sparsekm")
except PackageNotFoundError:
    # Run from its sources, as under conda, where only the search path is set.
    __version__ = "unknown"

try:
    from lazy_loader import attach_stub
except ModuleNotFoundError:
    # Snakemake plans the workflow, and `make clean` removes files, where no requirement of the
    # package is installed. They use modules of plain Python only.
    _names: list[str] = []
else:
    # Loaded when first used: a job that only writes a file need not compile the engine. The stub,
    # which type checkers read, says where each name is.
    __getattr__, __dir__, _names = attach_stub(__name__, __file__)

# Without what needs AnnData and Matplotlib.
__all__ = ["__version__", *(name for name in _names if name not in ("pl", "tl"))]
