"""A matrix with named samples and features from a file that declares both axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sparsekm.io.readers.cells import MISSING_LABELS, is_number
from sparsekm.io.readers.left_out import is_row_numbers
from sparsekm.io.readers.names import weigh_names
from sparsekm.io.readers.orientation import Axes, find_orientation
from sparsekm.io.readers.raw_matrix import (
    RawMatrix,
    check_annotation,
    check_groups,
    check_labels,
    check_names,
)
from sparsekm.io.readers.remarks import list_remarks
from sparsekm.io.readers.repeated import number_names
from sparsekm.io.readers.value_blocks import Opened, check_rows, transposed


@dataclass
class Stored:
    """A stored matrix, rows x columns, and what its file says of both axes."""

    file: Path
    opened: Opened
    rows: list[str] | None
    columns: list[str] | None
    labels: tuple[str, Sequence[Any]] | None = None  # the name and the values, one for each sample
    groups: tuple[str, Sequence[Any]] | None = None
    annotations: dict[str, Sequence[Any]] = field(default_factory=dict)
    relevant: Any = None
    positions: Any = None
    remarks: list[str] = field(default_factory=list)


def is_turned(rows: Sequence[str] | None, columns: Sequence[str] | None) -> bool:
    """Tell whether the rows of a stored matrix are features, by the names of both axes."""
    if rows is None or columns is None:
        return False
    rows, columns = [*map(str, rows)], [*map(str, columns)]
    if is_row_numbers("", rows):
        return False
    if weigh_names(rows).score <= 0 and weigh_names(columns).score >= 0:
        return False
    return find_orientation(Axes("", rows, columns, len(rows))) is True


def _without_numbers(block: np.ndarray, offset: np.ndarray, numbers: list[float]) -> np.ndarray:
    """Return rows with NaN for the numbers that stand for missing values."""
    values = np.round(block.astype(np.float64) + offset, 4)
    return np.where(np.isin(values, numbers), np.float32(np.nan), block)


def assemble(stored: Stored, turn: bool, missing: Sequence[object] = ()) -> RawMatrix:
    """Read and check a stored matrix; `turn` tells that its rows are features."""
    file, remarks = stored.file, stored.remarks
    X, offset = check_rows(file, stored.opened, remarks)
    samples, features = stored.rows, stored.columns
    if turn:
        X, offset = transposed(file, X, offset)
        samples, features = features, samples
    if features is None:
        features = [f"feature{j + 1}" for j in range(X.shape[1])]
    numbers = [float(word) for word in missing if isinstance(word, int | float) or is_number(word)]
    if numbers and not X.is_sparse:
        X = X.change(lambda block, _: _without_numbers(block, offset, numbers))
    words = set(map(str, missing))

    def is_missing(value: object) -> bool:
        return value in MISSING_LABELS or value in words

    features = number_names([str(name) for name in features], remarks, "feature")
    raw = RawMatrix(
        X=X,
        offset=offset,
        features=check_names(file, features, "feature", "name it in the file"),
        relevant=stored.relevant,
        positions=stored.positions,
    )
    if samples is not None:
        samples = number_names([str(name) for name in samples], remarks, "sample")
        raw.samples = check_names(file, samples, "sample", "name it in the file")
    if stored.labels is not None:
        raw.labels = check_labels(file, *stored.labels, is_missing)
    if stored.groups is not None:
        raw.groups = check_groups(file, *stored.groups, is_missing)
    raw.annotations = {
        name: check_annotation(values, is_missing) for name, values in stored.annotations.items()
    }
    name = stored.labels[0] if stored.labels else None
    raw.remarks = [*remarks, *list_remarks(raw, name, missing)]
    return raw
