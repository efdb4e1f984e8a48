"""The chosen model fitted again from other seeds: what is better, and how much of it is chance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.base import clone

from sparsekm.cluster.matrices.streamed_matrix import in_blocks
from sparsekm.io.fit_file import Fit
from sparsekm.io.path_file import pick_fit
from sparsekm.pipeline.problem import ClusteringProblem, cluster_means
from sparsekm.pipeline.seeds import derive_seed
from sparsekm.tuning.consensus_choice import find_consensus, fit_from
from sparsekm.tuning.resampled_paths import ResampledPaths


def refit(
    problem: ClusteringProblem,
    fit: Fit,
    number: int,
    resamplings: Sequence[ResampledPaths] | None = None,
) -> Fit:
    """Fit a problem at the sparsity of its chosen fit, from the seed of this number.

    For a method that resamples, the seed draws as many resamplings, with replacement, from those
    that there are (a bootstrap), in place of new ones, which would cost as much as all tuning.
    """
    seed = derive_seed(problem.seed, "refit", number)
    X, sparsities = in_blocks(problem.tuning_data), [fit.sparsity]
    estimator = clone(problem.estimator).set_params(random_state=seed)
    if resamplings is None:
        path = estimator.path(X, sparsities)
    else:
        drawn = np.random.default_rng(seed).integers(len(resamplings), size=len(resamplings))
        consensus = find_consensus(
            [resamplings[index] for index in drawn],
            estimator.n_clusters,
            seed=seed,
            family=fit.attributes["family"],
        )
        path = fit_from(estimator, X, consensus.labels, sparsities)
    centers = cluster_means(problem.data, path.labels[0], estimator.n_clusters)
    return pick_fit(path, 0, centers, fit.attributes)


def order_fits(fits: Sequence[Fit], maximises: bool) -> list[int]:
    """Order fits from the seeds 0, 1, 2, ...: the one to show, then the others.

    That is the best, and the first of the best, for a method that maximises its objective;
    otherwise the first, which the tuning chose.
    """
    best = max(range(len(fits)), key=lambda seed: fits[seed].objective) if maximises else 0
    return [best, *(seed for seed in range(len(fits)) if seed != best)]
