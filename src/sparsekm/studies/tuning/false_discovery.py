r"""How many features can be kept before control features are kept too.

The path is fitted to the data together with as many control columns, a reference without clusters
made from the data. A control that is kept is certainly a false discovery. Since there are as many
controls as features, about as many irrelevant features are kept as controls:

.. math:: \widehat{\mathrm{FDR}}(s) = \min\left(1, \frac{1 + \text{controls kept}}
   {\max(1, \text{features kept})}\right) ,

as in knockoff+ (Barber & Candès 2015, doi:10.1214/15-AOS1337). Its guarantee requires that each
control is exchangeable with its feature. Permuted columns are, if the features are independent of
each other. Columns drawn from a Gaussian are not in general, since they are not correlated with the
data; for them the estimate is a guide, not a bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from sparsekm.tuning.references import REFERENCES, reference_seed

# The accepted share of false discoveries. Because of the 1 in the estimate, at least ten features
# must be kept at this level, however clear they are.
LEVEL = 0.1


@dataclass(frozen=True)
class Discoveries:
    """How many features and how many controls the fits of a path keep."""

    originals: np.ndarray  # (n_sparsities,), int64: features kept
    controls: np.ndarray  # (n_sparsities,), int64: controls kept

    @classmethod
    def count(cls, weights: np.ndarray) -> Discoveries:
        """Count the kept columns in the first and in the second half of the weights' columns."""
        kept = np.asarray(weights) > 0
        n_features = kept.shape[1] // 2
        return cls(kept[:, :n_features].sum(axis=1), kept[:, n_features:].sum(axis=1))

    @property
    def false_share(self) -> np.ndarray:
        """Estimated share of false discoveries among the features kept, (n_sparsities,)."""
        return np.minimum(1.0, (1 + self.controls) / np.maximum(1, self.originals))


def fit_beside_controls(
    estimator, X: np.ndarray, sparsities: np.ndarray, *, reference: str, seed: int
) -> Discoveries:
    """Fit the path to the data together with their controls, made by `reference`.

    The sparsities apply to all 2 * n_features columns. The estimator's own `random_state` is not
    used.
    """
    both = np.hstack([X, REFERENCES[reference](X, index=0, seed=seed)])
    fitted = clone(estimator).set_params(random_state=reference_seed(seed, 0))
    return Discoveries.count(fitted.path(both, sparsities).weights)


def select_discoveries(
    discoveries: Discoveries, n_selected: np.ndarray, level: float = LEVEL
) -> int:
    """Choose a row of the path on the data alone, whose fits keep `n_selected` features, ascending.

    Take the densest fit with controls whose estimated share of false discoveries is at most
    `level`, and count its features: the row is the densest that keeps no more features. It is the
    first row if there is none, or if no fit reaches `level`.
    """
    passing = np.flatnonzero(discoveries.false_share <= level)
    if len(passing) == 0:
        return 0
    most = discoveries.originals[passing[-1]]
    return max(0, int(np.searchsorted(n_selected, most, side="right")) - 1)
