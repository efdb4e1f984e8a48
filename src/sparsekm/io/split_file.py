"""The files ``splits/{batch}.h5``: agreement of paths on subsets of the samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparsekm.io.batch_format import NUMBERS, ROWS, SPARSITIES, Batch, BatchFormat
from sparsekm.io.hdf5_format import Array


@dataclass(frozen=True)
class Splits(Batch):
    """The results of b splits at m sparsities; ``scheme`` is an attribute.

    `agreements`, of shape (b, m), are adjusted Rand indices; `selections`, of shape (m, p), count
    how many of the ``n_fits`` paths on parts keep a feature.
    """

    agreements: np.ndarray
    selections: np.ndarray
    n_fits: int
    attributes: Mapping[str, Any] = field(default_factory=dict)

    format = BatchFormat(
        "splits",
        "split_path",
        {
            **NUMBERS,
            "agreements": Array("agreement", np.float64, (ROWS, SPARSITIES)),
            "selections": Array("selections", np.int64, (SPARSITIES, "n_features")),
            "n_fits": Array("n_fits", np.int64),
        },
    )
