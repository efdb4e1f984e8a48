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
    """Objectives of b references at m sparsities.

    Attributes
    ----------
    indices : int64 array of shape (b,)
    sparsities : float64 array of shape (m,)
    objectives : float64 array of shape (b, m)
    attributes : mapping
        Those of `sparsekm.io.attributes`, and ``reference``.
    """

    objectives: np.ndarray
    attributes: Mapping[str, Any] = field(default_factory=dict)

    format = BatchFormat(
        "references",
        "reference_path",
        {**NUMBERS, "objectives": Array("objective", np.float64, (ROWS, SPARSITIES))},
    )
