"""A matrix as read from its file, before normalisation, and its description."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import NoReturn

import numpy as np

from sparsekm.io.input_error import InputError, reason_of
from sparsekm.io.row_stream import RowStream
from sparsekm.io.table_description import TableDescription, describe

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

KNOWN_FORMATS = json.loads(
    Path(__file__).with_name("known_formats.json").read_text(encoding="utf-8")
)
"""Endings of formats that are not read, and the command that writes one that is."""

_BARE = re.compile(r"[A-Za-z0-9_][\w .+/()%-]*(?<! )")
_NOT_TEXT = re.compile(r"(?i:true|false|yes|no|on|off|null|y|n|0[\dxo].*|\d.*[.e_:].*)")


class MatrixError(InputError):
    """A user's matrix cannot be used; the message gives the problem, its place and the rule."""


def refuse_format(file: Path, kind: str, ending: str) -> NoReturn:
    """Refuse a file of a known format with the command that converts it."""
    command = KNOWN_FORMATS[kind].replace("{file}", str(file))
    command = command.replace("{path}", shlex.quote(str(file)))
    command = command.replace("{stem}", str(file.with_name(file.name[: -len(ending)])))
    kind = ending if kind.startswith(".") else kind
    raise MatrixError(
        f"{file}: {kind} is not read. Convert it: {command}, and give what that writes."
    )


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


@dataclass(frozen=True)
class Settings:
    """How a matrix is to be read; see `sparsekm.command.table_settings`."""

    labels: str | None = None
    layer: str | None = None
    groups: str | None = None
    samples: str | None = None
    ignore: Sequence[str] = ()
    keep: Sequence[str] = ()
    transpose: bool | str = "auto"
    decimal: str = "auto"
    missing_values: Sequence[object] = ()
    duplicates: str | None = None
    annotate: Sequence[str] = ()

    @property
    def named(self) -> dict[str, str]:
        """The names of classes, samples, groups and annotations, by setting."""
        pairs = (("labels", self.labels), ("samples", self.samples), ("groups", self.groups))
        others = {f"annotate[{at}]": name for at, name in enumerate(self.annotate)}
        return {key: name for key, name in pairs if name is not None} | others


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

    def describe(self, n_dropped: int = 0) -> TableDescription:
        """Describe the matrix, of which so many constant features are dropped."""
        classes = None if self.labels is None else self.labels.tolist()
        groups = None if self.groups is None else len(set(self.groups))
        shape = self.X.shape[0], self.X.shape[1] - n_dropped
        return describe(
            shape, self.samples, self.features, classes, groups, self.lines, self.remarks
        )

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
