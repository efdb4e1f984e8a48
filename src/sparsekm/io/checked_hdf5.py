"""Opening and reading the workflow's HDF5 files, with checks.

If a file differs from what its writer would have written, the reader raises `DamagedFileError`,
which names the file, the problem, and the rule that makes the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import h5py
import numpy as np

from sparsekm.io.input_error import InputError, reason_of


class DamagedFileError(InputError):
    """A file of the workflow is truncated, or contains something that its writer never writes."""

    def __init__(self, file: str | Path, problem: str, rule: str) -> None:
        super().__init__(
            f"{file}: {problem}. It should be a complete file written by rule {rule}: "
            "delete it and run again."
        )


@contextmanager
def open_checked(file: str | Path, rule: str) -> Iterator[h5py.File]:
    """Open an HDF5 file written by `rule`; if it cannot be read, raise `DamagedFileError`."""
    file = Path(file)
    if not file.is_file():
        raise FileNotFoundError(f"{file}: no such file; rule {rule} writes it.")
    try:
        with h5py.File(file, "r") as opened:
            yield opened
    except (InputError, MemoryError):
        raise
    # HDF5 reports a truncated file when it is opened or only when a block is read, and damage can
    # cause almost any error anywhere inside HDF5, h5py or anndata.
    except Exception as error:
        raise DamagedFileError(file, f"truncated or damaged ({reason_of(error)})", rule) from error


def find_array(
    group: h5py.Group, name: str, *, kind: str, shape: Sequence[int | None], rule: str
) -> h5py.Dataset:
    """Return a numeric array, not yet read, after checking its presence, kind, shape and layout.

    `kind` is "f" for floating point or "i" for integer; None in `shape` stands for any length.
    """
    file = group.file.filename
    dataset = group.get(name)
    if not isinstance(dataset, h5py.Dataset):
        raise DamagedFileError(file, f"array {name!r} is missing", rule)
    if dataset.dtype.kind not in {"f": "f", "i": "iu"}[kind]:
        what = {"f": "floating point", "i": "integer"}[kind]
        raise DamagedFileError(file, f"{name}: dtype={dataset.dtype} should be {what}", rule)
    if len(dataset.shape) != len(shape) or any(
        expected not in (None, length)
        for expected, length in zip(shape, dataset.shape, strict=True)
    ):
        wanted = tuple("any" if length is None else length for length in shape)
        raise DamagedFileError(file, f"{name}: shape={dataset.shape} should be {wanted}", rule)
    # Writers write plain arrays. Any other layout could claim terabytes or refer to other files.
    stored = dataset.id.get_storage_size()
    if dataset.chunks or dataset.is_virtual or dataset.external or stored != dataset.nbytes:
        raise DamagedFileError(file, f"{name}: values are missing", rule)
    return dataset


def read_array(
    group: h5py.Group,
    name: str,
    *,
    kind: str,
    shape: Sequence[int | None],
    rule: str,
    dtype: type | str | None = None,
    finite: bool = True,
) -> np.ndarray:
    """Read a numeric array after the checks of `find_array`, and check that it is finite."""
    file = group.file.filename
    dataset = find_array(group, name, kind=kind, shape=shape, rule=rule)
    values = dataset[()]
    target = np.dtype(dtype or {"f": np.float64, "i": np.int64}[kind])
    if kind == "i" and np.size(values) and not np.can_cast(values.dtype, target):
        bounds = np.iinfo(target)
        if not (bounds.min <= int(values.min()) and int(values.max()) <= bounds.max):
            raise DamagedFileError(file, f"{name}: values should fit {target}", rule)
    with np.errstate(over="ignore"):
        converted = np.asarray(values).astype(target, copy=False)
    if kind == "f" and finite and not np.isfinite(converted).all():
        raise DamagedFileError(file, f"{name}: contains NaN or infinity", rule)
    return converted
