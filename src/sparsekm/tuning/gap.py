r"""How many features to keep: the gap curve and its rules, their limit, and those that differ.

.. math:: \mathrm{gap}(s) = \log O(s) - \frac1B \sum_b \log O^*_b(s) ,

with O(s) the objective on the data and O*_b on reference b (Tibshirani, Walther & Hastie 2001,
doi:10.1111/1467-9868.00293; for sparse k-means Witten & Tibshirani 2010,
doi:10.1198/jasa.2010.tm09415), and the rules that read it. The default sparsities are a geometric
grid between a handful of features and all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, issparse
from scipy.stats import f as fisher
from scipy.stats import false_discovery_control

from sparsekm.cluster.matrices.matrix import FeatureMatrix
from sparsekm.cluster.matrices.sparse_matrix import cluster_centers
from sparsekm.cluster.sparsity_path import SparsityPath
from sparsekm.cluster.validation import check_choice
from sparsekm.cluster.weight_step import PENALTIES, resolve_sparsities
from sparsekm.runtime.threads import one_blas_thread


def gap_curve(path: SparsityPath, reference_objectives: np.ndarray) -> pd.DataFrame:
    """Compare the first objectives of a path with those (n_references, n_sparsities) of references.

    The table ascends in sparsity; reference_mean and reference_sd (ddof = 1) are of the log
    objective of B references, and se = sd * sqrt(1 + 1 / B).
    """
    logs = np.log(reference_objectives)
    table = pd.DataFrame(
        {
            "sparsity": path.sparsities,
            "n_selected": path.n_selected,
            "objective": path.first_objectives,
            "log_objective": np.log(path.first_objectives),
            "reference_mean": logs.mean(axis=0),
            "reference_sd": logs.std(axis=0, ddof=1),
        }
    )
    table["gap"] = table["log_objective"] - table["reference_mean"]
    table["se"] = table["reference_sd"] * np.sqrt(1 + 1 / len(logs))
    return table.sort_values("sparsity", kind="stable", ignore_index=True)


def default_sparsities(penalty: str, n_features: int, n_sparsities: int = 10) -> np.ndarray:
    """Return a geometric grid of at most `n_sparsities`, ascending, to where nothing is dropped."""
    step = PENALTIES[penalty]
    grid = np.geomspace(*step.grid_range(n_features), n_sparsities)
    return np.unique(np.rint(grid) if step.counts_features else grid)


def search_grid(penalty: str, sparsities, n_features: int, n_constant: int) -> np.ndarray:
    """Return the ascending grid of a search among the features that vary; None is the default."""
    step = PENALTIES[check_choice("penalty", penalty, PENALTIES)]
    n_varying = n_features - n_constant
    if sparsities is None:
        sparsities = default_sparsities(penalty, n_varying)
    grid = resolve_sparsities(penalty, sparsities, n_features, n_constant)
    return np.unique(np.minimum(grid, n_varying) if step.counts_features else grid)


def refined_sparsities(
    penalty: str, sparsities: np.ndarray, peak: int, n_refined: int
) -> np.ndarray:
    """Add `n_refined` sparsities between the neighbours of one of an ascending grid.

    They are fewer where they agree with others; numbers of features are whole.

    Examples
    --------
    >>> refined_sparsities("l0", np.array([100, 165, 272, 448]), 2, 4)
    array([100., 165., 201., 246., 272., 300., 367., 448.])
    """
    low, high = sparsities[max(peak - 1, 0)], sparsities[min(peak + 1, len(sparsities) - 1)]
    finer = np.geomspace(low, high, n_refined + 2)[1:-1]
    if PENALTIES[penalty].counts_features:
        finer = np.rint(finer)
    known = np.isclose(finer[:, None], sparsities).any(axis=1)
    return np.union1d(sparsities, finer[~known])


# Features count as correlated where chance alone would need so many standard errors: the pairs of
# a feature are not quite independent, and labels fitted to the data are not quite the clusters.
BEYOND_CHANCE = 5.0
# So many features, evenly spaced, stand for all.
MOST_CORRELATED = 300


class NoiseCorrelation(NamedTuple):
    """How far features correlate within clusters."""

    # Mean squared correlation of two features times (n_samples - n_clusters): about 1 where they
    # are independent, more where they correlate.
    mean: float
    n_pairs: int  # pairs of features it is the mean of

    @property
    def is_beyond_chance(self) -> bool:
        """Whether the features count as correlated."""
        return (self.mean - 1) * (self.n_pairs / 2) ** 0.5 > BEYOND_CHANCE


@one_blas_thread
def noise_correlation(
    X: np.ndarray | csr_array, labels: np.ndarray, weights: np.ndarray
) -> NoiseCorrelation:
    """Compare the correlations of dropped features within clusters with those expected by chance.

    For independent features of n samples in K clusters, the squared correlations average 1 / (n -
    K) and, in units of that, each has a variance of about 2. Where fewer than two features are
    dropped, all are used. Samples of no cluster, -1, are left out.
    """
    if labels.min() < 0:
        X, labels = X[labels >= 0], labels[labels >= 0]
    dropped = np.flatnonzero(np.asarray(weights) == 0)
    used = dropped if len(dropped) > 1 else np.arange(X.shape[1])
    if len(used) > MOST_CORRELATED:
        used = used[np.linspace(0, len(used) - 1, MOST_CORRELATED).round().astype(int)]
    n_clusters, columns = int(labels.max()) + 1, X[:, used].astype(np.float64)
    centers = cluster_centers(columns, labels, n_clusters)
    if issparse(columns):
        # From the products of the stored values, without a dense matrix. Sums of squares this small
        # beside those about 0 are rounding.
        centers, products = np.nan_to_num(centers), (columns.T @ columns).toarray()
        least = 1e-12 * products.diagonal()
        products -= centers.T @ (centers * np.bincount(labels, minlength=n_clusters)[:, None])
        varies = products.diagonal() > least
        norms = np.sqrt(products.diagonal()[varies])
        correlations = products[np.ix_(varies, varies)] / np.outer(norms, norms)
    else:
        columns -= centers[labels]
        norms = np.sqrt(np.einsum("ij,ij->j", columns, columns))
        # What is constant within clusters correlates with nothing.
        varies = norms > 1e-9 * max(norms.max(initial=0.0), 1e-300)
        columns = columns[:, varies] / norms[varies]
        correlations = columns.T @ columns
    count = len(correlations)
    if count < 2:
        return NoiseCorrelation(1.0, 0)
    total = np.square(correlations).sum() - count
    mean = float(total / (count * (count - 1)) * (len(labels) - n_clusters))
    return NoiseCorrelation(mean, count * (count - 1) // 2)


# The largest share of correlated features that is kept.
LARGEST_SHARE = 0.25
FREE = (
    "The dropped features show no correlation with each other, so the largest gap decides: it "
    "keeps {kept}."
)
LIMITED = (
    "The dropped features correlate with each other, so the gap alone is no guide: at most "
    "{most:,} may be kept"
)
BY_LIMIT = ", and the gap still rises there. This limit, not the data, decides to keep {kept}."
BY_GAP = ". Below this limit the largest gap keeps {kept}."


@dataclass(frozen=True)
class FeatureLimit:
    """The most features that a choice may keep, and why.

    Permuting destroys correlations that real features have even without clusters, so the gap of
    correlated data tends to rise up to all features. Then at most a quarter of them may be kept.
    """

    correlation: NoiseCorrelation  # of the features that the densest fit below the limit drops
    n_features: int  # all features

    @property
    def most(self) -> int:
        """The most features to keep: all where the dropped ones do not correlate."""
        limited = self.correlation.is_beyond_chance
        return share_of(self.n_features) if limited else self.n_features

    def decides(self, gap_table: pd.DataFrame, chosen: int) -> bool:
        """Tell whether the gap rises from the row `chosen` to the next, which is over the limit."""
        following = gap_table.iloc[chosen + 1 : chosen + 2]
        over = following["n_selected"] > self.most
        return bool((over & (following["gap"] > gap_table["gap"].iloc[chosen])).any())

    def sentence(self, gap_table: pd.DataFrame, chosen: int) -> str:
        """Describe what determined the row `chosen` of a gap curve."""
        text = FREE
        if self.correlation.is_beyond_chance:
            text = LIMITED + (BY_LIMIT if self.decides(gap_table, chosen) else BY_GAP)
        kept = f"{gap_table['n_selected'].iloc[chosen]:,} of {self.n_features:,} features"
        return text.format(kept=kept, most=self.most)


def share_of(n_features: int) -> int:
    """Return the most of `n_features` correlated features to keep, at least one."""
    return max(1, int(LARGEST_SHARE * n_features))


def feature_limit(X: np.ndarray, path: SparsityPath) -> FeatureLimit:
    """Test whether the features that the fits of a path, on the data `X`, drop are correlated."""
    kept = path.n_selected
    # Where every fit keeps more, the sparsest.
    densest = int(np.where(kept <= share_of(X.shape[1]), kept, -kept).argmax())
    correlation = noise_correlation(X, path.labels[densest], path.weights[densest])
    return FeatureLimit(correlation, X.shape[1])


RULES = ["max", "one-se", "auto"]


def select_sparsity(
    gap_table: pd.DataFrame, rule: str = "max", limit: FeatureLimit | None = None
) -> int:
    """Choose a row of a gap curve; return its position.

    "max" takes the largest gap (the paper's rule), the smallest sparsity if several are equal;
    "one-se" the smallest sparsity whose gap is within one standard error, that of the largest gap,
    of the largest; "auto" is "max" among those within `limit`, or the sparsest if none is.
    """
    check_choice("rule", rule, RULES)
    gap = gap_table["gap"].to_numpy()
    if rule == "auto":
        if limit is None:
            raise ValueError("rule='auto' should come with the limit of the data (feature_limit).")
        allowed = gap_table["n_selected"].to_numpy() <= limit.most
        allowed[0] = True
        return int(np.where(allowed, gap, -np.inf).argmax())
    best = int(gap.argmax())
    if rule == "max":
        return best
    return int((gap >= gap[best] - gap_table["se"].iloc[best]).argmax())


# Share of features without any difference between the clusters among those that are counted.
FALSE_DISCOVERIES = 0.1
# Of many samples every difference is beyond chance: one that counts explains at least this share of
# a feature's variance, a medium effect by the convention of Cohen (1988), f = .25.
MEDIUM_EFFECT = 0.25**2 / (1 + 0.25**2)


def count_differing(matrix: FeatureMatrix, labels: np.ndarray, between: np.ndarray) -> int:
    """Count the features, at least 1, whose means differ clearly between clusters.

    `between` (n_features,) are the scores a_j. This describes the clusters and tests nothing, since
    the data that made them are used again: an analysis of variance of each feature at a false
    discovery rate of 10 % (Benjamini & Hochberg 1995, doi:10.1111/j.2517-6161.1995.tb02031.x) gives
    the threshold, and the clusters must explain at least 5.9 % of the feature's variance.
    """
    between_df = int(labels.max())
    within_df = len(labels) - between_df - 1
    if between_df < 1 or within_df <= 0:
        return len(between)
    total = matrix.squares
    within = np.maximum(total - between, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (between / between_df) / (within / within_df)
    p_values = fisher.sf(np.nan_to_num(ratio, nan=0.0, posinf=np.inf), between_df, within_df)
    found = false_discovery_control(p_values) <= FALSE_DISCOVERIES
    return max(1, int(np.count_nonzero(found & (between >= MEDIUM_EFFECT * total))))
