r"""The weight step: which features count, and how much, given their scores.

A weight step maximises :math:`\sum_j w_j a_j` over the weights its penalty allows. Nothing above it
knows a penalty by name: the alternation asks for `weigh`, and the compiled search calls
`weigh_into` of the same object. A new penalty is one more class in this module, with its entry in
`PENALTIES`.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numba import types
from numba.extending import overload_method

from sparsekm.cluster.validation import (
    check_l0_sparsity,
    check_l1_sparsity,
    check_numbers,
    check_unambiguous,
)
from sparsekm.runtime.compiled import compiled

# Scores this close, relative to the largest, are a tie for the soft threshold: their differences
# are rounding, and a threshold among them would be one too.
TIE = 1e-9
ROUNDING = 1e-12
# A search that ends at few features goes on at so many times as many, and so on.
STRIDE = 3
# The sparsest value of the l1 grid: about two features' worth of weight (as in Witten &
# Tibshirani's own choice, doi:10.1198/jasa.2010.tm09415).
SPARSEST_L1 = 1.2


class WeightStep(Protocol):
    """What the alternation asks of a penalty."""

    def weigh(self, scores: np.ndarray) -> np.ndarray:
        """Return the best weights, shape (n_features,), for the scores a_j >= 0."""
        ...


class CompiledStep:
    """A weight step that compiled searches can call, too: a named tuple of its parameters.

    Numba types a named tuple by its class, so each kernel is compiled once per penalty. A subclass
    writes `weigh_into` in the Python that Numba compiles, and what else depends on the penalty.
    """

    # Whether a sparsity is a whole number of features.
    counts_features: ClassVar[bool] = False

    @staticmethod
    def check(sparsity: object, n_features: int, n_constant: int = 0) -> int | float:
        """Return what a user's sparsity stands for."""
        raise NotImplementedError

    @staticmethod
    def grid_range(n_features: int) -> tuple[float, float]:
        """Return the sparsest and the densest value of a default grid."""
        raise NotImplementedError

    @staticmethod
    def bound_of(count: int) -> float:
        """Return the sparsity that so many features of equal weight meet."""
        return float(count)

    @classmethod
    def bound_for(cls, scores: np.ndarray, count: int) -> float:
        """Return the sparsity at which the `count` features of largest score have weight."""
        return cls.bound_of(count)

    def weigh_into(self, scores: np.ndarray, support: np.ndarray, values: np.ndarray) -> int:
        """Write the kept features, ascending, and their weights; return how many there are.

        `support` (int64) and `values` (float64) have room for all features.
        """
        raise NotImplementedError

    def keeps_all(self, n_features: int) -> bool:
        """Return whether every weight is one, whatever the scores."""
        return False

    def denser(self, n_features: int) -> list[CompiledStep]:
        """Return the same penalty at sparsities that let more and more features in.

        The search for one sparsity finds better partitions along with these.
        """
        return []

    def weigh(self, scores: np.ndarray) -> np.ndarray:
        """Return the best weights, shape (n_features,), for the scores a_j >= 0."""
        scores = np.ascontiguousarray(scores, dtype=np.float64)
        weights = np.zeros_like(scores)
        support = np.empty(scores.shape[0], np.int64)
        values = np.empty(scores.shape[0])
        size = _weigh_into(self, scores, support, values)
        weights[support[:size]] = values[:size]
        return weights


@overload_method(types.BaseNamedTuple, "weigh_into")
def _find_method(self, scores, support, values):
    return self.instance_class.weigh_into


@compiled
def _weigh_into(step, scores, support, values):
    return step.weigh_into(scores, support, values)


class TopFeatures(CompiledStep, NamedTuple("TopFeatures", [("bound", float)])):
    """Keep the `bound` features of largest score: l-infinity norm <= 1, l0 norm <= bound.

    Theorem 2 of the paper (hard thresholding): floor(bound) weights are one, the others zero. Ties
    go to the lowest index.
    """

    counts_features = True
    check = staticmethod(check_l0_sparsity)

    @staticmethod
    def grid_range(n_features):
        """From about sqrt(n_features) / 2 features to all of them."""
        return max(1.0, np.sqrt(n_features) / 2), n_features

    def weigh_into(self, scores, support, values):
        """Keep the largest."""
        size = int(self.bound)
        if size < scores.shape[0]:
            return _keep_top(scores, size, support, values)
        return _keep_all(support, values)

    def keeps_all(self, n_features):
        """Return whether there is room for every feature."""
        return self.bound >= n_features

    def denser(self, n_features):
        """Return multiples of the number of features."""
        return [TopFeatures(bound) for bound in _multiples(self.bound, STRIDE, n_features)]


class SoftThreshold(CompiledStep, NamedTuple("SoftThreshold", [("bound", float)])):
    r"""Unit l2 norm and l1 norm at most `bound`: the scores, soft-thresholded and scaled.

    The threshold :math:`\Delta` makes the l1 norm equal the bound. Between two neighbouring scores
    the m largest are active, with mean :math:`\bar a` and sum of squared deviations V, and the
    bound holds with equality at :math:`\Delta = \bar a - s \sqrt{V / (m (m - s^2))}`: the root is
    bracketed by the scores and then exact, whatever the scale of the data.

    When m features tie at the top and s < sqrt(m) there is no root. The answer then is equal
    weights on the first floor(s^2) of them, so that both norms hold.
    """

    check = staticmethod(check_l1_sparsity)

    @staticmethod
    def grid_range(n_features):
        """From a bound of 1.2 to sqrt(n_features), where the bound stops binding."""
        densest = np.sqrt(n_features)
        return min(SPARSEST_L1, densest), densest

    @staticmethod
    def bound_of(count):
        """Return the l1 norm of equal weights of unit l2 norm."""
        return float(np.sqrt(count))

    @classmethod
    def bound_for(cls, scores, count):
        """Return the bound whose threshold is the first score dropped."""
        ordered = np.sort(scores)[::-1]
        excess = ordered[:count] - (ordered[count] if count < len(ordered) else 0.0)
        norm = np.linalg.norm(excess)
        return float(excess.sum() / norm) if norm > 0 else cls.bound_of(count)

    def weigh_into(self, scores, support, values):
        """Keep the scores above the threshold."""
        return _soft_threshold(scores, self.bound, support, values)

    def denser(self, n_features):
        """Return multiples of the bound; that many features of equal weight grow by its square."""
        largest = n_features**0.5
        return [SoftThreshold(bound) for bound in _multiples(self.bound, STRIDE**0.5, largest)]


def _multiples(bound, factor, largest) -> list[float]:
    """Return `bound` times the powers of `factor` below `largest`."""
    multiples = []
    while bound * factor < largest:
        bound *= factor
        multiples.append(bound)
    return multiples


PENALTIES: dict[str, type[Any]] = {"l0": TopFeatures, "l1": SoftThreshold}


def check_sparsity(
    penalty: str, sparsity: object, n_features: int, n_constant: int = 0
) -> int | float:
    """Return what a user's sparsity stands for under a penalty."""
    if PENALTIES[penalty].counts_features:
        check_unambiguous(sparsity)
    return PENALTIES[penalty].check(sparsity, n_features, n_constant)


def resolve_sparsities(
    penalty: str, sparsities: object, n_features: int, n_constant: int = 0
) -> np.ndarray:
    """Return a path's sparsities as what they stand for, in their order.

    Here every value from 1 up is a count of features: 1.0 is one. For "l0" they are the numbers of
    features to keep, int64; for "l1" the bounds, float64.
    """
    values = check_numbers("sparsities", sparsities)
    return np.array([PENALTIES[penalty].check(value, n_features, n_constant) for value in values])


@compiled
def _keep_all(support, values):
    for j in range(support.shape[0]):
        support[j] = j
        values[j] = 1.0
    return support.shape[0]


@compiled
def _keep_top(scores, size, support, values):
    p = scores.shape[0]
    threshold = np.partition(scores, p - size)[p - size]
    above = 0
    for j in range(p):
        if scores[j] > threshold:
            above += 1
    ties = size - above
    kept = 0
    for j in range(p):
        keep = scores[j] > threshold
        if not keep and ties > 0 and scores[j] == threshold:
            keep = True
            ties -= 1
        if keep:
            support[kept] = j
            values[kept] = 1.0
            kept += 1
    return kept


@compiled
def _soft_threshold(scores, bound, support, values):
    p = scores.shape[0]
    largest = scores.max()
    # Relative to the largest, no square can under- or overflow; no score at all is a tie of all.
    relative = scores / largest if largest > 0.0 else np.ones(p)
    ties = 0
    for j in range(p):
        if relative[j] >= 1.0 - TIE:
            ties += 1
    # A bound given as sqrt(m) must mean m although its square may round below m.
    square = bound * bound * (1.0 + ROUNDING)
    if square < ties or largest <= 0.0:
        return _share_equally(relative, min(int(square), ties), support, values)
    threshold = _find_threshold(np.sort(relative), bound)
    kept = 0
    norm = 0.0
    for j in range(p):
        if relative[j] > threshold:
            support[kept] = j
            values[kept] = relative[j] - threshold
            norm += values[kept] * values[kept]
            kept += 1
    for q in range(kept):
        values[q] /= np.sqrt(norm)
    return kept


@compiled
def _share_equally(relative, size, support, values):
    kept = 0
    for j in range(relative.shape[0]):
        if relative[j] >= 1.0 - TIE and kept < size:
            support[kept] = j
            values[kept] = 1.0 / np.sqrt(size)
            kept += 1
    return kept


@compiled
def _find_threshold(ordered, bound):
    """Return the threshold at which the l1 norm meets the bound, or 0; `ordered` ascends."""
    p = ordered.shape[0]
    mean = 0.0
    deviation = 0.0
    for m in range(1, p + 1):
        a = ordered[p - m]
        step = a - mean
        mean += step / m
        deviation += step * (a - mean)
        following = ordered[p - m - 1] if m < p else 0.0
        excess = mean - following
        # At the threshold `following` the l1 norm is m * excess over the l2 norm.
        norm = np.sqrt(m * excess * excess + deviation)
        if excess > 0.0 and m * excess * (1.0 + ROUNDING) >= bound * norm:
            if m > bound * bound * (1.0 + ROUNDING):
                excess = bound * np.sqrt(deviation / (m * (m - bound * bound)))
            return max(mean - excess, following)
        if following == 0.0:
            break
    return 0.0
