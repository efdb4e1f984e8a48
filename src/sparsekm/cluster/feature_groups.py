"""Groups of features that are kept or dropped as a whole: sets of probes, levels of a category.

A penalty chooses among groups by their mean score. Under the sum it would choose those that hold
many features. The weight that it gives a group is shared equally by the group's features, so that
the objective is the same sum over features as ever, and these weights are the best for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sparsekm.cluster.matrices.varying_features import VaryingFeatures
from sparsekm.cluster.weight_step import CompiledStep
from sparsekm.metrics import label_codes


class WeighedGroups(
    CompiledStep,
    NamedTuple("WeighedGroups", [("step", Any), ("groups", np.ndarray), ("sizes", np.ndarray)]),
):
    """A weight step over groups: `groups` (n_features,) are numbers, `sizes` (n_groups,) floats."""

    def weigh_into(self, scores, support, values):
        """Weigh the groups by their mean scores, and share each weight within its group."""
        n_groups = self.sizes.shape[0]
        means = np.zeros(n_groups)
        for j in range(scores.shape[0]):
            means[self.groups[j]] += scores[j]
        means /= self.sizes
        chosen = np.empty(n_groups, np.int64)
        weights = np.empty(n_groups)
        shares = np.zeros(n_groups)
        for q in range(self.step.weigh_into(means, chosen, weights)):
            shares[chosen[q]] = weights[q] / self.sizes[chosen[q]]
        kept = 0
        for j in range(scores.shape[0]):
            share = shares[self.groups[j]]
            if share > 0.0:
                support[kept] = j
                values[kept] = share
                kept += 1
        return kept

    def denser(self, n_features):
        """Return the same groups at sparsities that let more of them in."""
        return [self._replace(step=step) for step in self.step.denser(len(self.sizes))]


@dataclass(frozen=True)
class FeatureGroups:
    """The groups of the features that vary."""

    groups: np.ndarray  # (n_varying,), int64: from 0, by first appearance
    counts: tuple[int, int]  # numbers of all groups, and of those without a feature that varies

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

    def weigh_groups(self, step: CompiledStep) -> WeighedGroups:
        """Return the weight step that chooses groups as `step` chooses features."""
        return WeighedGroups(step, self.groups, np.bincount(self.groups).astype(np.float64))
