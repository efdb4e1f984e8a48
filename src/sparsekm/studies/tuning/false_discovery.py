r"""How many features can be kept before control features are kept too.

The data are put beside as many control columns, a reference without clusters made of the data
themselves, and the path is fitted to both at once. A control that is kept is a false discovery for
sure, and there are as many controls as features, so among the features that do not matter about as
many are kept:

.. math:: \widehat{\mathrm{FDR}}(s) = \min\left(1, \frac{1 + \text{controls kept}}
   {\max(1, \text{features kept})}\right) ,

as knock-offs+ count (Barber & Candès 2015, doi:10.1214/15-AOS1337). Their guarantee needs controls
that could each change places with its feature unnoticed. Permuted columns can do so where features
are independent of each other; a Gaussian's do not in general, nor are they correlated with the data
beside them, so for them the estimate is a guide and no bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from sparsekm.tuning.references import REFERENCES, reference_seed

# The share of false discoveries that is put up with. With the 1 in the estimate no fewer than ten
# features can be kept at this level, however clear they are.
LEVEL = 0.1


@dataclass(frozen=True)
class Discoveries:
    """What the fits of a path keep of features and of controls."""

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
    """Fit the path to the data beside their controls, made by `reference`.

    As many of the 2 * n_features columns are kept as else of the features alone. The `random_state`
    of the estimator itself is not used.
    """
    both = np.hstack([X, REFERENCES[reference](X, index=0, seed=seed)])
    fitted = clone(estimator).set_params(random_state=reference_seed(seed, 0))
    return Discoveries.count(fitted.path(both, sparsities).weights)


def select_discoveries(
    discoveries: Discoveries, n_selected: np.ndarray, level: float = LEVEL
) -> int:
    """Choose a row of the path on the data alone, whose fits keep `n_selected` features, ascending.

    Of the densest fit beside controls whose estimated share of false discoveries is no larger than
    `level`, the features kept are counted; the row is the densest that keeps no more of them. It is
    the first where there is none, or where no estimate is so small.
    """
    passing = np.flatnonzero(discoveries.false_share <= level)
    if len(passing) == 0:
        return 0
    most = discoveries.originals[passing[-1]]
    return max(0, int(np.searchsorted(n_selected, most, side="right")) - 1)
