"""How many clusters: the number whose partitions come again best, beyond what chance would do.

Stability alone favours few clusters, since few are easy to find again. So each number is compared
with data without clusters, asked for the same number (as the gap does with objectives, and Clest
with predictions: Dudoit & Fridlyand 2002, doi:10.1186/gb-2002-3-7-research0036).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.base import clone

from sparsekm.cluster.validation import check_count
from sparsekm.tuning.evidence import LEVEL
from sparsekm.tuning.stability_search import StabilitySearch


def compare_cluster_counts(
    estimator,
    X: np.ndarray,
    counts: Iterable[int],
    *,
    sparsities: np.ndarray | None = None,
    n_splits: int = 5,
    n_references: int = 5,
    reference: str = "auto",
    n_jobs: int | None = None,
    random_state=None,
) -> pd.DataFrame:
    """Tune an estimator for every number of clusters, and compare.

    Parameters
    ----------
    estimator : estimator with `n_clusters`, `sparsity` and `path`
        Its own `n_clusters` and `sparsity` are not used.
    X : array-like of shape (n_samples, n_features)
    counts : iterable of int
        Numbers of clusters, >= 2.
    sparsities, n_splits, n_references, reference, n_jobs, random_state
        As in `StabilitySearch`; at least two references.

    Returns
    -------
    pandas.DataFrame
        Ascending in n_clusters: n_clusters, best_sparsity, stability (of halves, over all
        sparsities), reference_mean, excess = stability - reference_mean, strength and has_clusters
        (see `sparsekm.tuning.evidence`, at a level divided by the number of counts), chosen: the
        largest excess, the fewest among equals; no row where none has evidence of clusters.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsekm.cluster.estimators import L0KMeans
    >>> X = np.random.default_rng(0).normal(size=(60, 12))
    >>> X[:20, :4] += 4
    >>> X[20:40, 4:8] += 4
    >>> table = compare_cluster_counts(
    ...     L0KMeans(n_init=2), X, [2, 3, 4], sparsities=[8, 12], random_state=0
    ... )
    >>> table.loc[table["chosen"], "n_clusters"].tolist()
    [3]
    """
    check_count("n_references", n_references, 2)
    counts = sorted({check_count("n_clusters", count, 2) for count in counts})
    rows = []
    for count in counts:
        search = StabilitySearch(
            clone(estimator).set_params(n_clusters=count),
            sparsities=sparsities,
            n_splits=n_splits,
            n_references=n_references,
            reference=reference,
            n_jobs=n_jobs,
            random_state=random_state,
        ).fit(X)
        # Every number is another chance to be misled.
        evidence = replace(search.evidence_, level=LEVEL / len(counts))
        mean = float(evidence.reference_stabilities.mean())
        rows.append(
            {
                "n_clusters": count,
                "best_sparsity": search.best_sparsity_,
                "stability": evidence.stability,
                "reference_mean": mean,
                "excess": evidence.stability - mean,
                "strength": evidence.strength,
                "has_clusters": evidence.has_clusters,
            }
        )
    table = pd.DataFrame(rows)
    excess = table["excess"].where(table["has_clusters"], -np.inf)
    return table.assign(chosen=table["has_clusters"] & (table.index == excess.argmax()))
