"""The parts of a text table other than its features, as named in the settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from sparsekm.io.readers.raw_matrix import (
    MatrixError,
    RawMatrix,
    check_groups,
    check_labels,
    listed,
)


@dataclass(frozen=True)
class TableParts:
    """Names of columns, or of lines if lines hold the features.

    They hold the known classes, the groups and the sample names, or are left out. Without
    `samples`, the sample names are at the edge of the table.
    """

    labels: str | None = None
    samples: str | None = None
    groups: str | None = None
    ignore: tuple[str, ...] = ()

    def check(self, file: Path, names: Sequence[str], kind: str, hint: str = "") -> None:
        """Refuse a name that is not among `names`, the names of the lines or columns (`kind`)."""
        for key in ("labels", "samples", "groups"):
            name = getattr(self, key)
            if name is not None and name not in names:
                raise MatrixError(
                    f"{file}: {key}={name!r} should be one of its {kind} {listed(names)}."
                    f"{hint}{_suggest(key, name, names)}"
                )
            if name is not None and name in self.ignore:
                raise MatrixError(
                    f"{file}: {key}={name!r} should not also be ignored. Set either {key} or "
                    "ignore."
                )
        missing = [name for name in self.ignore if name not in names]
        if missing:
            raise MatrixError(
                f"{file}: ignore={listed(missing)} should be among its {kind} {listed(names)}."
                + _suggest("ignore", missing[0], names)
            )

    def read_into(self, raw: RawMatrix, file: Path, read: Callable[[str], Sequence[str]]) -> None:
        """Read the classes and groups, if they are named, into a matrix; `read` takes a name."""
        if self.labels is not None:
            values = np.array(read(self.labels), dtype=object)
            raw.labels = check_labels(file, self.labels, values)
        if self.groups is not None:
            values = np.array(read(self.groups), dtype=object)
            raw.groups = check_groups(file, self.groups, values)


def _suggest(key: str, name: str, names: Sequence[str]) -> str:
    lower = {other.lower(): other for other in names}
    close = get_close_matches(name.lower(), list(lower), n=1)
    if not close:
        return ""
    found = lower[close[0]]
    return f" Do you mean {key}: {found if key != 'ignore' else f'[{found}]'}?"
