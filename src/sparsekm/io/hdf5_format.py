"""How the workflow's own HDF5 files are written and read: a format is a list of arrays.

If a file differs from what its writer would have written, the reader raises `DamagedFileError`,
which names the file, the problem, and the rule that makes the file.

The lengths of arrays have names. Within a file a name always means the same length, at least 1;
``n_clusters`` is the attribute of the file.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
import pandas as pd

from sparsekm.cluster.matrices.dense_parts import stored_bytes
from sparsekm.io.atomic import atomic_path, write_bytes
from sparsekm.io.input_error import InputError, reason_of

if TYPE_CHECKING:
    import anndata


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


@contextmanager
def atomic_hdf5(file: str | Path) -> Iterator[h5py.File]:
    """Yield an HDF5 file to fill, which becomes `file` if the block succeeds; see `atomic_path`.

    The file is assembled in memory. If it were written piece by piece and the disk filled up, HDF5
    would be left with objects that it can neither write nor discard, print pages of errors and
    crash at the end.
    """
    image = io.BytesIO()
    with h5py.File(image, "w") as opened:
        yield opened
    write_bytes(image.getbuffer(), file)


def write_anndata(file: str | Path, data: anndata.AnnData, **options: Any) -> None:
    """Write AnnData atomically as .h5ad, with the options of ``write_h5ad``.

    It is written piece by piece, since a second copy of the matrix would take too much memory.
    """
    with atomic_path(file, stored_bytes(data.X)) as temporary:
        data.write_h5ad(temporary, **options)


REQUIRED = (
    "method",
    "dataset",
    "n_clusters",
    "search",
    "seed",
    "parameters",
    "versions",
    "input_digest",
    "code_digest",
)
"""Attributes that a file must have, see `write_attributes`."""

_JSON = ("parameters", "versions")
_WHOLE = ("n_clusters", "seed")


def write_attributes(group: h5py.Group, kind: str, attributes: Mapping[str, Any]) -> None:
    """Write a file's kind and attributes: all of `REQUIRED`, and any others.

    ``parameters`` and ``versions`` are mappings, kept as JSON; ``seed`` is the data set's seed; the
    digests are SHA-256 in hexadecimal.
    """
    missing = [name for name in REQUIRED if name not in attributes]
    if missing:
        raise ValueError(f"attributes={sorted(attributes)} should include {missing} too.")
    group.attrs["kind"] = kind
    for name, value in attributes.items():
        group.attrs[name] = json.dumps(value, sort_keys=True) if name in _JSON else value


def read_attributes(group: h5py.Group, kind: str, rule: str) -> dict[str, Any]:
    """Read the output of `write_attributes` as Python values, and check the kind."""
    file = group.file.filename
    found = group.attrs.get("kind")
    if found != kind:
        raise DamagedFileError(file, f"kind={found!r} should be {kind!r}", rule)
    missing = [name for name in REQUIRED if name not in group.attrs]
    if missing:
        raise DamagedFileError(file, f"attributes {missing} are missing", rule)
    attributes: dict[str, Any] = {}
    for name, value in group.attrs.items():
        if name == "kind":
            continue
        if name in _JSON:
            attributes[name] = _parse(file, name, value, rule)
        elif hasattr(value, "item"):
            attributes[name] = value.item() if value.size == 1 else value.tolist()
        else:
            attributes[name] = value
    for name in REQUIRED:
        wanted = dict if name in _JSON else int if name in _WHOLE else str
        value = attributes[name]
        if not isinstance(value, wanted) or (wanted is int and not 0 <= value < 2**63):
            raise DamagedFileError(file, f"attribute {name}={value!r} is not valid", rule)
    return attributes


def _parse(file: str, name: str, value: object, rule: str) -> Any:
    try:
        return json.loads(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise DamagedFileError(file, f"attribute {name!r} is not JSON", rule) from error


@dataclass(frozen=True)
class Array:
    """A numeric array."""

    name: str  # in the file
    dtype: type
    shape: tuple[str | int, ...] = ()  # lengths or their names; empty for a single number
    most: int | None = None  # largest value allowed; the smallest is then 0
    labels: bool = False  # whether the values are cluster labels, counted from 0
    finite: bool = True  # whether NaN and infinity are refused
    optional: bool = False  # whether the array may be missing; it is then None

    def write(self, opened: h5py.File, values: Any) -> None:
        """Write the array, unless it is optional and None."""
        if values is not None or not self.optional:
            opened[self.name] = np.asarray(values, dtype=self.dtype)

    def read(self, opened: h5py.File, lengths: dict[str, int], rule: str) -> Any:
        """Read and check the array; lengths that had no value yet are added to `lengths`."""
        if self.optional and self.name not in opened:
            return None
        values = read_array(
            opened,
            self.name,
            kind="f" if self.dtype is np.float64 else "i",
            shape=[n if isinstance(n, int) else lengths.get(n) for n in self.shape],
            rule=rule,
            dtype=self.dtype,
            finite=self.finite,
        )
        lengths.update(zip(self.shape, values.shape, strict=True))
        if values.size == 0:
            raise DamagedFileError(opened.filename, f"{self.name}: size=0 should be >= 1", rule)
        most = lengths["n_clusters"] - 1 if self.labels else self.most
        if most is not None and ((values < 0) | (values > most)).any():
            within = f"[0, {most + 1})" if self.labels else f"[0, {most}]"
            raise DamagedFileError(opened.filename, f"{self.name} should lie in {within}", rule)
        return values if self.shape else values.item()


@dataclass(frozen=True)
class SparseRows:
    """One or several rows of mostly zero weights, in compressed form (CSR) in a group.

    The lengths must be those of preceding arrays.
    """

    name: str
    shape: tuple[str, ...]

    def write(self, opened: h5py.File, values: np.ndarray) -> None:
        """Write the nonzero weights."""
        rows = np.atleast_2d(np.asarray(values, dtype=np.float64))
        row_of, column_of = np.nonzero(rows)
        group = opened.create_group(self.name)
        group["indptr"] = np.searchsorted(row_of, np.arange(len(rows) + 1)).astype(np.int64)
        group["indices"] = column_of.astype(np.int64)
        group["weights"] = rows[row_of, column_of]

    def read(self, opened: h5py.File, lengths: dict[str, int], rule: str) -> np.ndarray:
        """Read the rows as a dense array, after checking the indices."""
        file, name = opened.filename, self.name
        shape = tuple(lengths[length] for length in self.shape)
        n_rows, n_columns = (1, *shape)[-2:]
        group = opened.get(name)
        if not isinstance(group, h5py.Group):
            raise DamagedFileError(file, f"group {name!r} is missing", rule)
        indices = read_array(group, "indices", kind="i", shape=(None,), rule=rule)
        weights = read_array(group, "weights", kind="f", shape=indices.shape, rule=rule)
        indptr = read_array(group, "indptr", kind="i", shape=(n_rows + 1,), rule=rule)
        if indptr[0] != 0 or indptr[-1] != indices.size or (np.diff(indptr) < 0).any():
            raise DamagedFileError(
                file, f"{name}/indptr does not divide the indices into rows", rule
            )
        if indices.size and not (0 <= indices.min() and indices.max() < n_columns):
            raise DamagedFileError(file, f"{name}/indices should lie in [0, {n_columns})", rule)
        rows = np.zeros((n_rows, n_columns))
        rows[np.repeat(np.arange(n_rows), np.diff(indptr)), indices] = weights
        return rows.reshape(shape)


@dataclass(frozen=True)
class Hdf5Format:
    """A kind of file: its arrays by their names in memory, in the order of writing."""

    kind: str
    rule: str
    arrays: Mapping[str, Array | SparseRows]

    def write(
        self, file: str | Path, values: Mapping[str, Any], attributes: Mapping[str, Any]
    ) -> None:
        """Write a file atomically."""
        with atomic_hdf5(file) as opened:
            for name, array in self.arrays.items():
                array.write(opened, values[name])
            write_attributes(opened, self.kind, attributes)

    def read(self, file: str | Path) -> tuple[dict[str, Any], dict[str, Any]]:
        """Read and check the arrays and attributes of a file."""
        with open_checked(file, self.rule) as opened:
            attributes = read_attributes(opened, self.kind, self.rule)
            lengths = {"n_clusters": attributes["n_clusters"]}
            arrays = {
                name: array.read(opened, lengths, self.rule) for name, array in self.arrays.items()
            }
        return arrays, attributes


def read_part(opened: h5py.File, name: str, rule: str, kind: type = object) -> Any:
    """Read a part of an AnnData file, such as ``uns/provenance``, and check its type."""
    # Not at the top: most readers of HDF5 need no AnnData, which takes a quarter of a second.
    from anndata.io import read_elem

    file = opened.filename
    try:
        part = read_elem(opened[name])
    except Exception as error:
        raise DamagedFileError(
            file, f"{name} is missing or damaged ({reason_of(error)})", rule
        ) from error
    if not isinstance(part, kind):
        raise DamagedFileError(
            file, f"{name} is a {type(part).__name__}; it should be a {kind.__name__}", rule
        )
    return part


def read_parts(opened: h5py.File, rule: str) -> dict[str, Any]:
    """Read everything in an AnnData file except its matrix."""
    kinds = {"obs": pd.DataFrame, "var": pd.DataFrame, "obsm": dict, "uns": dict}
    return {name: read_part(opened, name, rule, kind) for name, kind in kinds.items()}
