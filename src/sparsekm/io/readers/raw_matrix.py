"""A matrix as read from its file, before normalisation, and its description."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sparsekm.io.known_classes import UNKNOWN
from sparsekm.io.readers.messages import refusal
from sparsekm.io.row_stream import RowStream
from sparsekm.io.table_description import TableDescription

# Bytes of the largest matrix that is read as a whole, or in blocks of rows; others are refused.
HELD_LIMIT, STREAMED_LIMIT = 16 * 2**30, 2**40
MIN_SAMPLES = 3  # the fewest that can be clustered


@dataclass(frozen=True)
class Settings:
    """How a matrix is to be read; see `sparsekm.io.table_settings`."""

    labels: str | None = None
    layer: str | None = None
    groups: str | None = None
    samples: str | None = None
    ignore: Sequence[str] = ()
    keep: Sequence[str] = ()
    transpose: bool | str = "auto"
    decimal: str = "auto"
    missing_values: Sequence[object] = ()
    duplicates: str | None = None
    annotate: Sequence[str] = ()
    weights: str | None = None
    batch: str | None = None

    @property
    def named(self) -> dict[str, str]:
        """The names of columns that are not measured, by setting."""
        keys = ("labels", "samples", "groups", "weights", "batch")
        others = {f"annotate[{at}]": name for at, name in enumerate(self.annotate)}
        return {key: name for key in keys if (name := getattr(self, key)) is not None} | others


@dataclass
class RawMatrix:
    """A checked matrix of n samples and p features; NaN in X is a missing value."""

    X: RowStream  # the values minus `offset`; sparse if it came so and takes less memory that way
    # (p,), float64: subtracted before rounding to float32, so that a feature such as 1e9 + noise
    # keeps its noise. Zero if the file contains float32, or X is sparse.
    offset: np.ndarray
    features: list[str]
    samples: list[str] | None = None
    labels: np.ndarray | None = None  # as `sparsekm.io.known_classes` describes them
    relevant: np.ndarray | None = None  # (p,), bool: the planted truth of a simulation
    # (n,), object array of str: samples of one group, such as a donor's, resemble each other.
    groups: np.ndarray | None = None
    batch: np.ndarray | None = None  # the same, of what was measured together
    weights: np.ndarray | None = None  # (n,), float64: how much each sample counts
    positions: np.ndarray | None = None  # (n, d), float64: where the samples are in space
    # What else is known of the samples, each (n,): numbers, or objects; NaN or None if unknown.
    annotations: dict[str, np.ndarray] = field(default_factory=dict)
    lines: str | None = None  # what the lines of a table hold: "samples" or "features"
    # For the user, on what was guessed, changed or left out, with the setting that overrides it.
    remarks: list[str] = field(default_factory=list)

    def describe(self, n_dropped: int = 0) -> TableDescription:
        """Describe the matrix, of which so many constant features are dropped."""
        counts = None if self.labels is None else Counter(self.labels.tolist())
        return TableDescription(
            n_samples=self.X.shape[0],
            n_features=self.X.shape[1] - n_dropped,
            samples=None if self.samples is None else [self.samples[0], self.samples[-1]],
            features=[self.features[0], self.features[-1]],
            n_unknown=0 if counts is None else counts.pop(UNKNOWN, 0),
            classes=None if counts is None else dict(counts),
            n_groups=None if self.groups is None else len(set(self.groups)),
            lines=self.lines,
            remarks=self.remarks,
        )

    def take(
        self, X: np.ndarray, offset: np.ndarray, rows: np.ndarray, columns: np.ndarray
    ) -> None:
        """Replace the values, and keep only some samples and features, all by their index."""
        self.X, self.offset = RowStream.of(X), offset
        self.features = [self.features[at] for at in columns]
        self.relevant = None if self.relevant is None else self.relevant[columns]
        if self.samples is not None:
            self.samples = [self.samples[at] for at in rows]
        for name in ("labels", "groups", "batch", "weights", "positions"):
            if getattr(self, name) is not None:
                setattr(self, name, getattr(self, name)[rows])
        self.annotations = {name: values[rows] for name, values in self.annotations.items()}


def held_bytes(n_samples: int, n_features: int, n_stored: int | None = None) -> int:
    """Return the memory of a matrix, dense or, with fewer stored values than half, sparse."""
    dense = 4 * n_samples * n_features
    return dense if n_stored is None else min(dense, 8 * n_stored)


def check_size(
    file: object,
    n_samples: int,
    n_features: int,
    n_stored: int | None = None,
    *,
    in_blocks: bool = False,
) -> None:
    """Refuse a matrix that is too small to cluster, or larger than its limit."""
    if n_samples < MIN_SAMPLES:
        raise refusal("at_least", file, what="n_samples", n=n_samples, least=MIN_SAMPLES)
    if n_features < 1:
        raise refusal("at_least", file, what="n_features", n=n_features, least=1)
    size = held_bytes(n_samples, n_features, n_stored) / 2**30
    limit = (STREAMED_LIMIT if in_blocks else HELD_LIMIT) / 2**30
    if size > limit:
        kind = "dense" if n_stored is None else "sparse"
        raise refusal(
            "too_large", file, n=n_samples, p=n_features, kind=kind, size=size, limit=limit
        )
