r"""The gap curve: how much better the data can be split than data without clusters.

.. math:: \mathrm{gap}(s) = \log O(s) - \frac1B \sum_b \log O^*_b(s) ,

with O(s) the objective on the data and O*_b on reference b (Tibshirani, Walther & Hastie 2001,
doi:10.1111/1467-9868.00293; for sparse k-means Witten & Tibshirani 2010,
doi:10.1198/jasa.2010.tm09415).
"""

from __future__ import annotations

import numpy as np
import pandas as pd


def gap_curve(
    sparsities: np.ndarray,
    n_selected: np.ndarray,
    objectives: np.ndarray,
    reference_objectives: np.ndarray,
) -> pd.DataFrame:
    """Compute the gap at every sparsity.

    All objectives are > 0 and found by the same search: those of the data are
    `SparsityPath.first_objectives`, those of at least two references have the shape (n_references,
    n_sparsities). `n_selected` is the number of features that each fit on the data keeps.

    The table is ascending in sparsity: sparsity, n_selected, objective, log_objective,
    reference_mean and reference_sd (of the log objective, ddof = 1), gap, se = sd * sqrt(1 + 1 /
    B).
    """
    reference_objectives = np.asarray(reference_objectives, dtype=np.float64)
    objectives = np.asarray(objectives, dtype=np.float64)
    if reference_objectives.ndim != 2 or reference_objectives.shape[0] < 2:
        raise ValueError(
            f"reference_objectives of shape {reference_objectives.shape} should have "
            "n_references >= 2 rows: one says nothing about the spread."
        )
    if reference_objectives.shape[1] != len(objectives):
        raise ValueError(
            f"reference_objectives has {reference_objectives.shape[1]} columns; should be "
            f"n_sparsities={len(objectives)}."
        )
    if not (np.all(objectives > 0) and np.all(reference_objectives > 0)):
        raise ValueError(
            "Every objective should be > 0, since the gap takes its logarithm. With one cluster it "
            "is 0: n_clusters should be >= 2."
        )
    log_references = np.log(reference_objectives)
    log_objective = np.log(objectives)
    mean = log_references.mean(axis=0)
    sd = log_references.std(axis=0, ddof=1)
    table = pd.DataFrame(
        {
            "sparsity": np.asarray(sparsities, dtype=np.float64),
            "n_selected": np.asarray(n_selected, dtype=np.int64),
            "objective": objectives,
            "log_objective": log_objective,
            "reference_mean": mean,
            "reference_sd": sd,
            "gap": log_objective - mean,
            "se": sd * np.sqrt(1 + 1 / len(reference_objectives)),
        }
    )
    return table.sort_values("sparsity", kind="stable", ignore_index=True)
