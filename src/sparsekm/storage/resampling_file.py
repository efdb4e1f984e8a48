"""The files ``resamplings/{batch}.h5``: partitions and features of paths on parts of the data.

Arrays: those of `sparsekm.storage.batches`; those of `sparsekm.tuning.resampled_paths`, with the b
resamplings before their own axes: ``labels (b, f, m, n)`` int16, ``drawn (b, p)`` (0 or 1), ``kept
(b, f, m, ceil(p / 8))``, eight features to a byte as NumPy packs them, and ``separation (b, f,
m)``, NaN where no sample was left out. Attributes: see `sparsekm.storage.attributes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from sparsekm.storage.batches import BatchFormat
from sparsekm.storage.checked_hdf5 import DamagedFileError, read_array
from sparsekm.tuning.resampled_paths import FAMILIES, ResampledPaths

_FORMAT = BatchFormat("resamplings", rule="resample_path")


@dataclass(frozen=True)
class Resamplings:
    """What b resamplings found at m sparsities.

    Attributes
    ----------
    indices : int64 array of shape (b,)
    sparsities : float64 array of shape (m,)
    paths : sequence of b ResampledPaths
    attributes : mapping
    """

    indices: np.ndarray
    sparsities: np.ndarray
    paths: Sequence[ResampledPaths]
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of samples and of features."""
        return self.paths[0].labels.shape[-1], self.paths[0].drawn.size

    def check_problem(
        self, file: str | Path, shape: tuple[int, int], sparsities: np.ndarray
    ) -> None:
        """Refuse resamplings, read from `file`, of other data or other sparsities."""
        _FORMAT.check_grid(file, self.sparsities, sparsities, "the problem's")
        _check_shape(file, self, shape, "as the data have it")


def write_resamplings(file: str | Path, resamplings: Resamplings) -> None:
    """Write a batch of resamplings whole or not at all."""
    paths = resamplings.paths
    arrays = {
        "labels": np.array([path.labels for path in paths], dtype=np.int16),
        "kept": np.array([np.packbits(path.kept, axis=-1) for path in paths]),
        "drawn": np.array([path.drawn for path in paths], dtype=np.uint8),
        "separation": np.array([path.separation for path in paths], dtype=np.float64),
    }
    _FORMAT.write(file, resamplings.indices, resamplings.sparsities, arrays, resamplings.attributes)


def read_resamplings(file: str | Path) -> Resamplings:
    """Read a batch of resamplings, checking everything.

    Raises
    ------
    DamagedFileError
        When the file is truncated, or its arrays are missing, disagree, or hold what cannot be.
    """
    with _FORMAT.open(file) as (opened, indices, sparsities, attributes):
        paths = _read_paths(opened, indices.size, sparsities.size, int(attributes["n_clusters"]))
    return Resamplings(indices, sparsities, paths, attributes)


def read_all_resamplings(files: Iterable[str | Path]) -> Resamplings:
    """Read several batches as one, in the order of the resamplings' numbers.

    Raises
    ------
    DamagedFileError
        When the batches are of different data or sparsities, or share a resampling.
    """
    files = list(files)
    batches = [read_resamplings(file) for file in files]
    order = _FORMAT.order(files, batches)
    model = batches[0]
    for file, batch in zip(files, batches, strict=True):
        _check_shape(file, batch, model.shape, f"as in {files[0]}")
    paths = [path for batch in batches for path in batch.paths]
    return Resamplings(
        np.concatenate([batch.indices for batch in batches])[order],
        model.sparsities,
        [paths[row] for row in order],
        model.attributes,
    )


def _read_paths(opened: h5py.File, b: int, m: int, n_clusters: int) -> list[ResampledPaths]:
    file, rule, f = opened.filename, _FORMAT.rule, len(FAMILIES)
    drawn = read_array(opened, "drawn", kind="i", shape=(b, None), rule=rule)
    p = drawn.shape[1]
    packed = read_array(
        opened, "kept", kind="i", shape=(b, f, m, -(-p // 8)), rule=rule, dtype=np.uint8
    )
    kept = np.unpackbits(packed, axis=-1, count=p).astype(bool)
    labels = read_array(
        opened, "labels", kind="i", shape=(b, f, m, None), rule=rule, dtype=np.int16
    )
    separation = read_array(
        opened, "separation", kind="f", shape=(b, f, m), rule=rule, finite=False
    )
    wrong = {
        "labels: there should be some": labels.size == 0 or p == 0,
        f"labels should lie in [0, {n_clusters})": ((labels < 0) | (labels >= n_clusters)).any(),
        "drawn should be 0 or 1": ((drawn < 0) | (drawn > 1)).any(),
        "kept should be among those drawn": (kept & (drawn == 0)[:, None, None]).any(),
        "separation should be >= 0 and finite": (np.isinf(separation) | (separation < 0)).any(),
    }
    for problem, is_so in wrong.items():
        if is_so:
            raise DamagedFileError(file, problem, rule)
    return [
        ResampledPaths(*parts)
        for parts in zip(labels, kept, drawn.astype(bool), separation, strict=True)
    ]


def _check_shape(file: str | Path, found: Resamplings, shape: tuple[int, int], whose: str) -> None:
    if found.shape != shape:
        problem = f"(n_samples, n_features)={found.shape} should be {shape}, {whose}"
        raise DamagedFileError(file, problem, _FORMAT.rule)
