"""A matrix as read from its file, before normalisation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from sparsekm.io.input_error import InputError, is_storable, reason_of
from sparsekm.io.known_classes import UNKNOWN
from sparsekm.io.row_stream import RowStream

HELD_LIMIT = 16 * 2**30
"""Bytes of the largest matrix that is read as a whole; a larger one is refused without reading."""

STREAMED_LIMIT = 2**40
"""Likewise of the largest that is read in blocks of rows, for a file that declares too much."""

MIN_SAMPLES = 3
"""Smallest number of samples that can be clustered."""

MIN_LABELS = 2
"""Smallest number of samples with a known class: the comparison needs a pair."""

MISSING = ("", "NA", "NaN", "nan", "N/A", "n/a", "#N/A", "NULL", "null")
"""Text that means a missing value or class, as do None and NaN."""

MOST_LISTED = 10
"""Largest number of names listed in a message."""

FEATURE_ARRAYS = ("genes", "features")
"""Names of arrays that may hold the feature names."""

LABEL_ARRAYS = ("y", "labels")
"""Names of arrays that hold the known classes by default."""


class MatrixError(InputError):
    """A user's matrix cannot be used; the message gives the problem, its place and the rule."""


@contextmanager
def explain_damage(file: object, kind: str, cure: str) -> Iterator[None]:
    """Turn any error inside the block into a `MatrixError`, except that memory ran out.

    A damaged file can cause almost any error anywhere inside the library that reads it.
    """
    try:
        yield
    except (MatrixError, MemoryError):
        raise
    except Exception as error:
        raise MatrixError(
            f"{file}: not a complete {kind} ({reason_of(error)}); it should be written by {cure}"
        ) from error


@dataclass
class RawMatrix:
    """A checked matrix of n samples and p features."""

    X: RowStream  # the values minus `offset`; sparse if it came so and takes less memory that way
    # (p,), float64: subtracted before rounding to float32, so that a feature such as 1e9 + noise
    # keeps its noise. Zero if the file contains float32, or X is sparse.
    offset: np.ndarray
    features: list[str]
    samples: list[str] | None = None
    labels: np.ndarray | None = None  # as `sparsekm.io.known_classes` describes them
    relevant: np.ndarray | None = None  # (p,), bool: the planted truth of a simulation
    # (n,), object array of str: samples of one group, such as a donor's, resemble each other.
    groups: np.ndarray | None = None
    positions: np.ndarray | None = None  # (n, d), float64: where the samples are in space
    # For the user, on what was guessed or looks odd, with the setting that overrides it.
    remarks: list[str] = field(default_factory=list)


def listed(names: Iterable[str]) -> str:
    """Write names as a list in a setting, at most the first `MOST_LISTED`.

    Examples
    --------
    >>> listed(["age", "sex"])
    '[age, sex]'
    """
    names = list(names)
    return f"[{', '.join(names[:MOST_LISTED])}{', ...' if len(names) > MOST_LISTED else ''}]"


def held_bytes(n_samples: int, n_features: int, n_stored: int | None = None) -> int:
    """Return the memory of a matrix, dense or, with fewer stored values than half, sparse."""
    dense = 4 * n_samples * n_features
    return dense if n_stored is None else min(dense, 8 * n_stored)


def check_size(
    file: object,
    n_samples: int,
    n_features: int,
    n_stored: int | None = None,
    *,
    in_blocks: bool = False,
) -> None:
    """Refuse a matrix that is too small to cluster, or larger than its limit."""
    if n_samples < MIN_SAMPLES:
        raise MatrixError(f"{file}: n_samples={n_samples} should be >= {MIN_SAMPLES}.")
    if n_features < 1:
        raise MatrixError(f"{file}: n_features={n_features} should be >= 1.")
    n_bytes = held_bytes(n_samples, n_features, n_stored)
    limit = STREAMED_LIMIT if in_blocks else HELD_LIMIT
    if n_bytes > limit:
        kind = "dense" if n_stored is None else "sparse"
        raise MatrixError(
            f"{file}: {n_samples} x {n_features} takes {n_bytes / 2**30:.1f} GiB as {kind} "
            f"float32; the limit is {limit / 2**30:.0f} GiB."
        )


def check_features(
    file: object,
    features: Iterable[object],
    *,
    advice: str = "rename them or merge their values",
    can_ignore: bool = False,
) -> list[str]:
    """Check that feature names are present and unique, and return them as strings."""
    return _check_names(file, features, "feature", advice, can_ignore)


def check_samples(
    file: object, samples: Iterable[object], source: str = "", *, advice: str = "rename them"
) -> list[str]:
    """Check that sample names, from column `source`, are unique, and return them as strings."""
    if source:
        advice += (
            f". Or, if {source!r} is something else, set labels: {source} or ignore: [{source}]"
        )
    return _check_names(file, samples, "sample", advice)


def _check_names(
    file: object, values: Iterable[object], kind: str, advice: str, can_ignore: bool = False
) -> list[str]:
    names = [str(value) for value in values]
    unnamed = sum(not name.strip() for name in names)
    if unnamed:
        raise MatrixError(f"{file}: {unnamed} {kind}s have no name; each needs one: {advice}.")
    odd = next((name for name in names if not is_storable(name)), None)
    if odd is not None:
        raise MatrixError(
            f"{file}: {kind} name {odd!r} should be text without NUL or unpaired surrogates."
        )
    seen: set[str] = set()
    repeated = sorted({name for name in names if name in seen or seen.add(name)})
    if repeated:
        shown = ", ".join(repeated[:5]) + (", ..." if len(repeated) > 5 else "")
        if can_ignore:
            advice += f". Or set ignore: {listed(repeated)} to leave them out"
        raise MatrixError(
            f"{file}: {len(repeated)} {kind} names are not unique ({shown}); each should occur "
            f"once: {advice}."
        )
    return names


def hint_at_transposition(
    what: str, shape: tuple[int, ...] | None, length: int, other: int | None
) -> str:
    """Return a sentence for a message if `what` fits the other axis of the matrix, else ""."""
    if shape != (other,) or other == length:
        return ""
    return (
        f" X looks transposed, since {what} fits its other axis: rows should be samples and "
        "columns features."
    )


def check_labels(file: object, name: str, values: np.ndarray) -> np.ndarray:
    """Check known classes and return them as strings, `UNKNOWN` for a sample without a class.

    Integers that were read as floats become integers again: the label 3.0 is "3". -1 is a class.
    """
    labels = _strings(file, "label", name, values)
    n_known = len(labels) - labels.count(UNKNOWN)
    if n_known < MIN_LABELS:
        raise MatrixError(
            f"{file}: labels {name!r} are known for {n_known} of {len(labels)} samples; they "
            f"should be known for at least {MIN_LABELS}, or be left out."
        )
    return np.array(labels, dtype=object)


def check_groups(file: object, name: str, values: np.ndarray) -> np.ndarray:
    """Check groups of samples and return them as strings, written like classes."""
    groups = _strings(file, "group", name, values)
    n_missing = groups.count(UNKNOWN)
    if n_missing:
        raise MatrixError(
            f"{file}: groups {name!r} are missing for {n_missing} of {len(groups)} samples; every "
            "sample should have one. Fill them in, or leave out groups."
        )
    if len(set(groups)) < 2:
        raise MatrixError(
            f"{file}: groups {name!r} are all {groups[0]!r}; there should be at least two, or "
            "groups should be left out."
        )
    return np.array(groups, dtype=object)


def check_relevant(file: object, values: np.ndarray) -> np.ndarray:
    """Check a planted truth, bool or 0 and 1, and return it as bool."""
    if values.dtype.kind not in "biuf" or not np.isin(values, (0, 1)).all():
        raise MatrixError(f"{file}: relevant should be True or False, or 1 or 0, for each feature.")
    return values.astype(bool)


def _strings(file: object, kind: str, name: str, values: np.ndarray) -> list[str]:
    """Write the classes or groups of a column as strings, `UNKNOWN` where they are missing."""
    values = [None if _is_missing(value) else value for value in values.tolist()]
    numbers = [value for value in values if isinstance(value, float | np.floating)]
    whole = all(float(number).is_integer() for number in numbers)
    names = [UNKNOWN if value is None else _name(value, whole) for value in values]
    odd = next((each for each in names if not is_storable(each)), None)
    if odd is not None:
        raise MatrixError(
            f"{file}: {kind} {odd!r} of {name!r} should be text without NUL or unpaired surrogates."
        )
    return names


def _is_missing(value: object) -> bool:
    if isinstance(value, str):
        return value.strip() in MISSING
    return bool(pd.isna(value))


def _name(value: object, whole: bool) -> str:
    if isinstance(value, float | np.floating):
        return str(int(value)) if whole else repr(float(value))
    # Otherwise surrounding blanks would make a different class of the same word.
    return str(value).strip()
