"""The methods by name; the workflow looks them up here and has no code for single methods.

Their titles and colours are in `sparsekm.figures.palette`, since a change in this module reruns
every clustering.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Method:
    """A clustering method as the workflow runs it.

    The estimator is imported on demand: Snakemake looks up methods each time it starts and should
    not have to load the estimators for that.
    """

    name: str  # in the configuration and in paths
    class_name: str  # of the estimator, in one of the modules below
    tuning: str  # how its sparsity is chosen: "gap", "resampling", "bic" or "none"
    penalty: str | None = None  # the kind of its sparsities: "l0", "l1" or None
    # Whether it asks for the largest objective, and seeds differ in nothing else. A consensus does
    # not, a penalty or features that each seed chooses make objectives incomparable.
    maximises: bool = False

    @property
    def estimator(self) -> type:
        """Class of the estimator."""
        # Imported by name, since the digest of a script finds imports by parsing.
        from sparsekm.baselines import penalised_gaussian_mixture, spectral
        from sparsekm.cluster import estimators
        from sparsekm.tuning import sparse_kmeans

        homes = (estimators, sparse_kmeans, spectral, penalised_gaussian_mixture)
        return next(
            getattr(home, self.class_name) for home in homes if hasattr(home, self.class_name)
        )


METHODS = {
    method.name: method
    for method in [
        Method("kmeans", "KMeans", "none", maximises=True),
        Method("pca", "PCAKMeans", "none", maximises=True),
        Method("pgmm", "PenalizedGaussianMixture", "bic"),
        Method("ifpca", "IFPCA", "none", maximises=True),
        Method("scfs", "SCFS", "none"),
        Method("l1", "L1KMeans", "gap", "l1", maximises=True),
        Method("l0", "L0KMeans", "gap", "l0", maximises=True),
        Method("sparse", "SparseKMeans", "resampling", "l0"),
    ]
}


def get_method(name: str) -> Method:
    """Return a method by its name."""
    if name not in METHODS:
        raise ValueError(f"method={name!r} should be one of {sorted(METHODS)}.")
    return METHODS[name]
