"""The final model fitted again from other seeds, to see how much of it is chance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.base import clone

from sparsekm.cluster.matrices.streamed_matrix import in_blocks
from sparsekm.cluster.sparsity_path import SparsityPath
from sparsekm.io.fit_file import Fit
from sparsekm.pipeline.problem import ClusteringProblem
from sparsekm.pipeline.seeds import derive_seed
from sparsekm.tuning.consensus_choice import find_consensus, fit_from
from sparsekm.tuning.resampled_paths import ResampledPaths


def refit(
    problem: ClusteringProblem,
    fit: Fit,
    number: int,
    resamplings: Sequence[ResampledPaths] | None = None,
) -> SparsityPath:
    """Fit a problem at the sparsity of its tuned fit, from the seed of this number.

    For a method that resamples, the seed draws as many resamplings, with replacement, from those
    that there are (a bootstrap), in place of new ones, which would cost as much as all tuning.
    """
    seed = derive_seed(problem.seed, "refit", number)
    X, sparsities = in_blocks(problem.tuning_data), [fit.sparsity]
    estimator = clone(problem.estimator).set_params(random_state=seed)
    if resamplings is None:
        return estimator.path(X, sparsities)
    drawn = np.random.default_rng(seed).integers(len(resamplings), size=len(resamplings))
    consensus = find_consensus(
        [resamplings[index] for index in drawn],
        estimator.n_clusters,
        seed=seed,
        family=fit.attributes["family"],
    )
    return fit_from(estimator, X, consensus.labels, sparsities)
