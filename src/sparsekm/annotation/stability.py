"""Stability of the kept features: the share of half-samples in which each feature is kept.

Random halves of the samples, drawn without replacement, are clustered at the tuned sparsity [1]_,
each by its own search. Labels fitted to all samples are not used as a start, because they contain
the noise of the half, so that even pure noise features would be kept again.

References
----------
.. [1] N. Meinshausen, P. Buhlmann (2010), Stability selection. doi:10.1111/j.1467-9868.2010.00740.x
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.cluster.matrices.sparse_matrix import as_matrix
from sparsekm.cluster.matrices.varying_features import VaryingFeatures, count_distinct
from sparsekm.cluster.weight_step import PENALTIES
from sparsekm.io.hdf5_format import checked, require
from sparsekm.io.tables import TABLES
from sparsekm.metrics import label_codes
from sparsekm.pipeline.provenance import derive_seed
from sparsekm.tuning.candidates import first_start
from sparsekm.tuning.fold_fits import Folds

# The effort of a search, which suffices because there are many fits.
N_INIT = 2


def draw_half(
    n_samples: int, index: int, seed: int, blocks: np.ndarray | None = None
) -> np.ndarray:
    """Draw half of the samples, rounded up, in whole blocks (n_samples,), equal for all methods."""
    rng = np.random.default_rng(derive_seed(seed, "half", index))
    size = (n_samples + 1) // 2
    if blocks is None:
        return np.sort(rng.permutation(n_samples)[:size])
    codes = label_codes(blocks, "blocks")
    order = np.argsort(rng.permutation(codes.max() + 1)[codes], kind="stable")
    # The cut nearest to a half that does not divide a block.
    ends = np.flatnonzero(np.diff(codes[order])) + 1
    return np.sort(order[: ends[np.abs(ends - size).argmin()] if len(ends) else size])


def count_kept(
    data: ScaledData,
    estimator: Any,
    sparsity: float,
    n_subsamples: int,
    seed: int,
    *,
    screening: str | None = None,
    blocks: np.ndarray | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> np.ndarray:
    """Count in how many half-samples each feature is kept.

    The estimator, `L0KMeans` or `L1KMeans`, searches each half like all samples, with `N_INIT`
    restarts, or from k-means on the features that rank first in a `screening`. The smallest cluster
    allowed is half as large as for all samples.
    """
    if n_subsamples < 1:
        raise ValueError(f"n_subsamples={n_subsamples} should be >= 1.")
    counts = np.zeros(data.X.shape[1], dtype=np.int64)
    for index in range(n_subsamples):
        half = data.take(draw_half(data.X.shape[0], index, seed, blocks))
        counts += _keeps(half, estimator, sparsity, screening, derive_seed(seed, "start", index))
        if progress is not None:
            progress(index + 1, n_subsamples)
    return counts


def _keeps(data, estimator: Any, sparsity: float, screening: str | None, seed: int) -> np.ndarray:
    # Features may be constant in a half, and then no start scores them.
    features = VaryingFeatures.of_values(data.X)
    data = data.select(features.varies)
    X, matrix = data.X, as_matrix(data.X)
    # There may be fewer distinct samples than clusters.
    n_clusters = count_distinct(matrix, estimator.n_clusters)
    smallest = -(-estimator.min_cluster_size // 2)
    search = clone(estimator).set_params(
        n_clusters=n_clusters,
        n_init=N_INIT,
        min_cluster_size=max(1, min(smallest, X.shape[0] // n_clusters)),
        random_state=seed,
    )
    if screening:
        whole = Folds(data, search, screening, np.arange(X.shape[0]), []).whole
        search.set_params(init=first_start(whole))
    most, groups = X.shape[1], getattr(estimator, "feature_groups", None)
    if groups is not None:
        groups = np.asarray(groups)[features.varies]
        most = len(np.unique(groups))
        search.set_params(feature_groups=groups)
    step = min(sparsity, most) if PENALTIES[search.penalty].counts_features else sparsity
    return features.put_back(search.path(matrix, [step]).weights[0]) != 0


_FORMAT = TABLES["stability.csv"]


def write_stability(
    file: str | Path, symbols: Sequence[str], counts: np.ndarray, n_subsamples: int
) -> None:
    """Write how often each feature is kept, atomically."""
    counts = np.asarray(counts, dtype=np.int64)
    table = pd.DataFrame({"symbol": np.asarray(symbols, dtype=object), "kept": counts})
    _FORMAT.write(file, table.assign(subsamples=n_subsamples, stability=counts / n_subsamples))


def read_stability(file: str | Path, symbols: Sequence[str]) -> np.ndarray:
    """Read the share of subsamples, in [0, 1], that keep each feature; check the symbols."""
    table = _FORMAT.read(file)
    kept, subsamples = table["kept"], table["subsamples"]
    with checked(file, _FORMAT.rule):
        is_right = list(table["symbol"]) == [str(s) for s in symbols]
        require(is_right, f"symbols should be the {len(symbols)} features of the data set")
        is_right = (kept.between(0, subsamples) & (subsamples > 0)).all()
        require(is_right, "in every row, 'kept' should be between 0 and 'subsamples' > 0")
    return (kept / subsamples).to_numpy()
