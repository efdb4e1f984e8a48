"""What is known about the samples and features of a data set besides its values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

OF_SAMPLES = ("labels", "groups", "batch", "weights", "positions")
OF_FEATURES = ("feature_groups", "relevant")


@dataclass(frozen=True)
class Description:
    """The samples and features of a data set; a field is None if nothing is known."""

    samples: Sequence[str] | None = None  # names
    # (n,): classes, as `sparsekm.io.known_classes` describes them.
    labels: np.ndarray | None = None
    # (n,), object arrays of str, or numbers. The samples of a group, such as a donor, resemble each
    # other; the samples of a batch were measured together.
    groups: np.ndarray | None = None
    batch: np.ndarray | None = None
    weights: np.ndarray | None = None  # (n,), float64: how much each sample counts
    # (n, d), float64: where the samples are in space.
    positions: np.ndarray | None = None
    # Further annotation of the samples, each (n,): numbers or objects; NaN or None if unknown.
    annotations: Mapping[str, np.ndarray] = field(default_factory=dict)
    features: Sequence | np.ndarray | None = None  # names
    feature_groups: np.ndarray | None = None  # (p,): names or numbers
    relevant: np.ndarray | None = None  # (p,), bool: the planted truth of a simulation

    def take(self, samples: np.ndarray | slice) -> Description:
        """Describe some of the samples, by index."""
        annotations = {name: of[samples] for name, of in self.annotations.items()}
        return replace(self._choose(("samples", *OF_SAMPLES), samples), annotations=annotations)

    def select(self, features: np.ndarray) -> Description:
        """Describe some of the features, by index or by a mask."""
        places = features.nonzero()[0] if features.dtype == bool else features
        return self._choose(("features", *OF_FEATURES), places)

    def _choose(self, names: Iterable[str], places: np.ndarray | slice) -> Description:
        # Not imported at the top, because a workflow can be planned without NumPy.
        import numpy as np

        known: dict[str, Any] = {}
        for name in names:
            of = getattr(self, name)
            if isinstance(of, np.ndarray):
                known[name] = of[places]
            elif of is not None:
                known[name] = np.array(of, dtype=object)[places].tolist()
        return replace(self, **known)

    @cached_property
    def unit_numbers(self) -> np.ndarray | None:
        """The number of each feature's group, (p,), by first appearance; None without groups."""
        if self.feature_groups is None:
            return None
        # Not imported at the top: scikit-learn takes 70 MB, and a job that reads a table does not
        # need it.
        from sparsekm.metrics import label_codes

        numbers = label_codes(self.feature_groups, "feature_groups")
        return numbers if numbers.max() + 1 < len(numbers) else None
