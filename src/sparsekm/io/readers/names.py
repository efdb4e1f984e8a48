"""What names say about an axis of a table: whether they name samples or features.

`known_names.json` lists the words, headings and symbols that are known, and the forms of names that
databases, instruments and laboratories use, as parts of a regular expression.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

_LOOKED_AT = 2000
_FEW_SYMBOLS = 3
KNOWN = json.loads(Path(__file__).with_name("known_names.json").read_text(encoding="utf-8"))
_LISTS = {kind: frozenset(known) for kind, known in KNOWN.items() if isinstance(known, list)}
_WORDS = {kind: frozenset(known.split()) for kind, known in KNOWN.items() if isinstance(known, str)}


def _any_of(words: Sequence[str]) -> str:
    return rf"(?:{'|'.join(map(re.escape, sorted(words, key=len, reverse=True)))})"


def _compile(form: str) -> Callable[[str], re.Match[str] | None]:
    for axis in ("feature", "sample"):
        form = form.replace(f"@{axis.upper()}@", _any_of(KNOWN[f"{axis}_words"]) + "s?")
    return re.compile(form).fullmatch


# Symbols of genes have capitals, headings in any case.
_FORMS = {
    kind: _compile("".join(parts) if kind == "feature" else f"(?i:{''.join(parts)})")
    for kind, parts in KNOWN["forms"].items()
}
_MEASURE = re.compile(rf"(?<!\w)({_any_of(KNOWN['measures'])})(?!\w)")


class NameEvidence(NamedTuple):
    """What the names of an axis say."""

    score: float  # above 0 for features, below for samples
    numbered: bool  # whether they differ by numbers mostly
    default: bool  # whether software numbered them, which says nothing


@lru_cache(2**17)
def tidy(heading: str) -> str:
    """Write a heading in lower case, with single blanks for punctuation."""
    return " ".join(re.sub(r"[^\w%+/#]|_", " ", heading.lower()).split())


def is_a(name: str, *kinds: str) -> bool:
    """Tell whether a name or heading is of one of the kinds in `known_names.json`."""
    plain = _spellings(name)
    return any(
        bool(plain & _LISTS[kind]) if kind in _LISTS else any(map(_FORMS[kind], plain))
        for kind in kinds
    )


@lru_cache(2**17)
def _spellings(name: str) -> frozenset[str]:
    # Also without a unit, as in Weight (kg).
    bare = re.sub(r"\s*[(\[][^()\[\]]*[)\]]$", "", name) if name.endswith((")", "]")) else ""
    return frozenset((name.strip().lstrip("#").strip(), tidy(name), tidy(bare or name)))


def split_measure(heading: str) -> tuple[str, str]:
    """Return the measure that a heading names, such as "lfq intensity", and what is left."""
    before, *found = _MEASURE.split(tidy(heading), maxsplit=1)
    measure, after = found or ("", "")
    return measure, (before + after).strip(" %")


def is_row_numbers(heading: str, names: Sequence[str]) -> bool:
    """Tell whether names are the numbers that software gives to lines, which name nothing."""
    if not is_a(heading, "numbering") or not all(map(str.isdecimal, names)):
        return False
    first = int(names[0]) if names else 2
    return first in (0, 1) and [*map(int, names)] == [*range(first, first + len(names))]


def shape_of(name: str) -> str:
    """Return a name with its numbers replaced, which names of one kind share."""
    return re.sub(r"\d+", "#", name.strip())


def weigh_names(names: Sequence[str]) -> NameEvidence:
    """Weigh the names of an axis."""
    names = [name.strip() for name in names[:_LOOKED_AT] if name.strip()]
    if not names:
        return NameEvidence(0.0, False, True)

    def share(test: Callable[[str], object]) -> float:
        return sum(bool(test(name)) for name in names) / len(names)

    shapes = Counter(map(shape_of, names))
    numbered = len(names) > 1 and (
        2 * len(shapes) <= len(names) or 2 * max(shapes.values()) > len(names) > 2
    )
    features, samples, score = share(_is_feature), share(_is_sample), 0.0
    if samples < 0.5 and len({name.upper() for name in names} & _WORDS["symbols"]) >= _FEW_SYMBOLS:
        features = max(features, 0.6)
    if max(features, samples) > 0.5:
        score = 2.0 if features > samples else -2.0
    elif features >= 0.3 > 3 * samples:
        score = 1.0
    elif samples >= 0.3 > 3 * features or share(_FORMS["single"]) > 0.5:
        score = -1.0
    return NameEvidence(score, numbered, share(_FORMS["default"]) > 0.8 and score == 0)


def _is_feature(name: str) -> bool:
    # With an id, as TP53 (7157) and TP53|7157.
    first = re.split(r"[ ,(|]", name)[0]
    known = first.upper() in _WORDS["symbols"] or first.lower() in _WORDS["substances"]
    return known or _FORMS["feature"](name) is not None


def _is_sample(name: str) -> bool:
    if _FORMS["sample"](name):
        return not _FORMS["feature"](name) or name.startswith(("GSM", "TCGA"))
    return not _WORDS["sample_tokens"].isdisjoint(re.split(r"[^a-z]+", name.lower()))
