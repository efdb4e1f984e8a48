"""Sparse k-means for high-dimensional data: clusters, and the few features that make them."""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("sparsekm")
except PackageNotFoundError:
    # Run from its sources, as under conda, where only the search path is set.
    __version__ = "unknown"

# Loaded when first used: a job that only writes a file need not compile the engine.
_HOMES = {
    "GapSearch": "sparsekm.tuning.gap_search",
    "IFPCA": "sparsekm.baselines.spectral",
    "KMeans": "sparsekm.cluster.estimators",
    "L0KMeans": "sparsekm.cluster.estimators",
    "L1KMeans": "sparsekm.cluster.estimators",
    "PCAKMeans": "sparsekm.baselines.spectral",
    "PenalizedGaussianMixture": "sparsekm.baselines.penalised_gaussian_mixture",
    "SCFS": "sparsekm.baselines.spectral",
    "SparseClustering": "sparsekm.cluster.sparse_clustering",
    "SparseKMeans": "sparsekm.tuning.sparse_kmeans",
    "SparsityPath": "sparsekm.cluster.sparsity_path",
    "StreamedMatrix": "sparsekm.cluster.matrices.containers",
    "classification_error_rate": "sparsekm.metrics.partition_metrics",
    "error_clustering_rate": "sparsekm.metrics.partition_metrics",
    "higher_criticism_threshold": "sparsekm.cluster.screening",
    "marginal_p_values": "sparsekm.cluster.screening",
    "marginal_scores": "sparsekm.cluster.screening",
    "n_nonzero_weights": "sparsekm.metrics.support_metrics",
    "proper_nonzero_weights": "sparsekm.metrics.support_metrics",
    "proper_zero_weights": "sparsekm.metrics.support_metrics",
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
