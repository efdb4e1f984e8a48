r"""The most features to keep if features are correlated within clusters.

Permuting columns destroys correlations that real features have even without clusters. The gap of
correlated data therefore tends to rise up to all features, and does not show how many to keep. In
that case at most a quarter of them may be kept, and the gap chooses below this limit. Whether
features are correlated is tested on those that the densest fit below the limit drops, minus their
cluster means: for independent features of n samples in K clusters, the squared correlations average
:math:`1 / (n - K)` and, in units of that, each has a variance of about 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, issparse

from sparsekm.cluster.matrices.scatter import cluster_centers
from sparsekm.cluster.sparsity_path import SparsityPath
from sparsekm.runtime.threads import one_blas_thread

# Features count as correlated where chance alone would need so many standard errors: the pairs of
# a feature are not quite independent, and labels fitted to the data are not quite the clusters.
BEYOND_CHANCE = 5.0
# So many features, evenly spaced, stand for all.
MOST_FEATURES = 300
# The largest share of correlated features that is kept.
LARGEST_SHARE = 0.25


@dataclass(frozen=True)
class NoiseCorrelation:
    """How far features correlate within clusters."""

    # Mean squared correlation of two features times (n_samples - n_clusters): about 1 where they
    # are independent, more where they correlate.
    mean: float
    n_pairs: int  # pairs of features it is the mean of

    @property
    def standard_errors(self) -> float:
        """By how many standard errors the mean exceeds that of independent features."""
        return (self.mean - 1) * (self.n_pairs / 2) ** 0.5

    @property
    def is_beyond_chance(self) -> bool:
        """Whether the features count as correlated."""
        return self.standard_errors > BEYOND_CHANCE


def noise_correlation(
    X: np.ndarray | csr_array, labels: np.ndarray, weights: np.ndarray
) -> NoiseCorrelation:
    """Compare the correlations of dropped features within clusters with those expected by chance.

    Features with weight 0 are dropped; if there are fewer than two, all features are used. If fewer
    than two features vary, the mean is 1 and there are no pairs. Samples of no cluster, -1, are
    left out.
    """
    if labels.min() < 0:
        X, labels = X[labels >= 0], labels[labels >= 0]
    dropped = np.flatnonzero(np.asarray(weights) == 0)
    used = dropped if len(dropped) > 1 else np.arange(X.shape[1])
    if len(used) > MOST_FEATURES:
        used = used[np.linspace(0, len(used) - 1, MOST_FEATURES).round().astype(int)]
    n_clusters = int(labels.max()) + 1
    correlate = _correlate_stored if issparse(X) else _correlate
    correlations = correlate(X[:, used].astype(np.float64), labels, n_clusters)
    count = len(correlations)
    if count < 2:
        return NoiseCorrelation(1.0, 0)
    total = np.square(correlations).sum() - count
    mean = float(total / (count * (count - 1)) * (len(labels) - n_clusters))
    return NoiseCorrelation(mean, count * (count - 1) // 2)


@one_blas_thread
def _correlate(columns: np.ndarray, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return the correlations within clusters of the features that vary there."""
    columns -= cluster_centers(columns, labels, n_clusters)[labels]
    norms = np.sqrt(np.einsum("ij,ij->j", columns, columns))
    # What is constant within clusters correlates with nothing.
    varies = norms > 1e-9 * max(norms.max(initial=0.0), 1e-300)
    columns = columns[:, varies] / norms[varies]
    return columns.T @ columns


@one_blas_thread
def _correlate_stored(rows: csr_array, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return the same from the products of the stored values, without a dense matrix."""
    sizes = np.bincount(labels, minlength=n_clusters)
    centers = np.nan_to_num(cluster_centers(rows, labels, n_clusters))
    products = (rows.T @ rows).toarray()
    squares = products.diagonal().copy()
    products -= centers.T @ (centers * sizes[:, None])
    # Sums of squares this small beside those about 0 are rounding.
    varies = products.diagonal() > 1e-12 * squares
    products = products[np.ix_(varies, varies)]
    norms = np.sqrt(products.diagonal())
    return products / np.outer(norms, norms)


@dataclass(frozen=True)
class FeatureLimit:
    """The most features that a choice may keep, and why."""

    correlation: NoiseCorrelation  # of the features that the densest fit below the limit drops
    n_features: int  # all features

    @property
    def most(self) -> int:
        """The most features to keep: all where the dropped ones do not correlate."""
        if self.correlation.is_beyond_chance:
            return share_of(self.n_features)
        return self.n_features

    def decides(self, gap_table: pd.DataFrame, chosen: int) -> bool:
        """Tell whether the gap rises from the row `chosen` to the next, which is over the limit."""
        following = gap_table.iloc[chosen + 1 : chosen + 2]
        over = following["n_selected"] > self.most
        return bool((over & (following["gap"] > gap_table["gap"].iloc[chosen])).any())

    def sentence(self, gap_table: pd.DataFrame, chosen: int) -> str:
        """Describe what determined the row `chosen` of a gap curve."""
        kept = f"{gap_table['n_selected'].iloc[chosen]:,} of {self.n_features:,} features"
        if not self.correlation.is_beyond_chance:
            return (
                "The dropped features show no correlation with each other, so the largest gap "
                f"decides: it keeps {kept}."
            )
        found = (
            "The dropped features correlate with each other, so the gap alone is no guide: at most "
            f"{self.most:,} may be kept"
        )
        if self.decides(gap_table, chosen):
            return (
                f"{found}, and the gap still rises there. This limit, not the data, decides to "
                f"keep {kept}."
            )
        return f"{found}. Below this limit the largest gap keeps {kept}."


def share_of(n_features: int) -> int:
    """Return the most of `n_features` correlated features to keep, at least one."""
    return max(1, int(LARGEST_SHARE * n_features))


def feature_limit(X: np.ndarray, path: SparsityPath) -> FeatureLimit:
    """Test whether the features that the fits of a path, on the data `X`, drop are correlated."""
    n_features = X.shape[1]
    kept = path.n_selected
    # Where every fit keeps more, the sparsest.
    below = np.where(kept <= share_of(n_features), kept, -kept)
    densest = int(below.argmax())
    correlation = noise_correlation(X, path.labels[densest], path.weights[densest])
    return FeatureLimit(correlation, n_features)
