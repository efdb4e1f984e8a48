"""The most features to keep if features are correlated within clusters.

Permuting columns destroys correlations that real features have even without clusters. The gap of
correlated data therefore tends to rise up to all features, and does not show how many to keep. In
that case at most a quarter of them may be kept, and the gap chooses below this limit. Whether
features are correlated is tested on those that the densest fit below the limit drops.
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
