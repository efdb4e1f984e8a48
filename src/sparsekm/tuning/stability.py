r"""The stability curve: how reproducible partitions and selected features are under resampling.

The stability of the selected sets is Nogueira, Sechidis & Brown's (2018, JMLR 18(174)): with
:math:`\hat p_f` the share of the M fits that keep feature f of d, and :math:`\bar k` the mean
number kept,

.. math:: \Phi = 1 - \frac{\frac1d \sum_f \frac{M}{M - 1} \hat p_f (1 - \hat p_f)}
   {\frac{\bar k}{d} \left(1 - \frac{\bar k}{d}\right)} ,

which is 1 if all fits keep the same features, and 0 in expectation if they keep features at random.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from sparsekm.cluster.sparsity_path import SparsityPath
from sparsekm.cluster.validation import check_choice

STABILITY_RULES = ["max", "sparse-end", "same"]


def selection_stability(selections: np.ndarray, n_fits: int) -> np.ndarray:
    """Compute Nogueira's index of the similarity of the selected sets, (n_sparsities,).

    `selections`, of shape (n_sparsities, n_features), counts how many of the `n_fits` fits, at
    least 2, keep each feature. The index is also 1 if every fit keeps everything or nothing.
    """
    shares = np.asarray(selections) / n_fits
    mean_share = shares.mean(axis=1)
    spread = n_fits / (n_fits - 1) * (shares * (1 - shares)).mean(axis=1)
    chance = mean_share * (1 - mean_share)
    return 1 - np.divide(spread, chance, out=np.zeros_like(spread), where=chance > 0)


def stability_curve(
    path: SparsityPath, agreements: np.ndarray, selections: np.ndarray, n_fits: int
) -> pd.DataFrame:
    """Average the resamplings of a path, which is ascending in sparsity.

    `agreements`, of shape (n_splits, n_sparsities), are those of at least two resamplings;
    `selections`, of shape (n_sparsities, n_features), counts how many of the `n_fits` fits to parts
    of the samples keep each feature.

    The columns are sparsity, n_selected, objective, stability (mean adjusted Rand index),
    stability_sd (of one resampling, ddof = 1), se = sd / sqrt(n_splits), selection_stability, and
    likeness (adjusted Rand index with the most stable partition).
    """
    agreements = np.asarray(agreements, dtype=np.float64)
    if agreements.ndim != 2 or len(agreements) < 2:
        raise ValueError(
            f"agreements of shape {agreements.shape} should have n_splits >= 2 rows: one says "
            "nothing about the spread."
        )
    sd = agreements.std(axis=0, ddof=1)
    most_stable = path.labels[agreements.mean(axis=0).argmax()]
    return pd.DataFrame(
        {
            "sparsity": path.sparsities,
            "n_selected": path.n_selected,
            "objective": path.objectives,
            "stability": agreements.mean(axis=0),
            "stability_sd": sd,
            "se": sd / np.sqrt(len(agreements)),
            "selection_stability": selection_stability(selections, n_fits),
            "likeness": [adjusted_rand_score(most_stable, labels) for labels in path.labels],
        }
    )


def select_stable(curve: pd.DataFrame, rule: str = "sparse-end") -> int:
    """Choose a row of a curve of `stability_curve`; return its position.

    "max" takes the most stable partition, the sparsest if several are equal. "sparse-end" goes from
    there to sparser ones while they are within one standard error of it. "same" takes the sparsest
    that differs from it no more than it differs, on average, from itself when samples are left out.
    """
    check_choice("rule", rule, STABILITY_RULES)
    stability = curve["stability"].to_numpy()
    best = int(stability.argmax())
    if rule == "max":
        return best
    if rule == "same":
        return int((curve["likeness"].to_numpy() >= stability[best]).argmax())
    near = stability[: best + 1] >= stability[best] - curve["se"].iloc[best]
    return best - int(near[::-1].argmin() if not near.all() else len(near)) + 1
