"""A matrix as read from its file, before normalisation."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches

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

MOST_SHOWN = 10
"""Largest number of names in a message that only describes."""

_BARE = re.compile(r"[A-Za-z0-9_][\w .+/()%-]*(?<! )")
_NOT_TEXT = re.compile(r"(?i:true|false|yes|no|on|off|null|y|n|0[\dxo].*|\d.*[.e_:].*)")


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
    """A checked matrix of n samples and p features; NaN in X is a missing value."""

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
    # What else is known of the samples, each (n,): numbers, or objects; NaN or None if unknown.
    annotations: dict[str, np.ndarray] = field(default_factory=dict)
    lines: str | None = None  # what the lines of a table hold: "samples" or "features"
    # For the user, on what was guessed, changed or left out, with the setting that overrides it.
    remarks: list[str] = field(default_factory=list)

    def take(
        self, X: np.ndarray, offset: np.ndarray, rows: np.ndarray, columns: np.ndarray
    ) -> None:
        """Replace the values, and keep only some samples and features, all by their index."""
        self.X, self.offset = RowStream.of(X), offset
        self.features = [self.features[at] for at in columns]
        self.relevant = None if self.relevant is None else self.relevant[columns]
        if self.samples is not None:
            self.samples = [self.samples[at] for at in rows]
        for name in ("labels", "groups", "positions"):
            if getattr(self, name) is not None:
                setattr(self, name, getattr(self, name)[rows])
        self.annotations = {name: values[rows] for name, values in self.annotations.items()}


def quoted(name: object) -> str:
    """Write a name as YAML reads it back in a list: in quotation marks where it needs them."""
    text = str(name)
    if isinstance(name, str) and (_NOT_TEXT.fullmatch(text) or not _BARE.fullmatch(text)):
        return json.dumps(text, ensure_ascii=False)
    return text


def listed(names: Iterable[object]) -> str:
    """Write names as a list that can be pasted into a setting.

    Examples
    --------
    >>> listed(["age", "a, b"])
    '[age, "a, b"]'
    """
    return f"[{', '.join(map(quoted, names))}]"


def shown(names: Sequence[object], most: int = MOST_SHOWN) -> str:
    """Write the first names of a list that is only described."""
    return f"[{', '.join(map(str, names[:most]))}{', ...' if len(names) > most else ''}]"


def suggest(key: str, name: str, names: Iterable[str]) -> str:
    """Return a question for the end of a message if a name resembles one that there is."""
    lower = {other.lower(): other for other in names}
    close = get_close_matches(name.lower(), list(lower), n=1)
    if not close:
        return ""
    found = quoted(lower[close[0]])
    return f" Do you mean {key}: {f'[{found}]' if key in ('ignore', 'keep') else found}?"


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


def check_names(file: object, values: Iterable[object], kind: str, advice: str) -> list[str]:
    """Check that names of samples or features are present and unique, and return them as text."""
    names = [str(value) for value in values]
    unnamed = sum(not name.strip() for name in names)
    if unnamed:
        raise MatrixError(f"{file}: {unnamed} {kind}s have no name; each needs one: {advice}.")
    odd = next((name for name in names if not is_storable(name)), None)
    if odd is not None:
        raise MatrixError(
            f"{file}: {kind} name {odd!r} should be text without NUL or unpaired surrogates."
        )
    repeated = repeated_names(names)
    if repeated:
        raise MatrixError(
            f"{file}: {len(repeated)} {kind} names are not unique ({shown(repeated, 5)[1:-1]}); "
            f"each should occur once: {advice}."
        )
    return names


def repeated_names(names: Sequence[str]) -> list[str]:
    """List the names that occur more than once, in alphabetical order."""
    seen: set[str] = set()
    return sorted({name for name in names if name in seen or seen.add(name)})


def check_labels(
    file: object, name: str, values: Sequence[object], is_missing: Callable[[object], bool]
) -> np.ndarray:
    """Check known classes and return them as strings, `UNKNOWN` for a sample without a class.

    Integers that were read as floats become integers again: the label 3.0 is "3". -1 is a class.
    """
    labels = _strings(file, "label", name, values, is_missing)
    n_known = len(labels) - labels.count(UNKNOWN)
    if n_known < MIN_LABELS:
        raise MatrixError(
            f"{file}: labels {name!r} are known for {n_known} of {len(labels)} samples; they "
            f"should be known for at least {MIN_LABELS}, or be left out."
        )
    return np.array(labels, dtype=object)


def check_annotation(values: Sequence[object], is_missing: Callable[[object], bool]) -> np.ndarray:
    """Return a column of annotations, as float64 if each known value is a number.

    Unknown values are NaN, or None among texts.
    """
    known = [
        None if value is None or value != value or is_missing(str(value)) else str(value).strip()
        for value in values
    ]
    try:
        return np.array(
            [np.nan if text is None else float(text.replace(",", ".")) for text in known]
        )
    except ValueError:
        return np.array(known, dtype=object)


def check_groups(
    file: object, name: str, values: Sequence[object], is_missing: Callable[[object], bool]
) -> np.ndarray:
    """Check groups of samples and return them as strings, written like classes."""
    groups = _strings(file, "group", name, values, is_missing)
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


def _strings(
    file: object, kind: str, name: str, values: Sequence[object], is_missing: Callable
) -> list[str]:
    """Write the classes or groups of a column as strings, `UNKNOWN` where they are missing."""
    values = [
        None if (is_missing(v.strip()) if isinstance(v, str) else pd.isna(v)) else v for v in values
    ]
    numbers = [value for value in values if isinstance(value, float | np.floating)]
    whole = all(float(number).is_integer() for number in numbers)
    names = [UNKNOWN if value is None else _name(value, whole) for value in values]
    odd = next((each for each in names if not is_storable(each)), None)
    if odd is not None:
        raise MatrixError(
            f"{file}: {kind} {odd!r} of {name!r} should be text without NUL or unpaired surrogates."
        )
    return names


def _name(value: object, whole: bool) -> str:
    if isinstance(value, float | np.floating):
        return str(int(value)) if whole else repr(float(value))
    # Otherwise surrounding blanks would make a different class of the same word.
    return str(value).strip()
