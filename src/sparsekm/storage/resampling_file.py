"""The files ``resamplings/{batch}.h5``: what paths on parts of the samples have in common.

Arrays: ``index (b,)``, the resamplings' numbers, which seed them; ``sparsity (m,)``;
``agreement (b, m)``, adjusted Rand indices; ``selections (m, p)``, how many of the ``n_fits`` paths
on parts keep a feature. Attributes: see `sparsekm.storage.attributes`, and ``scheme``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from sparsekm.storage.atomic import atomic_path
from sparsekm.storage.attributes import read_attributes, write_attributes
from sparsekm.storage.checked_hdf5 import DamagedFileError, open_checked, read_array

_RULE = "resample_path"


@dataclass(frozen=True)
class Resamplings:
    """What b resamplings say at m sparsities.

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
        """Refuse resamplings, read from `file`, of other sparsities than a path's."""
        if not np.array_equal(self.sparsities, sparsities):
            raise DamagedFileError(
                file, f"sparsity={self.sparsities} should be the path's {sparsities}", _RULE
            )


def write_resamplings(file: str | Path, resamplings: Resamplings) -> None:
    """Write a batch of resamplings whole or not at all."""
    with atomic_path(file) as temporary, h5py.File(temporary, "w") as opened:
        opened["index"] = np.asarray(resamplings.indices, dtype=np.int64)
        opened["sparsity"] = np.asarray(resamplings.sparsities, dtype=np.float64)
        opened["agreement"] = np.asarray(resamplings.agreements, dtype=np.float64)
        opened["selections"] = np.asarray(resamplings.selections, dtype=np.int64)
        opened["n_fits"] = np.int64(resamplings.n_fits)
        write_attributes(opened, "resamplings", resamplings.attributes)


def read_resamplings(file: str | Path) -> Resamplings:
    """Read a batch of resamplings, checking everything.

    Raises
    ------
    DamagedFileError
        When the file is truncated, or its arrays are missing or disagree.
    """
    with open_checked(file, _RULE) as opened:
        attributes = read_attributes(opened, "resamplings", _RULE)
        indices = read_array(opened, "index", kind="i", shape=(None,), rule=_RULE)
        sparsities = read_array(opened, "sparsity", kind="f", shape=(None,), rule=_RULE)
        if indices.size == 0 or sparsities.size == 0:
            raise DamagedFileError(file, "there are no resamplings in it", _RULE)
        shape = (indices.size, sparsities.size)
        agreements = read_array(opened, "agreement", kind="f", shape=shape, rule=_RULE)
        shape = (sparsities.size, None)
        selections = read_array(opened, "selections", kind="i", shape=shape, rule=_RULE)
        n_fits = int(read_array(opened, "n_fits", kind="i", shape=(), rule=_RULE))
    return Resamplings(indices, sparsities, agreements, selections, n_fits, attributes)


def read_all_resamplings(files: Iterable[str | Path]) -> Resamplings:
    """Read several batches as one, in the order of the resamplings' numbers.

    Raises
    ------
    DamagedFileError
        When the batches have different sparsities or features, or share a resampling.
    """
    files = list(files)
    batches = [read_resamplings(file) for file in files]
    first = batches[0]
    for file, batch in zip(files, batches, strict=True):
        batch.check_grid(file, first.sparsities)
        if batch.selections.shape != first.selections.shape:
            raise DamagedFileError(
                file,
                f"selections of shape {batch.selections.shape} should be as in {files[0]}",
                _RULE,
            )
    indices = np.concatenate([batch.indices for batch in batches])
    order = np.argsort(indices)
    if (np.diff(indices[order]) == 0).any():
        raise DamagedFileError(files[-1], "a resampling stands in two batches", _RULE)
    return Resamplings(
        indices[order],
        first.sparsities,
        np.concatenate([batch.agreements for batch in batches])[order],
        np.sum([batch.selections for batch in batches], axis=0),
        sum(batch.n_fits for batch in batches),
        first.attributes,
    )
