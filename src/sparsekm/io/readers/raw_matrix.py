"""A matrix as its file holds it, before any normalisation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from sparsekm.annotation.known_classes import UNKNOWN
from sparsekm.storage.input_error import InputError, is_storable

DENSE_LIMIT = 16 * 2**30
"""Bytes of the largest float32 matrix that is read; whatever claims more is refused unread."""

MIN_SAMPLES = 3
"""Two samples leave nothing to cluster."""

MIN_LABELS = 2
"""Samples whose class is known: without a pair of them there is nothing to compare."""

MISSING_LABELS = ("", "NA", "NaN", "nan")
"""Text that stands for no class in all formats; so do None and numbers that are none."""

FEATURE_ARRAYS = ("genes", "features")
"""Arrays of a file of arrays that may hold the features' names."""

LABEL_ARRAYS = ("y", "labels")
"""Arrays of a file of arrays that may hold the known classes, unless another is named."""


class MatrixError(InputError):
    """A user's matrix cannot be used; the message says what is wrong, where, and the rule."""


@dataclass
class RawMatrix:
    """A checked matrix of n samples and p features.

    Attributes
    ----------
    X : float32 array of shape (n, p)
        Values less `offset`.
    offset : float64 array of shape (p,)
        What was subtracted before rounding to float32, so that a feature such as 1e9 + noise
        keeps its noise. Zero where the file holds float32.
    features : list of str
    samples : list of str or None
    labels : object array of str, shape (n,), or None
        As `sparsekm.annotation.known_classes` describes them.
    relevant : bool array of shape (p,) or None
        The planted truth of a simulation.
    """

    X: np.ndarray
    offset: np.ndarray
    features: list[str]
    samples: list[str] | None = None
    labels: np.ndarray | None = None
    relevant: np.ndarray | None = None


class BlockCollector:
    """Gathers blocks of rows as float32 and remembers what is missing.

    Blocks keep the peak of memory near one float32 matrix, whatever type the file holds.

    Parameters
    ----------
    file : path
        For messages.
    features : sequence of str
    """

    def __init__(self, file: object, features: Sequence[str]) -> None:
        self.file = file
        self.features = features
        self.offset: np.ndarray | None = None
        self.n_rows = 0
        self._n_bad = {"missing": 0, "infinite": 0}
        self._first_bad: dict[str, tuple[int, int]] = {}

    def convert(self, block: np.ndarray) -> np.ndarray:
        """Round a block of rows to float32, less the first row unless it is float32 already."""
        if self.offset is None:
            self.offset = np.zeros(block.shape[1])
            if block.dtype != np.float32 and len(block):
                self.offset = np.nan_to_num(block[0].astype(np.float64), posinf=0, neginf=0)
        if block.dtype != np.float32:
            with np.errstate(over="ignore", invalid="ignore"):
                block = (block.astype(np.float64) - self.offset).astype(np.float32)
        if not np.isfinite(block).all():
            self._count(block)
        self.n_rows += len(block)
        return block

    def _count(self, block: np.ndarray) -> None:
        for kind, bad in (("missing", np.isnan(block)), ("infinite", np.isinf(block))):
            if bad.any():
                self._n_bad[kind] += int(bad.sum())
                row, column = (int(at[0]) for at in np.nonzero(bad))
                self._first_bad.setdefault(kind, (self.n_rows + row, column))

    def finish(self) -> np.ndarray:
        """Check that every value was finite and return the offset, shape (p,)."""
        for kind, (row, column) in self._first_bad.items():
            raise MatrixError(
                f"{self.file}: {self._n_bad[kind]} {kind} values, the first at sample {row + 1}, "
                f"feature {self.features[column]!r}. Every value should be finite (in the range "
                "of float32): impute or drop them first."
            )
        return np.zeros(len(self.features)) if self.offset is None else self.offset


def check_size(file: object, n_samples: int, n_features: int) -> None:
    """Refuse a matrix that is too small to cluster or larger than `DENSE_LIMIT`."""
    if n_samples < MIN_SAMPLES:
        raise MatrixError(f"{file}: n_samples={n_samples} should be >= {MIN_SAMPLES}.")
    if n_features < 1:
        raise MatrixError(f"{file}: n_features={n_features} should be >= 1.")
    n_bytes = 4 * n_samples * n_features
    if n_bytes > DENSE_LIMIT:
        raise MatrixError(
            f"{file}: {n_samples} x {n_features} takes {n_bytes / 2**30:.1f} GiB as dense float32; "
            f"at most {DENSE_LIMIT / 2**30:.0f} GiB are read."
        )


def check_features(file: object, features: Iterable[object]) -> list[str]:
    """Check that feature names are there and differ, and return them as strings."""
    return _check_names(file, features, "feature", "rename them or merge their columns")


def check_samples(file: object, samples: Iterable[object], source: str = "") -> list[str]:
    """Check that sample names are there and differ, and return them as strings.

    Parameters
    ----------
    file : path
        For messages.
    samples : iterable
    source : str, optional
        Where the names come from, for messages.
    """
    advice = "rename them" + (f", or say what {source} is: labels={source!r}" if source else "")
    return _check_names(file, samples, "sample", advice)


def _check_names(file: object, values: Iterable[object], kind: str, advice: str) -> list[str]:
    names = [str(value) for value in values]
    unnamed = sum(not name.strip() for name in names)
    if unnamed:
        raise MatrixError(f"{file}: {unnamed} {kind}s have no name; every one should.")
    odd = next((name for name in names if not is_storable(name)), None)
    if odd is not None:
        raise MatrixError(
            f"{file}: {kind} name {odd!r} should be text without NUL or half a surrogate pair."
        )
    seen: set[str] = set()
    repeated = sorted({name for name in names if name in seen or seen.add(name)})
    if repeated:
        shown = ", ".join(repeated[:5]) + (", ..." if len(repeated) > 5 else "")
        raise MatrixError(
            f"{file}: {len(repeated)} {kind} names are not unique ({shown}); each should stand "
            f"once: {advice}."
        )
    return names


def hint_at_transposition(
    what: str, shape: tuple[int, ...] | None, length: int, other: int | None
) -> str:
    """Give a sentence for a message where `what` fits the matrix' other axis, else nothing."""
    if shape != (other,) or other == length:
        return ""
    return (
        f" X looks transposed, since {what} would fit its other axis: rows should be samples, "
        "columns features."
    )


def check_labels(
    file: object,
    name: str,
    values: Sequence[object],
    n_samples: int,
    n_features: int | None = None,
) -> np.ndarray:
    """Check known classes and return them as strings.

    Whole numbers read as floats become whole numbers again: the label 3.0 is "3". -1 is a class.

    Parameters
    ----------
    file : path
        For messages.
    name : str
        Name of the labels in the file.
    values : sequence of length n
    n_samples : int
    n_features : int, optional
        Where it fits in place of `n_samples`, the message says that X looks transposed.

    Returns
    -------
    labels : object array of str, shape (n,)
        `UNKNOWN` for a sample without a class.
    """
    values = np.asarray(values)
    if values.shape != (n_samples,):
        raise MatrixError(
            f"{file}: labels {name!r} have shape={values.shape}; there should be one for each of "
            f"the {n_samples} samples: ({n_samples},)."
            + hint_at_transposition("they", values.shape, n_samples, n_features)
        )
    values = [None if _is_missing(value) else value for value in values.tolist()]
    numbers = [value for value in values if isinstance(value, float | np.floating)]
    whole = all(float(number).is_integer() for number in numbers)
    labels = [UNKNOWN if value is None else _name(value, whole) for value in values]
    n_known = len(labels) - labels.count(UNKNOWN)
    if n_known < MIN_LABELS:
        raise MatrixError(
            f"{file}: labels {name!r} are known for {n_known} of {n_samples} samples; they should "
            f"be for at least {MIN_LABELS}, or be left out."
        )
    odd = next((label for label in labels if not is_storable(label)), None)
    if odd is not None:
        raise MatrixError(
            f"{file}: label {odd!r} of {name!r} should be text without NUL or half a surrogate "
            "pair."
        )
    return np.array(labels, dtype=object)


def check_relevant(file: object, values: np.ndarray) -> np.ndarray:
    """Check a planted truth and return it as bool; 0 and 1 will do."""
    if values.dtype.kind not in "biuf" or not np.isin(values, (0, 1)).all():
        raise MatrixError(f"{file}: relevant should be True or False, or 1 or 0, for each feature.")
    return values.astype(bool)


def _is_missing(value: object) -> bool:
    if isinstance(value, str):
        return value.strip() in MISSING_LABELS
    return bool(pd.isna(value))


def _name(value: object, whole: bool) -> str:
    if isinstance(value, float | np.floating):
        return str(int(value)) if whole else repr(float(value))
    # Blanks around it would make another class of the same word.
    return str(value).strip()
