"""One of every estimator, with settings that make a fit take a moment."""

from sparsekm import (
    IFPCA,
    SCFS,
    GapSearch,
    KMeans,
    L0KMeans,
    L1KMeans,
    PCAKMeans,
    PenalizedGaussianMixture,
    SparseKMeans,
)

GRID = {"sparsities": [4, 12]}
BASELINES = {
    "principal components": PCAKMeans(3, n_init=2),
    "mixture": PenalizedGaussianMixture(3, n_penalties=2, n_init=2),
    "IF-PCA": IFPCA(3, n_init=2),
    "SC-FS": SCFS(3, n_init=2),
}
WITH_PATHS = {
    "k-means": KMeans(3, n_init=2),
    "l0": L0KMeans(3, sparsity=6, n_init=2),
    "l1": L1KMeans(3, sparsity=2, n_init=2),
    **BASELINES,
}
ESTIMATORS = {
    **WITH_PATHS,
    "gap": GapSearch(L0KMeans(3, n_init=2), n_references=3, **GRID),
    "sparse": SparseKMeans(3),
}
