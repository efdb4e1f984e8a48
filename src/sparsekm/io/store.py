"""The workflow's own HDF5 files: paths, fits and references, each with checksums throughout.

A file has a few named arrays and attributes, is written as a whole, and is checked when it is read.
HDF5 itself detects any changed byte: every array is one chunk with a Fletcher-32 checksum, the
structure of the file has checksums (format "v110"), and text is stored with a fixed length in
attributes. Plain h5py reads these files.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np

from sparsekm.cluster.sparsity_path import ChosenFit, SparsityPath
from sparsekm.io.atomic import write_bytes
from sparsekm.io.hdf5_format import DamagedFileError, open_checked, require, require_shape

REQUIRED = {
    **dict.fromkeys(("method", "dataset", "search", "input_digest", "code_digest"), str),
    **dict.fromkeys(("n_clusters", "seed"), int),
    **dict.fromkeys(("parameters", "versions"), dict),
}
"""The attributes that every file has, and their types; mappings are stored as JSON.

``seed`` is the data set's seed; the digests are SHA-256 in hexadecimal. Files may have further
attributes.
"""


class Array(NamedTuple):
    """The declaration of an array: its type, the names of its lengths, and limits of its values."""

    dtype: np.dtype
    shape: list[str]  # names, which mean the same throughout a file
    is_optional: bool
    # "share" is in [0, 1], or NaN if unknown; other numbers are finite. "low..length" means at
    # least low and less than a length. "packed" arrays are mostly 0 and are compressed.
    limits: str


class Store:
    """A kind of file: the rule that writes it, and a table of its arrays.

    A line of the table has an array's name (with ``?`` if it may be absent), type, lengths joined
    by commas, and the limits of its values, if there are any; see `Array`.
    """

    def __init__(self, kind: str, rule: str, table: str) -> None:
        self.kind, self.rule = kind, rule
        self.arrays = {}
        for name, dtype, shape, *limits in map(str.split, table.strip().splitlines()):
            found = np.dtype(dtype), shape.split(","), name.endswith("?"), *(limits or [""])
            self.arrays[name.removesuffix("?")] = Array(*found)

    def write(
        self, file: str | Path, values: Mapping[str, Any], attributes: Mapping[str, Any]
    ) -> None:
        """Write a file atomically; an optional array that is None is left out.

        The file is assembled in memory. If it were written piece by piece and the disk filled up,
        HDF5 would be left with objects that it can neither write nor discard, and would crash.
        """
        missing = [name for name in REQUIRED if name not in attributes]
        if missing:
            raise ValueError(f"attributes={sorted(attributes)} should include {missing} too.")
        image = io.BytesIO()
        with h5py.File(image, "w", libver=("v110", "v110")) as opened:
            for name, array in self.arrays.items():
                if values[name] is not None or not array.is_optional:
                    data = np.asarray(values[name], dtype=array.dtype)
                    pack = {"compression": 1, "shuffle": True} if "packed" in array.limits else {}
                    opened.create_dataset(
                        name, data=data, chunks=data.shape, fletcher32=True, **pack
                    )
            for name, value in {**attributes, "kind": self.kind}.items():
                opened.attrs[name] = _stored(value)
        write_bytes(image.getbuffer(), file)

    def read(self, file: str | Path) -> tuple[dict[str, Any], dict[str, Any]]:
        """Read and check the arrays, None if left out, and the attributes of a file."""
        with open_checked(file, self.rule) as opened:
            attributes = self._read_attributes(opened)
            # A fit may have fewer clusters than requested.
            lengths = {"most_clusters": attributes["n_clusters"]}
            arrays = {name: self._read_array(opened, name, lengths) for name in self.arrays}
        return arrays, attributes

    def _read_array(self, opened: h5py.File, name: str, lengths: dict[str, int]) -> Any:
        array = self.arrays[name]
        if name not in opened:
            require(array.is_optional, f"array {name!r} is missing")
            return None
        # `get` would take a damaged array for a missing one.
        stored = opened[name]
        is_right = getattr(stored, "dtype", None) == array.dtype
        require(is_right, f"{name} should be an array of {array.dtype.name}")
        # None stands for a length that no previous array has.
        require_shape(stored, name, [lengths.get(length) for length in array.shape])
        is_whole = stored.chunks == stored.shape and stored.id.get_num_chunks()
        is_checked = stored.fletcher32 and is_whole
        require(is_checked, f"{name}: values are missing or have no checksum")
        lengths.update(zip(array.shape, stored.shape, strict=True))
        values = stored[()]
        if "share" in array.limits:
            is_share = not ((values < 0) | (values > 1)).any()
            require(is_share, f"{name} should lie in [0, 1]")
            return values
        require(np.isfinite(values).all(), f"{name}: contains NaN or infinity")
        if ".." in array.limits:
            low, length = array.limits.split("..")
            is_inside = ((values >= int(low)) & (values < lengths[length])).all()
            require(is_inside, f"{name} should lie in [{low}, {lengths[length]})")
        return values

    def _read_attributes(self, opened: h5py.File) -> dict[str, Any]:
        plain = {name: np.asarray(value).item() for name, value in opened.attrs.items()}
        found = {key: v.decode() if isinstance(v, bytes) else v for key, v in plain.items()}
        kind = found.pop("kind", None)
        require(kind == self.kind, f"kind={kind!r} should be {self.kind!r}")
        missing = [name for name in REQUIRED if name not in found]
        require(not missing, f"attributes {missing} are missing")
        for name, type_ in REQUIRED.items():
            if type_ is dict:
                with suppress(TypeError, ValueError, RecursionError):
                    found[name] = json.loads(found[name])
            value = found[name]
            is_valid = isinstance(value, type_) and (type_ is not int or value >= 0)
            require(is_valid, f"attribute {name}={value!r} is not valid")
        return found


def _stored(value: Any) -> Any:
    """Convert the value of an attribute to its form in a file: text has a fixed length."""
    if isinstance(value, Mapping):
        value = json.dumps(value, sort_keys=True)
    if not isinstance(value, str):
        return value
    text = value.encode()
    return np.array(text, dtype=h5py.string_dtype("utf-8", max(len(text), 1)))


# The file ``path.h5``: a method's fits at all sparsities, see `SparsityPath`.
_PATH = Store(
    "path",
    "cluster_path",
    """
    sparsities        float64  n_sparsities
    objectives        float64  n_sparsities
    first_objectives  float64  n_sparsities
    labels            int32    n_sparsities,n_samples   -1..most_clusters
    n_iter            int64    n_sparsities
    scores            float64  n_sparsities,n_features
    weights           float64  n_sparsities,n_features  packed
    samples?          int64    n_samples
    """,
)


def write_path(
    file: str | Path,
    path: SparsityPath,
    attributes: Mapping[str, Any],
    samples: np.ndarray | None = None,
) -> None:
    """Write a path atomically; `samples` are the clustered samples, ascending, if not all."""
    _PATH.write(file, {**vars(path), "samples": samples}, {**attributes, "search": path.search})


def read_path(file: str | Path) -> tuple[SparsityPath, dict[str, Any]]:
    """Read and check a path and its attributes."""
    arrays, attributes = _PATH.read(file)
    del arrays["samples"]
    return SparsityPath(**arrays, search=attributes["search"]), attributes


# The files ``chosen.h5``, the fit that the tuning chose, and ``tuned.h5``, the one that is shown.
# The latter is the best of the fits from several seeds at the chosen sparsity, if the method asks
# for this. Further attributes: ``rule``, ``reference`` and ``n_references``, which describe how the
# fit was chosen, with the rule ``auto`` also ``limited`` (the limit decided how many features are
# kept). If the tuning drew some of the samples, ``n_tuned`` is their number.
_FIT = Store(
    "fit",
    "tune_sparsity",
    """
    labels                int32    n_samples              0..most_clusters
    scores                float64  n_features
    centers               float64  n_clusters,n_features
    weights               float64  n_features             packed
    trimmed?              int8     n_samples              share
    reproducibility?      float64  n_samples              share
    left_out?             int32    n_samples              -1..most_clusters
    left_out_centers?     float64  n_clusters,n_features
    batch_centred?        int32    n_samples              -1..most_clusters
    partitions?           int16    n_fits,n_samples
    fitted_centers?       float64  n_fitted,n_features
    cluster_of?           int64    n_fitted               0..n_clusters
    scale?                float64  n_features
    signature?            int64    n_signature            0..n_features
    cluster_signatures?   int8     n_clusters,n_features  share,packed
    cluster_agreements?   float64  n_clusters
    selection_frequency?  float64  n_features             share
    overlaps?             float64  n_clusters             share
    """,
)
# Fields of a fit that are attributes of the file, and their values if they are not known.
_OF_FIT = {
    "sparsity": None,
    "objective": None,
    "screening": "",
    "has_clusters": None,
    "conclusion": "",
    "signature_agreement": None,
    "n_nearly": 0,
    "nearly_agreement": 0.0,
}
# With more samples, the partitions of folds would take too much space.
MOST_TOGETHER = 2000


def write_fit(file: str | Path, fit: ChosenFit) -> None:
    """Write a fit atomically, without the tables of its tests."""
    known = {name: getattr(fit, name) for name in _OF_FIT}
    known = {name: value for name, value in known.items() if value not in (None, "")}
    few, signatures = fit.cluster_signatures, None
    if few is not None:
        signatures = np.zeros(fit.centers.shape, np.int8)
        for own, features in zip(signatures, few, strict=True):
            own[[] if features is None else features] = 1
    arrays = {**vars(fit), "cluster_signatures": signatures}
    if len(fit.labels) > MOST_TOGETHER:
        arrays["partitions"] = None
    _FIT.write(file, arrays, {**fit.attributes, **known})


def read_fit(file: str | Path) -> ChosenFit:
    """Read and check a fit."""
    arrays, attributes = _FIT.read(file)
    known = {name: attributes.pop(name, value) for name, value in _OF_FIT.items()}
    numbers = {name: known[name] for name in ("sparsity", "objective")}
    if not all(isinstance(value, float) for value in numbers.values()):
        raise DamagedFileError(file, f"attributes {numbers} should be numbers", _FIT.rule)
    if arrays["cluster_signatures"] is not None:
        found = map(np.flatnonzero, arrays["cluster_signatures"])
        arrays["cluster_signatures"] = [own if len(own) else None for own in found]
    return ChosenFit(**known, **arrays, attributes=attributes)


def read_fits(methods: Iterable[str], files: Iterable[str | Path]) -> dict[str, ChosenFit]:
    """Read the fit of each method."""
    return {method: read_fit(file) for method, file in zip(methods, files, strict=True)}


# A file ``references/{batch}.h5``: the objectives of a batch of reference data sets, which one job
# computes. ``indices`` are their numbers, from which their seeds are derived; the attribute
# ``reference`` is their kind.
REFERENCES = Store(
    "references",
    "reference_path",
    """
    indices     int64    n_references
    sparsities  float64  n_sparsities
    objectives  float64  n_references,n_sparsities
    """,
)


def read_references(
    files: Iterable[str | Path], sparsities: np.ndarray
) -> tuple[np.ndarray, dict[str, Any]]:
    """Read the objectives of batches, in the order of the references' numbers, and attributes.

    All must have the same `sparsities`, and no number twice. The attributes are the first file's.
    """
    batches, attributes = zip(*map(REFERENCES.read, files), strict=True)
    for file, batch in zip(files, batches, strict=True):
        if not np.array_equal(batch["sparsities"], sparsities):
            problem = f"sparsity={batch['sparsities']} should be {sparsities}"
            raise DamagedFileError(file, problem, REFERENCES.rule)
    indices = np.concatenate([batch["indices"] for batch in batches])
    if len(np.unique(indices)) < len(indices):
        raise DamagedFileError(file, "two batches contain the same reference", REFERENCES.rule)
    objectives = np.concatenate([each["objectives"] for each in batches])
    return objectives[np.argsort(indices)], attributes[0]
