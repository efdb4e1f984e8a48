"""The files ``splits/{batch}.h5``: what paths on parts of the samples have in common.

Arrays: those of `sparsekm.storage.batches`; ``agreement (b, m)``, adjusted Rand indices;
``selections (m, p)``, how many of the ``n_fits`` paths on parts keep a feature. Attributes: see
`sparsekm.storage.attributes`, and ``scheme``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sparsekm.storage.batches import BatchFormat
from sparsekm.storage.checked_hdf5 import DamagedFileError, read_array

_FORMAT = BatchFormat("splits", rule="split_path")


@dataclass(frozen=True)
class Splits:
    """What b splits say at m sparsities.

    Attributes
    ----------
    indices : int64 array of shape (b,)
    sparsities : float64 array of shape (m,)
    agreements : float64 array of shape (b, m)
    selections : int64 array of shape (m, p)
    n_fits : int
    attributes : mapping
    """

    indices: np.ndarray
    sparsities: np.ndarray
    agreements: np.ndarray
    selections: np.ndarray
    n_fits: int
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def check_grid(self, file: str | Path, sparsities: np.ndarray) -> None:
        """Refuse splits, read from `file`, of other sparsities than a path's."""
        _FORMAT.check_grid(file, self.sparsities, sparsities, "the path's")


def write_splits(file: str | Path, splits: Splits) -> None:
    """Write a batch of splits whole or not at all."""
    arrays = {
        "agreement": np.asarray(splits.agreements, dtype=np.float64),
        "selections": np.asarray(splits.selections, dtype=np.int64),
        "n_fits": np.int64(splits.n_fits),
    }
    _FORMAT.write(file, splits.indices, splits.sparsities, arrays, splits.attributes)


def read_splits(file: str | Path) -> Splits:
    """Read a batch of splits, checking everything.

    Raises
    ------
    DamagedFileError
        When the file is truncated, or its arrays are missing or disagree.
    """
    rule = _FORMAT.rule
    with _FORMAT.open(file) as (opened, indices, sparsities, attributes):
        shape = (indices.size, sparsities.size)
        agreements = read_array(opened, "agreement", kind="f", shape=shape, rule=rule)
        shape = (sparsities.size, None)
        selections = read_array(opened, "selections", kind="i", shape=shape, rule=rule)
        n_fits = int(read_array(opened, "n_fits", kind="i", shape=(), rule=rule))
    return Splits(indices, sparsities, agreements, selections, n_fits, attributes)


def read_all_splits(files: Iterable[str | Path]) -> Splits:
    """Read several batches as one, in the order of the splits' numbers.

    Raises
    ------
    DamagedFileError
        When the batches have different sparsities or features, or share a split.
    """
    files = list(files)
    batches = [read_splits(file) for file in files]
    order = _FORMAT.order(files, batches)
    model = batches[0]
    for file, batch in zip(files, batches, strict=True):
        if batch.selections.shape != model.selections.shape:
            problem = f"selections of shape {batch.selections.shape} should be as in {files[0]}"
            raise DamagedFileError(file, problem, _FORMAT.rule)
    return Splits(
        np.concatenate([batch.indices for batch in batches])[order],
        model.sparsities,
        np.concatenate([batch.agreements for batch in batches])[order],
        np.sum([batch.selections for batch in batches], axis=0),
        sum(batch.n_fits for batch in batches),
        model.attributes,
    )
