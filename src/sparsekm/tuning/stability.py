r"""The stability curve: how far partitions and selected features come again under resampling.

The stability of the selected sets is Nogueira, Sechidis & Brown's (2018, JMLR 18(174)): with
:math:`\hat p_f` the share of the M fits that keep feature f of d, and :math:`\bar k` the mean
number kept,

.. math:: \Phi = 1 - \frac{\frac1d \sum_f \frac{M}{M - 1} \hat p_f (1 - \hat p_f)}
   {\frac{\bar k}{d} \left(1 - \frac{\bar k}{d}\right)} ,

1 where all fits keep the same, 0 in expectation where they keep features at random.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from sparsekm.cluster.sparsity_path import SparsityPath
from sparsekm.cluster.validation import check_choice

STABILITY_RULES = ["max", "sparse-end", "same"]


def selection_stability(selections: np.ndarray, n_fits: int) -> np.ndarray:
    """Compute Nogueira's index of how alike the selected sets are.

    Parameters
    ----------
    selections : ndarray of shape (n_sparsities, n_features)
        How many fits keep a feature.
    n_fits : int
        At least 2.

    Returns
    -------
    ndarray of shape (n_sparsities,)
        1 also where every fit keeps everything or nothing: there is nothing to disagree on.
    """
    shares = np.asarray(selections) / n_fits
    mean_share = shares.mean(axis=1)
    spread = n_fits / (n_fits - 1) * (shares * (1 - shares)).mean(axis=1)
    chance = mean_share * (1 - mean_share)
    return 1 - np.divide(spread, chance, out=np.zeros_like(spread), where=chance > 0)


def stability_curve(
    path: SparsityPath, agreements: np.ndarray, selections: np.ndarray, n_fits: int
) -> pd.DataFrame:
    """Average the resamplings of a path.

    Parameters
    ----------
    path : SparsityPath
        Ascending in sparsity.
    agreements : ndarray of shape (n_splits, n_sparsities)
        Of at least two resamplings.
    selections : ndarray of shape (n_sparsities, n_features)
        How many of the fits to parts of the samples keep a feature.
    n_fits : int
        Number of these fits, at least 2.

    Returns
    -------
    pandas.DataFrame
        sparsity, n_selected, objective, stability (mean adjusted Rand index), stability_sd (of one
        resampling, ddof = 1), se = sd / sqrt(n_splits), selection_stability, likeness (adjusted
        Rand index of the partition with the most stable one).
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
    """Choose a row of a stability curve.

    Parameters
    ----------
    curve : pandas.DataFrame
        As `stability_curve` returns it.
    rule : {"max", "sparse-end", "same"}
        "max" takes the most stable partition, the sparsest among equals. "sparse-end" goes from
        there to sparser ones for as long as they are within one standard error of it. "same" takes
        the sparsest that differs from it no more than it differs, on average, from itself when
        samples are left out.

    Returns
    -------
    int
        Position of the row.
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
