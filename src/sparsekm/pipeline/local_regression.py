"""Local quadratic regression (loess) of one variable on another.

Cleveland (1979, doi:10.1080/01621459.1979.10481038): weighted least squares on the nearest points.
"""

from __future__ import annotations

import numpy as np

from sparsekm.runtime.compiled import compiled

SPAN = 0.3


def local_quadratic(x: np.ndarray, y: np.ndarray, span: float = SPAN) -> np.ndarray:
    """Fit a quadratic to the nearest points of every point (n_points,), with tricube weights.

    `span` is the share of the points that count as near.
    """
    order = np.argsort(x, kind="stable")
    n_near = min(len(x), max(3, int(span * len(x) + 1e-5)))
    fitted = np.empty(len(x))
    fitted[order] = _fit_sorted(x[order], y[order], n_near)
    return fitted


@compiled
def _fit_sorted(x, y, n_near):
    n = len(x)
    fitted = np.empty(n)
    first = 0
    for i in range(n):
        if i > 0 and x[i] == x[i - 1]:
            fitted[i] = fitted[i - 1]
            continue
        while first + n_near < n and x[first + n_near] - x[i] < x[i] - x[first]:
            first += 1
        begin, end = first, first + n_near
        reach = max(x[i] - x[begin], x[end - 1] - x[i])
        if reach == 0.0:
            # More points are in this place than count as near: all of them do.
            begin, end = np.searchsorted(x, x[i]), np.searchsorted(x, x[i], side="right")
        fitted[i] = _fit_at(x, y, x[i], begin, end, reach)
    return fitted


@compiled
def _fit_at(x, y, place, first, last, reach):
    products = np.zeros((3, 3))
    targets = np.zeros(3)
    terms = np.ones(3)
    for q in range(first, last):
        t = (x[q] - place) / reach if reach > 0 else 0.0
        weight = (1.0 - min(abs(t), 1.0) ** 3) ** 3
        terms[1] = t
        terms[2] = t * t
        for a in range(3):
            targets[a] += weight * terms[a] * y[q]
            for b in range(3):
                products[a, b] += weight * terms[a] * terms[b]
    # Of fewer than three distinct places the flattest quadratic.
    return np.linalg.lstsq(products, targets, 1e-12)[0][0]
