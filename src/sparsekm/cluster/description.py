"""What is known of the samples and features of a data set besides its values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

OF_SAMPLES = ("labels", "groups", "batch", "weights", "positions")


@dataclass(frozen=True)
class Description:
    """The samples and features of a data set; None stands for what is not known."""

    samples: Sequence[str] | None = None  # names
    labels: np.ndarray | None = None  # (n,): classes, as `sparsekm.io.known_classes` describes them
    # (n,), object arrays of str, or numbers. Samples of a group, such as a donor's, resemble each
    # other; those of a batch were measured together.
    groups: np.ndarray | None = None
    batch: np.ndarray | None = None
    weights: np.ndarray | None = None  # (n,), float64: how much each sample counts
    positions: np.ndarray | None = None  # (n, d), float64: where the samples are in space
    # What else the user knows of the samples, each (n,): numbers or objects, NaN or None unknown.
    annotations: Mapping[str, np.ndarray] = field(default_factory=dict)
    features: Sequence | np.ndarray | None = None  # names
    feature_groups: np.ndarray | None = None  # (p,): names or numbers

    def take(self, samples: np.ndarray | slice) -> Description:
        """Describe some of the samples, by index."""

        def some(of: Any) -> Any:
            is_array = isinstance(of, np.ndarray)
            return of[samples] if is_array else np.array(of, dtype=object)[samples].tolist()

        known = {name: getattr(self, name) for name in ("samples", *OF_SAMPLES)}
        return replace(
            self,
            **{name: some(of) for name, of in known.items() if of is not None},
            annotations={name: some(of) for name, of in self.annotations.items()},
        )

    def select(self, features: np.ndarray) -> Description:
        """Describe some of the features, given by a mask."""
        places = np.flatnonzero(features)
        groups, names = self.feature_groups, self.features
        return replace(
            self,
            features=None if names is None else [names[at] for at in places],
            feature_groups=None if groups is None else groups[places],
        )

    @cached_property
    def unit_numbers(self) -> np.ndarray | None:
        """The number of each feature's group, (p,), by first appearance; None without groups."""
        if self.feature_groups is None:
            return None
        # Not at the top: a job that reads a table needs no scikit-learn, which takes 70 MB.
        from sparsekm.metrics import label_codes

        numbers = label_codes(self.feature_groups, "feature_groups")
        return numbers if numbers.max() + 1 < len(numbers) else None
