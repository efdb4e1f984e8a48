"""The references of a report, numbered in the order of citation."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from sparsekm.pipeline.registry import METHODS


@dataclass(frozen=True)
class Reference:
    """A reference, with its DOI if it has one."""

    text: str
    doi: str = ""

    @property
    def url(self) -> str:
        """The address of the DOI."""
        return f"https://doi.org/{self.doi}"


def _read_literature() -> dict[str, Reference]:
    file = Path(__file__).with_name("templates") / "literature.csv"
    with file.open(encoding="utf-8", newline="") as opened:
        works = {row["key"]: Reference(row["text"], row["doi"]) for row in csv.DictReader(opened)}
    own = [method for method in METHODS.values() if method.reference]
    return works | {method.name: Reference(method.reference, method.doi) for method in own}


LITERATURE = _read_literature()


class Citations:
    """Numbers references in the order of their first citation.

    Examples
    --------
    >>> citations = Citations()
    >>> citations.cite("gap"), citations.cite("l0"), citations.cite("gap")
    ('[1]', '[2]', '[1]')
    """

    def __init__(self) -> None:
        self._keys: list[str] = []

    def cite(self, key: str) -> str:
        """Return the number in brackets of a reference in `LITERATURE`."""
        if key not in LITERATURE:
            raise KeyError(f"key={key!r} should be one of {', '.join(LITERATURE)}.")
        if key not in self._keys:
            self._keys.append(key)
        return f"[{self._keys.index(key) + 1}]"

    @property
    def cited(self) -> list[Reference]:
        """The references cited so far, in order."""
        return [LITERATURE[key] for key in self._keys]
