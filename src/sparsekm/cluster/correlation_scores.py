r"""Correlation screening: how much each feature shares with others, beyond what chance would.

Features whose means differ between clusters correlate, however weak each of them is alone. Of n
samples of p independent features the largest of all squared correlations is about
:math:`4 \log(p) / n`; smaller ones count as none, and the rest is added up for every feature. This
is the thresholding of a covariance matrix by which sparse principal components are found (Deshpande
& Montanari 2014, arXiv:1311.5179), applied to rank features.
"""

from __future__ import annotations

import numpy as np

from sparsekm.runtime.threads import one_blas_thread, take_turns

# Features whose correlations with as many others are held at a time.
BLOCK = 2048


def correlation_scores(columns: np.ndarray, n_threads: int = 1) -> np.ndarray:
    """Add up the squared correlations of each feature with others that are beyond chance.

    `columns` is (n_features, n_samples), centred. Returns scores of shape (n_features,), 0 for a
    feature without such correlations. They do not depend on `n_threads`.
    """
    n_features, n_samples = columns.shape
    norms = np.linalg.norm(columns, axis=1)
    norms[norms == 0] = np.inf
    z = (columns / norms[:, None]).astype(np.float32)
    least = np.float32(4 * np.log(n_features) / n_samples)
    starts = np.arange(0, n_features, BLOCK)
    # Every block of features adds to its own row, so that sums are in one order.
    sums = np.zeros((len(starts), n_features))

    def add_up(b: int) -> None:
        block = z[starts[b] : starts[b] + BLOCK]
        for start in starts[b:]:
            squares = block @ z[start : start + BLOCK].T
            np.square(squares, out=squares)
            squares[squares < least] = 0
            own = slice(starts[b], starts[b] + BLOCK)
            if start == starts[b]:
                np.fill_diagonal(squares, 0)
            else:
                sums[b, start : start + BLOCK] += squares.sum(axis=0)
            sums[b, own] += squares.sum(axis=1)

    with one_blas_thread:
        take_turns(add_up, len(starts), n_threads)
    return sums.sum(axis=0)
