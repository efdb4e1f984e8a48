"""The files ``references/{batch}.h5``: objectives of paths on reference data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparsekm.io.batch_format import NUMBERS, ROWS, SPARSITIES, Batch, BatchFormat
from sparsekm.io.hdf5_format import Array


@dataclass(frozen=True)
class References(Batch):
    """Objectives (b, m) of b references at m sparsities; ``reference`` is an attribute."""

    objectives: np.ndarray
    attributes: Mapping[str, Any] = field(default_factory=dict)

    format = BatchFormat(
        "references",
        "reference_path",
        {**NUMBERS, "objectives": Array("objective", np.float64, (ROWS, SPARSITIES))},
    )
