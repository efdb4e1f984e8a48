"""The files ``splits/{batch}.h5``: what paths on parts of the samples have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparsekm.io.batch_format import NUMBERS, ROWS, SPARSITIES, Batch, BatchFormat
from sparsekm.io.hdf5_format import Array


@dataclass(frozen=True)
class Splits(Batch):
    """What b splits say at m sparsities.

    Attributes
    ----------
    indices : int64 array of shape (b,)
    sparsities : float64 array of shape (m,)
    agreements : float64 array of shape (b, m)
        Adjusted Rand indices.
    selections : int64 array of shape (m, p)
        How many of the ``n_fits`` paths on parts keep a feature.
    attributes : mapping
        Those of `sparsekm.io.attributes`, and ``scheme``.
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
