"""What a table leaves open: every doubt with the ways to read the table, asked in one stop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sparsekm.io.readers.messages import MatrixError, Way, written


class Doubt(NamedTuple):
    """What is doubtful, and the ways to settle it, the likeliest first."""

    about: str
    ways: Sequence[Way]


def combine(doubts: Sequence[Doubt], given: Mapping[str, Any]) -> list[Way]:
    """Return the ways to settle all doubts; settings that are lists add to those that are given.

    The first way settles each doubt in its likeliest way, and each of the others differs in one.
    """
    firsts = [doubt.ways[0] for doubt in doubts]
    choices = [firsts]
    for at, doubt in enumerate(doubts):
        choices += [[*firsts[:at], way, *firsts[at + 1 :]] for way in doubt.ways[1:]]
    return [_join(ways, given) for ways in choices]


def _join(ways: Sequence[Way], given: Mapping[str, Any]) -> Way:
    settings: dict[str, Any] = {}
    for key, value in (item for way in ways for item in way.settings.items()):
        if isinstance(value, list):
            value = [*dict.fromkeys([*settings.get(key, given.get(key) or ()), *value])]
        settings[key] = value
    meaning = ", and ".join(way.meaning for way in ways if way.meaning)
    return Way(settings, meaning, [line for way in ways for line in way.preview])


def ask(doubts: Sequence[Doubt], given: Mapping[str, Any]) -> None:
    """Stop if there are doubts, with the settings for each way to settle all of them."""
    if doubts:
        ways = combine(doubts, given)
        told = ", or ".join(f"{written(way.settings)} {way.meaning}" for way in ways)
        about = " ".join(doubt.about for doubt in doubts if doubt.about)
        raise MatrixError(f"{about} Set {told}.", ways)
