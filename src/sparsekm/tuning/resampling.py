r"""How reproducible a partition is when samples are left out: one resampling at a time.

There are two schemes. "subsample" fits a random share of the samples, assigns all samples to the
nearest centre, and compares the result with the partition fitted to all samples. "halves" fits two
halves of the samples, assigns all samples to the nearest centre of each, and compares the two
(Lange, Roth, Braun & Buhmann 2004, doi:10.1162/089976604773717621; with labels as the truth, this
is prediction strength: Tibshirani & Walther 2005, doi:10.1198/106186005X59243).

Partitions are compared by the adjusted Rand index, whose expected value by chance is 0.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from sklearn.metrics import adjusted_rand_score

from sparsekm.cluster.kmeans.many_samples import WeightedFeatures, label_samples
from sparsekm.cluster.matrices.dense_parts import feature_means
from sparsekm.cluster.matrices.scatter import cluster_centers
from sparsekm.tuning.sample_blocks import cut_point, order_samples
from sparsekm.tuning.tuning_sample import take_samples

SCHEMES = ["subsample", "halves"]
# The share of the samples in a subsample: enough for the fit to be nearly the whole's.
SUBSAMPLE = 0.8


def split_rows(
    n_samples: int, scheme: str, rng: np.random.Generator, blocks: np.ndarray | None = None
) -> list[np.ndarray]:
    """Draw the parts of the samples that are fitted, each in ascending order.

    "subsample" draws one part of `SUBSAMPLE` of the samples; "halves" two disjoint parts of half of
    them, leaving one sample out if their number is odd.

    Samples with the same number in `blocks` (n_samples,) stay together; parts are then as large as
    these allow, and no sample is left out (`sparsekm.tuning.sample_blocks`).
    """
    order = order_samples(n_samples, rng, blocks)
    if scheme == "halves":
        half = cut_point(n_samples // 2, order, blocks)
        end = 2 * half if blocks is None else n_samples
        return [np.sort(order[:half]), np.sort(order[half:end])]
    size = int(np.ceil(SUBSAMPLE * n_samples))
    return [np.sort(order[: cut_point(size, order, blocks)])]


def resample(
    estimator,
    X: np.ndarray | csr_array,
    sparsities: np.ndarray,
    *,
    scheme: str,
    index: int,
    seed: int,
    labels: np.ndarray | None = None,
    blocks: np.ndarray | None = None,
) -> np.ndarray:
    """Fit the path again on parts of the samples and compare two partitions of all samples.

    The result (n_sparsities,) is their adjusted Rand index at every sparsity.

    The parts depend only on (`seed`, `index`) and the scheme; the estimator's own `random_state` is
    not used. "subsample" compares with `labels`, the partitions of all samples, of shape
    (n_sparsities, n_samples); "halves" does not need them. `blocks` is as in `split_rows`.
    """
    own_seed = np.random.SeedSequence(seed, spawn_key=(index, 2 + SCHEMES.index(scheme)))
    rows_seed, *fit_seeds = own_seed.spawn(3)
    parts = split_rows(X.shape[0], scheme, np.random.default_rng(rows_seed), blocks)
    partitions = []
    for rows, fit_seed in zip(parts, fit_seeds, strict=False):
        fitted, part = take_samples(rows, estimator, X)
        fitted.set_params(random_state=int(fit_seed.generate_state(1)[0]))
        path = fitted.path(part, sparsities)
        partitions.append(
            [label_everyone(X, part, *fit) for fit in zip(path.labels, path.weights, strict=True)]
        )
    if scheme == "subsample":
        partitions.append(labels)
    return np.array([adjusted_rand_score(a, b) for a, b in zip(*partitions, strict=True)])


def label_everyone(
    X: np.ndarray | csr_array,
    part: np.ndarray | csr_array,
    labels: np.ndarray,
    weights: np.ndarray,
) -> np.ndarray:
    """Label all samples by the nearest centre of a partition of `part`, in its kept features.

    `labels` are those of `part`; every label from 0 to the largest occurs.
    """
    features = WeightedFeatures.from_dense(weights)
    kept = part[:, features.support]
    centers = cluster_centers(kept, labels, int(labels.max()) + 1)
    # Centred at the part's own means: distances do not change, and rounding stays small.
    shift = feature_means(kept)
    return label_samples(X, features, shift, (centers - shift).T)
