"""Which methods there are, by name: the workflow looks them up here and branches on none."""

from __future__ import annotations

from dataclasses import dataclass

from sparsekm.cluster.estimators import KMeans, L0KMeans, L1KMeans


@dataclass(frozen=True)
class Method:
    """A clustering method as the workflow runs it.

    Attributes
    ----------
    name : str
        Name in the configuration and in paths.
    title : str
        Name in tables and figures.
    estimator : type
        Class of the estimator.
    tuning : {"gap", "bic", "none"}
        How its sparsity is chosen.
    penalty : {"l0", "l1"} or None
        Which grid of sparsities suits it.
    """

    name: str
    title: str
    estimator: type
    tuning: str
    penalty: str | None = None


METHODS = {
    method.name: method
    for method in [
        Method("kmeans", "k-means", KMeans, "none"),
        Method("l1", "l1-k-means", L1KMeans, "gap", "l1"),
        Method("l0", "l0-k-means", L0KMeans, "gap", "l0"),
    ]
}


def get_method(name: str) -> Method:
    """Look a method up.

    Raises
    ------
    ValueError
        If there is no method of this name.
    """
    if name not in METHODS:
        raise ValueError(f"method={name!r} should be one of {sorted(METHODS)}.")
    return METHODS[name]
