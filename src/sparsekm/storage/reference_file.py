"""The files ``references/{batch}.h5``: objectives of paths on reference data.

Arrays: ``index (b,)``, the references' numbers, which seed them; ``sparsity (m,)``;
``objective (b, m)``. Attributes: see `sparsekm.storage.attributes`.
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

_RULE = "reference_path"


@dataclass(frozen=True)
class References:
    """Objectives of b references at m sparsities.

    Attributes
    ----------
    indices : int64 array of shape (b,)
    sparsities : float64 array of shape (m,)
    objectives : float64 array of shape (b, m)
    attributes : mapping
    """

    indices: np.ndarray
    sparsities: np.ndarray
    objectives: np.ndarray
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def check_grid(self, file: str | Path, sparsities: np.ndarray) -> None:
        """Refuse references, read from `file`, of other sparsities than a path's."""
        if not np.array_equal(self.sparsities, sparsities):
            raise DamagedFileError(
                file, f"sparsity={self.sparsities} should be the path's {sparsities}", _RULE
            )


def write_references(file: str | Path, references: References) -> None:
    """Write a batch of references whole or not at all."""
    with atomic_path(file) as temporary, h5py.File(temporary, "w") as opened:
        opened["index"] = np.asarray(references.indices, dtype=np.int64)
        opened["sparsity"] = np.asarray(references.sparsities, dtype=np.float64)
        opened["objective"] = np.asarray(references.objectives, dtype=np.float64)
        write_attributes(opened, "references", references.attributes)


def read_references(file: str | Path) -> References:
    """Read a batch of references, checking everything.

    Raises
    ------
    DamagedFileError
        When the file is truncated, or its arrays are missing or disagree.
    """
    with open_checked(file, _RULE) as opened:
        attributes = read_attributes(opened, "references", _RULE)
        indices = read_array(opened, "index", kind="i", shape=(None,), rule=_RULE)
        sparsities = read_array(opened, "sparsity", kind="f", shape=(None,), rule=_RULE)
        if indices.size == 0 or sparsities.size == 0:
            raise DamagedFileError(file, "there are no references in it", _RULE)
        shape = (indices.size, sparsities.size)
        objectives = read_array(opened, "objective", kind="f", shape=shape, rule=_RULE)
    return References(indices, sparsities, objectives, attributes)


def read_all_references(files: Iterable[str | Path]) -> References:
    """Read several batches as one, in the order of the references' numbers.

    Parameters
    ----------
    files : iterable of path

    Returns
    -------
    references : References
        The attributes are those of the first batch.

    Raises
    ------
    DamagedFileError
        When the batches have different sparsities or share a reference.
    """
    files = list(files)
    batches = [read_references(file) for file in files]
    for file, batch in zip(files, batches, strict=True):
        if not np.array_equal(batch.sparsities, batches[0].sparsities):
            raise DamagedFileError(
                file, f"sparsity={batch.sparsities} should be as in {files[0]}", _RULE
            )
    indices = np.concatenate([batch.indices for batch in batches])
    order = np.argsort(indices)
    if (np.diff(indices[order]) == 0).any():
        raise DamagedFileError(files[-1], "a reference stands in two batches", _RULE)
    objectives = np.concatenate([batch.objectives for batch in batches])
    return References(
        indices[order], batches[0].sparsities, objectives[order], batches[0].attributes
    )
