"""The files ``references/{batch}.h5``: objectives of paths on reference data.

Arrays: those of `sparsekm.storage.batches`, and ``objective (b, m)``. Attributes: see
`sparsekm.storage.attributes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sparsekm.storage.batches import BatchFormat
from sparsekm.storage.checked_hdf5 import read_array

_FORMAT = BatchFormat("references", rule="reference_path")


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
        _FORMAT.check_grid(file, self.sparsities, sparsities, "the path's")


def write_references(file: str | Path, references: References) -> None:
    """Write a batch of references whole or not at all."""
    arrays = {"objective": np.asarray(references.objectives, dtype=np.float64)}
    _FORMAT.write(file, references.indices, references.sparsities, arrays, references.attributes)


def read_references(file: str | Path) -> References:
    """Read a batch of references, checking everything.

    Raises
    ------
    DamagedFileError
        When the file is truncated, or its arrays are missing or disagree.
    """
    with _FORMAT.open(file) as (opened, indices, sparsities, attributes):
        shape = (indices.size, sparsities.size)
        objectives = read_array(opened, "objective", kind="f", shape=shape, rule=_FORMAT.rule)
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
    order = _FORMAT.order(files, batches)
    return References(
        np.concatenate([batch.indices for batch in batches])[order],
        batches[0].sparsities,
        np.concatenate([batch.objectives for batch in batches])[order],
        batches[0].attributes,
    )
