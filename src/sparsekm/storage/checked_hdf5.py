"""Opening and reading HDF5 files with every expectation checked.

A reader that finds something else than its writer would have left raises `DamagedFileError`,
which names the file, what is wrong with it, and the rule that makes it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import h5py
import numpy as np


class DamagedFileError(ValueError):
    """A file of the workflow is truncated or holds what its writer never writes."""

    def __init__(self, file: str | Path, problem: str, rule: str) -> None:
        super().__init__(
            f"{file}: {problem}. It should be a whole file as rule {rule} writes it: "
            "delete it and run again."
        )


@contextmanager
def open_checked(file: str | Path, rule: str) -> Iterator[h5py.File]:
    """Open an HDF5 file for reading; what HDF5 cannot read becomes a `DamagedFileError`.

    Parameters
    ----------
    file : path
    rule : str
        Name of the workflow's rule that writes the file.
    """
    file = Path(file)
    if not file.is_file():
        raise FileNotFoundError(f"{file}: no such file; rule {rule} writes it.")
    try:
        with h5py.File(file, "r") as opened:
            yield opened
    except DamagedFileError:
        raise
    except (OSError, RuntimeError, KeyError) as error:
        # HDF5 reports a truncated file on opening (OSError) or only when a block is read.
        reason = str(error).strip("'\"") or type(error).__name__
        raise DamagedFileError(
            file, f"truncated or damaged ({reason.splitlines()[0]})", rule
        ) from error


def read_array(
    group: h5py.Group,
    name: str,
    *,
    kind: str,
    shape: Sequence[int | None],
    rule: str,
    dtype: type | str | None = None,
) -> np.ndarray:
    """Read a numeric array after checking its presence, kind, shape, and that it is finite.

    Parameters
    ----------
    group : Group or File
    name : str
        Name of the array inside `group`.
    kind : {"f", "i"}
        Floating point or integer.
    shape : sequence of int or None
        The expected shape; None stands for any length.
    rule : str
        Name of the rule that writes the file.
    dtype : dtype, optional
        What to convert to; by default float64 or int64.

    Returns
    -------
    values : array
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
    # The writers leave plain arrays. Any other layout could claim terabytes, or point elsewhere.
    stored = dataset.id.get_storage_size()
    if dataset.chunks or dataset.is_virtual or dataset.external or stored != dataset.nbytes:
        raise DamagedFileError(file, f"{name}: values are missing", rule)
    values = dataset[()]
    if kind == "f" and not np.isfinite(values).all():
        raise DamagedFileError(file, f"{name}: holds NaN or infinity", rule)
    target = dtype or {"f": np.float64, "i": np.int64}[kind]
    return np.asarray(values).astype(target, copy=False)
