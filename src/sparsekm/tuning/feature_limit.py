"""How many features a choice may keep where they correlate with or without clusters.

Permuting columns destroys correlations that real features have with or without clusters, so the
gap of correlated data tends to rise up to all features: there it says nothing about how many to
keep. Then a quarter of them is the limit, and the gap chooses below it. Whether features correlate
is asked of the densest fit below the limit, which drops enough of them to tell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from sparsekm.cluster.sparsity_path import SparsityPath
from sparsekm.tuning.noise_correlation import NoiseCorrelation, noise_correlation

# The largest share of correlated features that is kept.
LARGEST_SHARE = 0.25


@dataclass(frozen=True)
class FeatureLimit:
    """The most features that a choice may keep, and why.

    Attributes
    ----------
    correlation : NoiseCorrelation
        Of the features that the densest fit below the limit drops.
    n_features : int
        All features.
    """

    correlation: NoiseCorrelation
    n_features: int

    @property
    def most(self) -> int:
        """The most features to keep: all where the dropped ones do not correlate."""
        if self.correlation.is_beyond_chance:
            return share_of(self.n_features)
        return self.n_features

    def sentence(self, gap_table: pd.DataFrame, chosen: int) -> str:
        """Say what decided.

        Parameters
        ----------
        gap_table : pandas.DataFrame
            As `sparsekm.tuning.gap.gap_curve` returns it, ascending in sparsity.
        chosen : int
            The position of its chosen row.

        Returns
        -------
        str
        """
        gap = gap_table["gap"].to_numpy()
        n_selected = gap_table["n_selected"].to_numpy()
        kept = f"{n_selected[chosen]:,} of {self.n_features:,} features"
        if not self.correlation.is_beyond_chance:
            return (
                "Dropped features are independent of each other, as far as can be told: the "
                f"largest gap keeps {kept}."
            )
        found = (
            "Dropped features correlate with each other, so that the gap alone is no guide: at "
            f"most {self.most:,} may be kept"
        )
        following = chosen + 1
        at_limit = following < len(gap) and n_selected[following] > self.most
        if at_limit and gap[following] > gap[chosen]:
            return (
                f"{found}, and the gap still rises there. That {kept} are kept is owed to this "
                "limit; the data do not say how many are needed."
            )
        return f"{found}. Below this limit the largest gap keeps {kept}."


def share_of(n_features: int) -> int:
    """Return the most of `n_features` correlated features to keep, at least one."""
    return max(1, int(LARGEST_SHARE * n_features))


def feature_limit(X: np.ndarray, path: SparsityPath) -> FeatureLimit:
    """Ask whether the features that the fits of a path drop correlate.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The data of the path.
    path : SparsityPath

    Returns
    -------
    FeatureLimit
    """
    n_features = X.shape[1]
    kept = path.n_selected
    # Where every fit keeps more, the sparsest.
    below = np.where(kept <= share_of(n_features), kept, -kept)
    densest = int(below.argmax())
    correlation = noise_correlation(X, path.labels[densest], path.weights[densest])
    return FeatureLimit(correlation, n_features)
