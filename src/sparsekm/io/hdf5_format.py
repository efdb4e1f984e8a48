"""Checks of the workflow's HDF5 files, AnnData or not, when they are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
import pandas as pd

from sparsekm.cluster.matrices.dense_parts import stored_bytes
from sparsekm.io.atomic import atomic_path
from sparsekm.io.input_error import InputError, reason_of

if TYPE_CHECKING:
    import anndata


class DamagedFileError(InputError):
    """A file of the workflow is truncated, or has content that its writer never writes."""

    def __init__(self, file: str | Path, problem: str, rule: str) -> None:
        super().__init__(
            f"{file}: {problem}. It should be a complete file written by rule {rule}: "
            "delete it and run again."
        )


class DamageError(Exception):
    """The damage of a file; `checked` adds its name and the rule that wrote it."""


def require(holds: Any, problem: str) -> None:
    """Refuse a file, inside `checked`, if a condition is false."""
    if not holds:
        raise DamageError(problem)


@contextmanager
def checked(file: str | Path, rule: str) -> Iterator[None]:
    """Turn damage of a file written by `rule` into a `DamagedFileError`."""
    if not Path(file).is_file():
        raise FileNotFoundError(f"{file}: no such file; rule {rule} writes it.")
    try:
        yield
    except DamageError as problem:
        raise DamagedFileError(file, str(problem), rule) from problem.__cause__


@contextmanager
def open_checked(file: str | Path, rule: str) -> Iterator[h5py.File]:
    """Open an HDF5 file written by `rule`; if it cannot be read, raise `DamagedFileError`."""
    with checked(file, rule):
        try:
            with h5py.File(file, "r") as opened:
                yield opened
        except (InputError, MemoryError, DamageError):
            raise
        # HDF5 reports a truncated file when it is opened, or only when a block is read. Damage can
        # cause almost any error anywhere inside HDF5, h5py or anndata.
        except Exception as error:
            raise DamageError(f"truncated or damaged ({reason_of(error)})") from error


def require_shape(dataset: h5py.Dataset, name: str, wanted: Sequence[int | None]) -> None:
    """Refuse an array of another shape; None stands for any length."""
    found, shape = dataset.shape, tuple("any" if n is None else n for n in wanted)
    is_right = len(found) == len(wanted) and all(
        length in (None, n) for n, length in zip(found, wanted, strict=True)
    )
    require(is_right, f"{name}: shape={found} should be {shape}")


def find_array(
    group: h5py.Group, name: str, *, kind: str, shape: Sequence[int | None]
) -> h5py.Dataset:
    """Return a checked numeric array, not yet read; `kind` is "f" or "i", None is any length."""
    dataset, wanted = group.get(name), {"f": np.floating, "i": np.integer}[kind]
    require(isinstance(dataset, h5py.Dataset), f"array {name!r} is missing")
    is_right = np.issubdtype(dataset.dtype, wanted)
    require(is_right, f"{name}: dtype={dataset.dtype} should be {wanted.__name__}")
    require_shape(dataset, name, shape)
    # Writers write plain arrays. Any other layout could claim terabytes or refer to other files.
    stored = dataset.id.get_storage_size()
    is_plain = not (dataset.chunks or dataset.is_virtual or dataset.external)
    require(is_plain and stored == dataset.nbytes, f"{name}: values are missing")
    return dataset


def write_anndata(file: str | Path, data: anndata.AnnData) -> None:
    """Write AnnData atomically, and piece by piece: a second X would take too much memory."""
    with atomic_path(file, stored_bytes(data.X)) as temporary:
        data.write_h5ad(temporary)


def read_part(opened: h5py.File, name: str, kind: type = object) -> Any:
    """Read a part of an AnnData file, such as ``uns/provenance``, and check its type."""
    # Not imported at the top: AnnData takes a quarter of a second, and few readers need it.
    from anndata.io import read_elem

    try:
        part = read_elem(opened[name])
    except Exception as error:
        raise DamageError(f"{name} is missing or damaged ({reason_of(error)})") from error
    is_right = isinstance(part, kind)
    require(is_right, f"{name} is a {type(part).__name__}; it should be a {kind.__name__}")
    return part


def read_parts(opened: h5py.File) -> dict[str, Any]:
    """Read everything in an AnnData file except its matrix."""
    kinds = {"obs": pd.DataFrame, "var": pd.DataFrame, "obsm": dict, "uns": dict}
    return {name: read_part(opened, name, kind) for name, kind in kinds.items()}
