"""One of every estimator, with settings that make a fit take a moment."""

from sklearn.cluster import AgglomerativeClustering

from sparsekm import (
    IFPCA,
    SCFS,
    GapSearch,
    KMeans,
    L0KMeans,
    L1KMeans,
    PCAKMeans,
    PenalizedGaussianMixture,
    SparseClustering,
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
EVERY = {
    **ESTIMATORS,
    "framework": SparseClustering(AgglomerativeClustering(3), sparsity=9, n_init=1),
}


def weighing_estimators(n_clusters, kept):
    """Give those that take weights, batches, and missing values, at about `kept` features."""
    tuned = {"sparsities": [kept // 2, kept], "n_references": 2, "random_state": 0}
    return {
        "KMeans": KMeans(n_clusters, random_state=0),
        "L0KMeans": L0KMeans(n_clusters, sparsity=kept, random_state=0),
        "L1KMeans": L1KMeans(n_clusters, sparsity=0.85 * kept**0.5, random_state=0),
        "GapSearch": GapSearch(L0KMeans(n_clusters), **tuned),
        "SparseKMeans": SparseKMeans(n_clusters, random_state=0),
    }
