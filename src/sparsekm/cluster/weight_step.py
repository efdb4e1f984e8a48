r"""The weight step: which features count, and how much, given their scores.

It maximises :math:`\sum_j w_j a_j` over the weights that its penalty allows. No other module knows
a penalty by name: a new penalty is a class in this module and an entry in `PENALTIES`.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload_method
from numpy.typing import ArrayLike

from sparsekm.cluster.matrices.varying_features import VaryingFeatures
from sparsekm.cluster.validation import check_choice, check_numbers
from sparsekm.metrics import label_codes
from sparsekm.runtime.compiled import compiled

# Scores this close, relative to the largest, are a tie for the soft threshold, because their
# differences, and a threshold between them, would be rounding.
TIE = 1e-9
ROUNDING = 1e-12
# A search that ends at few features continues at this many times more features, repeatedly.
STRIDE = 3
# The sparsest value of the l1 grid, about two features, as in Witten & Tibshirani.
SPARSEST_L1 = 1.2


@compiled
def _find_ranked(values, rank):
    """Return the value that has `rank` in ascending order; values are reordered.

    This is Hoare's selection. NumPy's own takes seconds to compile.
    """
    first, last = 0, values.shape[0] - 1
    while first < last:
        pivot = values[(first + last) >> 1]
        low, high = first, last
        while low <= high:
            while values[low] < pivot:
                low += 1
            while pivot < values[high]:
                high -= 1
            if low <= high:
                values[low], values[high] = values[high], values[low]
                low += 1
                high -= 1
        if rank <= high:
            last = high
        elif rank >= low:
            first = low
        else:
            break
    return values[rank]


class WeightStep:
    """A penalty as the alternation uses it: a named tuple of its parameters.

    Numba types it by its class, so each kernel is compiled once per penalty. A subclass writes
    `choose` in the Python that Numba compiles and, for `PENALTIES`, also `check`, for a user's
    value, and `grid_range`, for the default grid.
    """

    # Whether a sparsity is a whole number of features.
    counts_features: ClassVar[bool] = False

    @staticmethod
    def bound_of(count: int) -> float:
        """Return the sparsity that this number of features with equal weights meets."""
        return float(count)

    @classmethod
    def bound_for(cls, scores: np.ndarray, count: int) -> float:
        """Return the sparsity at which the `count` features with the largest scores have weight."""
        return cls.bound_of(count)

    def choose(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the kept features (int64), ascending, and their weights."""
        raise NotImplementedError

    def keeps_all(self, n_features: int) -> bool:
        """Return whether every weight is 1 for any scores."""
        return False

    def denser(self, n_features: int) -> list[WeightStep]:
        """Return the same penalty at looser sparsities, which help the search at this one."""
        return []

    @property
    def n_equal(self) -> int:
        """The number of features with equal weights that the bound allows."""
        return int(self.bound)

    def leading(self, scores: np.ndarray) -> np.ndarray:
        """Return the features with the largest scores, ascending: `STRIDE` times `n_equal`."""
        return np.flatnonzero(TopFeatures(STRIDE * self.n_equal).weigh(scores))

    def among(self, features: np.ndarray) -> WeightStep:
        """Return the same penalty for some of the features."""
        return self

    def weigh(self, scores: np.ndarray) -> np.ndarray:
        """Return the best weights, shape (n_features,), for the scores a_j >= 0."""
        scores = np.ascontiguousarray(scores, dtype=np.float64)
        weights = np.zeros_like(scores)
        kept, values = _choose(self, scores)
        weights[kept] = values
        return weights


@overload_method(types.BaseNamedTuple, "choose")
def _find_method(self, scores):
    return self.instance_class.choose


@compiled
def _choose(step, scores):
    return step.choose(scores)


class TopFeatures(WeightStep, NamedTuple("TopFeatures", [("bound", float)])):
    """Keep the `bound` features of largest score: l-infinity norm <= 1, l0 norm <= bound.

    Theorem 2 of the paper (hard thresholding): floor(bound) weights are one, the others zero. Ties
    go to the lowest index.
    """

    counts_features = True

    def __new__(cls, bound):
        """Hold a float in every case, so that kernels are compiled once."""
        return super().__new__(cls, float(bound))

    @staticmethod
    def check(sparsity, n_features, n_constant=0):
        """Return a number of features: None is all that vary, and below 1 is a share of them."""
        n_varying = n_features - n_constant
        if sparsity is None:
            return n_varying
        if 0 < sparsity < 1:
            return max(1, int(sparsity * n_varying + 0.5))
        if sparsity < 1:
            raise ValueError(
                f"sparsity={sparsity} should be >= 1, or a share of the features in (0, 1)."
            )
        if sparsity > n_features:
            raise ValueError(f"sparsity={sparsity} should be <= n_features={n_features}.")
        return int(sparsity)

    @staticmethod
    def grid_range(n_features):
        """From about sqrt(n_features) / 2 features to all of them."""
        return max(1.0, np.sqrt(n_features) / 2), n_features

    def choose(self, scores):
        """Keep the features with the largest scores."""
        size = min(int(self.bound), len(scores))
        threshold = _find_ranked(scores.copy(), len(scores) - size)
        kept = scores > threshold
        kept[np.flatnonzero(scores == threshold)[: size - kept.sum()]] = True
        return np.flatnonzero(kept), np.ones(size)

    def keeps_all(self, n_features):
        """Return whether there is room for every feature."""
        return self.bound >= n_features

    def denser(self, n_features):
        """Return multiples of the number of features."""
        return [TopFeatures(bound) for bound in _multiples(self.bound, STRIDE, n_features)]


class SoftThreshold(WeightStep, NamedTuple("SoftThreshold", [("bound", float)])):
    r"""Unit l2 norm and l1 norm at most `bound`: the scores, soft-thresholded and scaled.

    Between two neighbouring scores the m largest are active, with mean :math:`\bar a` and sum of
    squared deviations V. The l1 norm equals the bound at the threshold
    :math:`\bar a - s \sqrt{V / (m (m - s^2))}`; because the scores bracket it, the root is exact.
    If m features tie for the largest score and s < sqrt(m), there is no root. Then the first
    floor(s^2) of them get equal weights, so that both norms hold.
    """

    @staticmethod
    def check(sparsity, n_features, n_constant=0):
        """Return a bound: None is the root of the number of features that vary."""
        if sparsity is None:
            return float(np.sqrt(n_features - n_constant))
        if sparsity < 1:
            raise ValueError(
                f"sparsity={sparsity} should be >= 1, because weights of unit l2 norm have an l1 "
                "norm of at least 1."
            )
        return float(sparsity)

    @staticmethod
    def grid_range(n_features):
        """From a bound of 1.2 to sqrt(n_features), where the bound stops binding."""
        densest = np.sqrt(n_features)
        return min(SPARSEST_L1, densest), densest

    @staticmethod
    def bound_of(count):
        """Return the l1 norm of equal weights of unit l2 norm."""
        return float(np.sqrt(count))

    @property
    def n_equal(self):
        """The square of the bound; the bound may be a rounded root."""
        return int(self.bound**2 * (1.0 + ROUNDING))

    @classmethod
    def bound_for(cls, scores, count):
        """Return the bound whose threshold is the largest dropped score."""
        ordered = np.sort(scores)[::-1]
        excess = ordered[:count] - (ordered[count] if count < len(ordered) else 0.0)
        norm = np.linalg.norm(excess)
        return float(excess.sum() / norm) if norm > 0 else cls.bound_of(count)

    def choose(self, scores):
        """Keep the scores above the threshold, or share equally among some that tie."""
        bound, largest = self.bound, scores.max()
        # Scores are scaled so that no square can underflow or overflow. If all are 0, all tie.
        relative = scores / largest if largest > 0.0 else np.ones_like(scores)
        tied = np.flatnonzero(relative >= 1.0 - TIE)
        # A bound of sqrt(m) must mean m features, although its square may be rounded to less than
        # m.
        square = bound * bound * (1.0 + ROUNDING)
        if square < len(tied) or largest <= 0.0:
            size = min(int(square), len(tied))
            return tied[:size], np.full(size, 1.0 / np.sqrt(size))
        threshold = _find_threshold(np.sort(relative), bound)
        kept = np.flatnonzero(relative > threshold)
        excess = relative[kept] - threshold
        return kept, excess / np.sqrt((excess * excess).sum())

    def denser(self, n_features):
        """Return multiples of the bound; the number of equal weights grows with its square."""
        largest = n_features**0.5
        return [SoftThreshold(bound) for bound in _multiples(self.bound, STRIDE**0.5, largest)]


def _multiples(bound, factor, largest) -> list[float]:
    """Return `bound` times the powers of `factor` below `largest`."""
    multiples = []
    while bound * factor < largest:
        bound *= factor
        multiples.append(bound)
    return multiples


class WeighedGroups(
    WeightStep,
    NamedTuple("WeighedGroups", [("step", Any), ("groups", np.ndarray), ("sizes", np.ndarray)]),
):
    """Choose groups of features, such as the levels of a category, by their mean scores.

    If their sums were compared, groups with many features would be chosen. The weight of a group is
    shared equally by its features: the objective stays a sum over features, and these weights are
    the best for it. `groups` (n_features,) are numbers, `sizes` (n_groups,) floats.
    """

    def choose(self, scores):
        """Weigh the groups by their mean scores, and share each weight within its group."""
        means = np.bincount(self.groups, scores, len(self.sizes)) / self.sizes
        chosen, weights = self.step.choose(means)
        shares = np.zeros(len(self.sizes))
        shares[chosen] = weights / self.sizes[chosen]
        of_each = shares[self.groups]
        kept = np.flatnonzero(of_each > 0.0)
        return kept, of_each[kept]

    def denser(self, n_features):
        """Return the same groups at sparsities that allow more of them."""
        return [self._replace(step=step) for step in self.step.denser(len(self.sizes))]

    def leading(self, scores):
        """Return the features of the groups with the largest mean scores."""
        means = np.bincount(self.groups, scores) / self.sizes
        chosen = np.zeros(len(means), np.bool_)
        chosen[self.step.leading(means)] = True
        return np.flatnonzero(chosen[self.groups])

    def among(self, features):
        """Return the same groups; features of groups that are left out have no score."""
        return self._replace(groups=self.groups[features])


@dataclass(frozen=True)
class FeatureGroups:
    """The groups of the features that vary."""

    groups: np.ndarray  # (n_varying,), int64: from 0, by first appearance
    # Numbers of all groups, and of those without a feature that varies.
    counts: tuple[int, int]

    @classmethod
    def of_labels(cls, labels: ArrayLike, features: VaryingFeatures) -> FeatureGroups:
        """Turn the labels that a user gives, one per feature, into numbers."""
        if np.shape(labels) != (features.n_features,):
            raise ValueError(
                f"feature_groups: shape={np.shape(labels)} should be "
                f"(n_features,)=({features.n_features},)."
            )
        codes = label_codes(labels, "feature_groups")
        groups = label_codes(codes[features.varies], "feature_groups")
        n_groups = int(codes.max()) + 1
        return cls(groups, (n_groups, n_groups - int(groups.max()) - 1))


PENALTIES: dict[str, type[Any]] = {"l0": TopFeatures, "l1": SoftThreshold}


def make_step(penalty: str, bound: float, groups: np.ndarray | None = None) -> WeightStep:
    """Return the weight step of a penalty that chooses features, or groups by their numbers."""
    step = PENALTIES[penalty](bound)
    if groups is None:
        return step
    return WeighedGroups(step, groups, np.bincount(groups).astype(np.float64))


def group_means(values: np.ndarray, groups: np.ndarray | None) -> np.ndarray:
    """Average the values of the features of each group; without groups, return them."""
    return values if groups is None else np.bincount(groups, values) / np.bincount(groups)


def check_sparsity(penalty: str, sparsity, n_features: int, n_constant: int = 0) -> int | float:
    """Return the value of a user's sparsity, None or a finite number, under a penalty."""
    step: Any = PENALTIES[check_choice("penalty", penalty, PENALTIES)]
    if sparsity is not None:
        if isinstance(sparsity, bool) or not isinstance(sparsity, Real):
            raise TypeError(f"sparsity={sparsity!r} should be None or a number.")
        if not np.isfinite(sparsity):
            raise ValueError(f"sparsity={sparsity} should be finite.")
        if step.counts_features and not isinstance(sparsity, Integral) and sparsity == 1:
            raise ValueError(
                f"sparsity={sparsity!r} is ambiguous: write 1 to keep one feature, None to keep "
                "all."
            )
    return step.check(sparsity, n_features, n_constant)


def resolve_sparsities(penalty: str, sparsities, n_features, n_constant=0) -> np.ndarray:
    """Return the values of a path's sparsities, in their order; here 1.0 is one feature."""
    step = PENALTIES[check_choice("penalty", penalty, PENALTIES)]
    values = check_numbers("sparsities", sparsities)
    return np.array([step.check(value, n_features, n_constant) for value in values])


@compiled
def _find_threshold(ordered, bound):
    """Return the threshold at which the l1 norm meets the bound, or 0; `ordered` is ascending."""
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
