"""The workflow's own HDF5 files: paths, fits and references, each with checksums throughout.

A file is a handful of named arrays and attributes, written whole and checked when it is read. Any
byte that changed since is noticed by HDF5 itself: every array is one chunk with a Fletcher-32
checksum, the structure of the file has checksums (format "v110"), and text is stored with a fixed
length in attributes. Plain h5py reads these files.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from sparsekm.cluster.sparsity_path import SparsityPath
from sparsekm.io.atomic import write_bytes
from sparsekm.io.hdf5_format import DamagedFileError, fits_shape, open_checked

REQUIRED = {
    **dict.fromkeys(("method", "dataset", "search", "input_digest", "code_digest"), str),
    **dict.fromkeys(("n_clusters", "seed"), int),
    **dict.fromkeys(("parameters", "versions"), dict),
}
"""The attributes that every file has, and their types; mappings are stored as JSON.

``seed`` is the data set's seed; the digests are SHA-256 in hexadecimal. Files may have others.
"""


@dataclass(frozen=True)
class Array:
    """An array: its type, and names of its lengths, which mean the same throughout a file.

    The values of a `share` lie in [0, 1], or are NaN if they are unknown; other numbers are finite.
    Those of positions start at the least number that `within` gives, and are below a length.
    """

    dtype: type
    shape: tuple[str, ...]
    optional: bool = False
    share: bool = False
    within: tuple[int, str] | None = None


@dataclass(frozen=True)
class Store:
    """A kind of file: the rule that writes it, and its arrays by name."""

    kind: str
    rule: str
    arrays: Mapping[str, Array]

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
                if values[name] is None and array.optional:
                    continue
                data = np.asarray(values[name], dtype=array.dtype)
                # Where most values are 0, they take no space.
                is_empty = name in ("weights", "cluster_signatures")
                pack = {"compression": 1, "shuffle": True} if is_empty else {}
                opened.create_dataset(name, data=data, chunks=data.shape, fletcher32=True, **pack)
            for name, value in {**attributes, "kind": self.kind}.items():
                opened.attrs[name] = _stored(value)
        write_bytes(image.getbuffer(), file)

    def read(self, file: str | Path) -> tuple[dict[str, Any], dict[str, Any]]:
        """Read and check the arrays, None if left out, and the attributes of a file."""
        with open_checked(file, self.rule) as opened:
            attributes = self._read_attributes(opened)
            # A fit may have fewer clusters than it was asked for.
            lengths = {"most_clusters": attributes["n_clusters"]}
            arrays = {name: self._read_array(opened, name, lengths) for name in self.arrays}
        return arrays, attributes

    def _read_array(self, opened: h5py.File, name: str, lengths: dict[str, int]) -> Any:
        array = self.arrays[name]
        if name not in opened:
            if array.optional:
                return None
            raise self._damaged(opened, f"array {name!r} is missing")
        # Not `get`, which takes a damaged array for a missing one.
        stored = opened[name]
        if getattr(stored, "dtype", None) != array.dtype:
            should = np.dtype(array.dtype).name
            raise self._damaged(opened, f"{name} should be an array of {should}")
        # None stands for a length that no array before it has.
        wanted = tuple(lengths.get(length) for length in array.shape)
        found = stored.shape
        if not fits_shape(found, wanted):
            raise self._damaged(opened, f"{name}: shape={found} should be {wanted}")
        if not stored.fletcher32 or stored.chunks != found or not stored.id.get_num_chunks():
            raise self._damaged(opened, f"{name}: values are missing or have no checksum")
        lengths.update(zip(array.shape, found, strict=True))
        values = stored[()]
        if array.share:
            if (values < 0).any() or (values > 1).any():
                raise self._damaged(opened, f"{name} should lie in [0, 1]")
        elif not np.isfinite(values).all():
            raise self._damaged(opened, f"{name}: contains NaN or infinity")
        if array.within is not None:
            low, high = array.within[0], lengths[array.within[1]]
            if ((values < low) | (values >= high)).any():
                raise self._damaged(opened, f"{name} should lie in [{low}, {high})")
        return values

    def _read_attributes(self, opened: h5py.File) -> dict[str, Any]:
        found = {name: _restored(value) for name, value in opened.attrs.items()}
        kind = found.pop("kind", None)
        if kind != self.kind:
            raise self._damaged(opened, f"kind={kind!r} should be {self.kind!r}")
        missing = [name for name in REQUIRED if name not in found]
        if missing:
            raise self._damaged(opened, f"attributes {missing} are missing")
        for name, type_ in REQUIRED.items():
            if type_ is dict:
                try:
                    found[name] = json.loads(found[name])
                except (TypeError, ValueError, RecursionError) as error:
                    raise self._damaged(opened, f"attribute {name!r} is not JSON") from error
            value = found[name]
            if not isinstance(value, type_) or (type_ is int and value < 0):
                raise self._damaged(opened, f"attribute {name}={value!r} is not valid")
        return found

    def _damaged(self, opened: h5py.File, problem: str) -> DamagedFileError:
        return DamagedFileError(opened.filename, problem, self.rule)


def _stored(value: Any) -> Any:
    """Convert the value of an attribute to its form in a file: text has a fixed length."""
    if isinstance(value, Mapping):
        value = json.dumps(value, sort_keys=True)
    if not isinstance(value, str):
        return value
    text = value.encode()
    return np.array(text, dtype=h5py.string_dtype("utf-8", max(len(text), 1)))


def _restored(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    return value.item() if hasattr(value, "item") else value


# The file ``path.h5``: a method's fits at all sparsities, see `SparsityPath`.
_GRID, _GRID_BY_FEATURES = ("n_sparsities",), ("n_sparsities", "n_features")
_PATH = Store(
    "path",
    "cluster_path",
    {
        "sparsities": Array(np.float64, _GRID),
        "objectives": Array(np.float64, _GRID),
        "first_objectives": Array(np.float64, _GRID),
        "labels": Array(np.int32, ("n_sparsities", "n_samples"), within=(-1, "most_clusters")),
        "n_iter": Array(np.int64, _GRID),
        "scores": Array(np.float64, _GRID_BY_FEATURES),
        "weights": Array(np.float64, _GRID_BY_FEATURES),
        "samples": Array(np.int64, ("n_samples",), optional=True),
    },
)


def write_path(
    file: str | Path,
    path: SparsityPath,
    attributes: Mapping[str, Any],
    samples: np.ndarray | None = None,
) -> None:
    """Write a path atomically; `samples` are those that were clustered, ascending, if not all."""
    _PATH.write(file, {**vars(path), "samples": samples}, {**attributes, "search": path.search})


def read_path(file: str | Path) -> tuple[SparsityPath, dict[str, Any]]:
    """Read and check a path and its attributes."""
    arrays, attributes = _PATH.read(file)
    del arrays["samples"]
    return SparsityPath(**arrays, search=attributes["search"]), attributes


# The files ``chosen.h5``, the fit that the tuning chose, and ``tuned.h5``, the one that is
# shown. The latter is the best of those from several seeds at the chosen sparsity, if the
# method asks for the best. Further attributes: ``rule``, ``reference`` and ``n_references``, which
# describe how the fit was chosen, with the rule ``auto`` also ``conclusion`` and ``limited`` (the
# limit decided how many features are kept); or ``conclusion``, ``has_clusters``, ``screening`` and
# ``signature_agreement``, and ``n_joined``, the clusters that were joined into fewer, if any were.
# If the tuning drew some of the samples, ``n_tuned`` is their number.
_FIT = Store(
    "fit",
    "tune_sparsity",
    {
        "labels": Array(np.int32, ("n_samples",), within=(0, "most_clusters")),
        "scores": Array(np.float64, ("n_features",)),
        "centers": Array(np.float64, ("n_clusters", "n_features")),
        "weights": Array(np.float64, ("n_features",)),
        "trimmed": Array(np.int8, ("n_samples",), optional=True, share=True),
        "reproducibility": Array(np.float64, ("n_samples",), optional=True, share=True),
        "left_out": Array(np.int32, ("n_samples",), optional=True, within=(-1, "most_clusters")),
        "batch_centred": Array(
            np.int32, ("n_samples",), optional=True, within=(-1, "most_clusters")
        ),
        "partitions": Array(np.int16, ("n_fits", "n_samples"), optional=True),
        "signature": Array(np.int64, ("n_signature",), optional=True, within=(0, "n_features")),
        "cluster_signatures": Array(
            np.int8, ("n_clusters", "n_features"), optional=True, share=True
        ),
        "cluster_agreements": Array(np.float64, ("n_clusters",), optional=True),
        "selection_frequency": Array(np.float64, ("n_features",), optional=True, share=True),
    },
)
_NUMBERS = ("sparsity", "objective")
# Of more samples, the partitions of folds would take too much room.
MOST_TOGETHER = 2000


@dataclass(frozen=True)
class TunedFit:
    """One partition of n samples into K clusters with the weights of p features."""

    sparsity: float
    objective: float  # the sum over features of weight times score
    labels: np.ndarray  # (n,), int32
    # (p,), float64: between-cluster sums of squares a_j, and the features' weights.
    scores: np.ndarray
    weights: np.ndarray
    centers: np.ndarray  # (K, p), float64: in the space of the normalised matrix
    attributes: Mapping[str, Any] = field(default_factory=dict)
    # (n,), int8: 1 for a sample that was set aside as an outlier; its label is the nearest cluster.
    trimmed: np.ndarray | None = None
    # (n,), float64: share of the fits of folds that put a sample into its cluster; NaN for a
    # sample that the tuning did not draw.
    reproducibility: np.ndarray | None = None
    # (n,), int32: the cluster of a sample in the fits that leave it out, or -1.
    left_out: np.ndarray | None = None
    # (p,), float64: share of the fits of folds that keep a feature.
    selection_frequency: np.ndarray | None = None
    # Ascending: the smallest set of features that tells the clusters apart, if there is one.
    signature: np.ndarray | None = None
    # (K, p), int8, and (K,), float64: 1 for the smallest set of features that tells a cluster from
    # the others, and how well it puts left-out samples into it or not.
    cluster_signatures: np.ndarray | None = None
    cluster_agreements: np.ndarray | None = None
    # (n,), int32: the clusters of values centred within batches, numbered as those they match, -1
    # if they match none.
    batch_centred: np.ndarray | None = None
    # (n_fits, n), int16: the clusters in each of the fits of folds, if the tuning used all samples
    # and they are at most `MOST_TOGETHER`.
    partitions: np.ndarray | None = None

    @property
    def clustered(self) -> np.ndarray:
        """The labels, (n,), -1 for samples that were set aside."""
        return self.labels if self.trimmed is None else np.where(self.trimmed, -1, self.labels)


def write_fit(file: str | Path, fit: TunedFit) -> None:
    """Write a fit atomically; its sparsity and objective are attributes."""
    numbers = {name: float(getattr(fit, name)) for name in _NUMBERS}
    _FIT.write(file, vars(fit), {**fit.attributes, **numbers})


def read_fit(file: str | Path) -> TunedFit:
    """Read and check a fit."""
    arrays, attributes = _FIT.read(file)
    numbers = {name: attributes.pop(name, None) for name in _NUMBERS}
    if not all(isinstance(value, float) for value in numbers.values()):
        raise DamagedFileError(file, f"attributes {numbers} should be numbers", _FIT.rule)
    return TunedFit(**numbers, **arrays, attributes=attributes)


def read_fits(methods: Iterable[str], files: Iterable[str | Path]) -> dict[str, TunedFit]:
    """Read the fit of each method."""
    return {method: read_fit(file) for method, file in zip(methods, files, strict=True)}


def pick_fit(
    path: SparsityPath, position: int, centers: np.ndarray, attributes: Mapping[str, Any]
) -> TunedFit:
    """Select one fit of a path; `centers` (K, p) are the means of its clusters."""
    return TunedFit(
        sparsity=float(path.sparsities[position]),
        objective=float(path.objectives[position]),
        labels=path.labels[position],
        scores=path.scores[position],
        weights=path.weights[position],
        centers=centers,
        attributes=attributes,
    )


# A file ``references/{batch}.h5``: a batch of reference data sets, computed by one job.
_REFERENCES = Store(
    "references",
    "reference_path",
    {
        "indices": Array(np.int64, ("n_references",)),
        "sparsities": Array(np.float64, _GRID),
        "objectives": Array(np.float64, ("n_references", "n_sparsities")),
    },
)


@dataclass(frozen=True)
class References:
    """The objectives of references; ``reference``, their kind, is an attribute."""

    indices: np.ndarray  # (b,), the numbers of the references, from which their seeds are derived
    sparsities: np.ndarray  # (m,)
    objectives: np.ndarray  # (b, m)
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def write(self, file: str | Path) -> None:
        """Write a batch atomically."""
        _REFERENCES.write(file, vars(self), self.attributes)

    @classmethod
    def read(cls, files: Iterable[str | Path], sparsities: np.ndarray | None = None) -> References:
        """Read batches and join them in the order of their numbers, none of which occurs twice.

        All must have the same sparsities: those of a path, if they are given. The attributes are
        those of the first file.
        """
        batches = []
        for file in files:
            arrays, attributes = _REFERENCES.read(file)
            sparsities = arrays["sparsities"] if sparsities is None else sparsities
            if not np.array_equal(arrays["sparsities"], sparsities):
                problem = f"sparsity={arrays['sparsities']} should be {sparsities}"
                raise DamagedFileError(file, problem, _REFERENCES.rule)
            batches.append(cls(**arrays, attributes=attributes))
        indices = np.concatenate([batch.indices for batch in batches])
        order = np.argsort(indices)
        if (np.diff(indices[order]) == 0).any():
            raise DamagedFileError(file, "a reference is in two batches", _REFERENCES.rule)
        objectives = np.concatenate([batch.objectives for batch in batches])[order]
        return cls(indices[order], sparsities, objectives, batches[0].attributes)
