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
KNOWN = json.loads(Path(__file__).with_name("known_names.json").read_text(encoding="utf-8"))
_SYMBOLS = frozenset(KNOWN["symbols"].split())
_SUBSTANCES = frozenset(KNOWN["substances"].split())
_FEATURE_WORD = "(?:" + "|".join(map(re.escape, KNOWN["feature_words"])) + ")s?"
_SAMPLE_WORD = "(?:" + "|".join(map(re.escape, KNOWN["sample_words"])) + ")s?"
_SUFFIX = r"(?:[ _.-]*(?:ids?|names?|sets?|symbols?|accessions?|codes?|no|nr|number|key|title))*"
_FEATURE_NAME = re.compile("".join(KNOWN["feature_forms"]).replace("@FEATURE@", _FEATURE_WORD))
_SAMPLE_NAME = re.compile("".join(KNOWN["sample_forms"]).replace("@SAMPLE@", _SAMPLE_WORD), re.I)
_SAMPLE_TOKENS = frozenset(KNOWN["sample_tokens"].split())
_MEASURES = sorted(map(re.escape, KNOWN["measures"]), key=len, reverse=True)
_MEASURE = re.compile(rf"(?<!\w)({'|'.join(_MEASURES)})(?!\w)")
_FEW_SYMBOLS = 3
_SINGLE = re.compile(r"[sp][ _.-]?\d+[a-z]?", re.I)
_DEFAULT = re.compile(r"(v|x|f|c|col|column|unnamed:)[ _.]?\d+|\d+", re.I)


class NameEvidence(NamedTuple):
    """What the names of an axis say: above 0 for features, below for samples."""

    score: float
    # Whether names differ by numbers mostly, and whether software numbered them, which says nothing
    numbered: bool
    default: bool


@lru_cache(2**17)
def tidy(heading: str) -> str:
    """Write a heading in lower case, with single blanks for punctuation.

    Examples
    --------
    >>> tidy("Mol. weight [kDa]"), tidy("gene_start"), tidy("log2FoldChange")
    ('mol weight kda', 'gene start', 'log2foldchange')
    """
    return " ".join(re.sub(r"[^\w%+/#]|_", " ", heading.lower()).split())


_LISTS = {kind: frozenset(known) for kind, known in KNOWN.items() if isinstance(known, list)}
_ORDINAL = r"(?:ids?|names?|index|numbers?|(?:no|nr)\.?|#)"
_PATTERNS = {
    # Headings of a column with the names of features, of samples, or with numbers of lines.
    "feature_heading": re.compile(
        rf"id[ _]ref|(?:{_FEATURE_WORD}[ _.-]*)+{_SUFFIX}", re.I
    ).fullmatch,
    "sample_heading": re.compile(rf"(?:{_SAMPLE_WORD}[ _.-]*)+{_SUFFIX}", re.I).fullmatch,
    # The last are those of R and pandas.
    "numbering": re.compile(
        rf"(?:(?:{_SAMPLE_WORD}|event)[ _.-]*)?{_ORDINAL}|rows?|rownames?|row[ _.]names"
        rf"|{_SAMPLE_WORD}|unnamed: 0|x|",
        re.I,
    ).fullmatch,
    # Descriptions of samples; none is a gene symbol.
    "description": re.compile("".join(KNOWN["descriptions"]), re.I).fullmatch,
    # Words that make a column of numbers a doubtful sample, and those of comparisons and means.
    "annotating": re.compile(rf"\b({KNOWN['annotating_words'].replace(' ', '|')})\b").search,
    "comparing": re.compile(rf"\b({'|'.join(KNOWN['comparing_words'])})\b").search,
}


def is_a(name: str, *kinds: str) -> bool:
    """Tell whether a name or heading is of one of the kinds in `known_names.json` or above.

    Examples
    --------
    >>> is_a("Hugo_Symbol", "feature_heading"), is_a("gene_start", "feature_annotations")
    (True, True)
    """
    plain = name.strip().lstrip("#").strip()
    return any(
        {plain, tidy(name)} & _LISTS[kind]
        if kind in _LISTS
        else _PATTERNS[kind](plain) or _PATTERNS[kind](tidy(name))
        for kind in kinds
    )


def split_measure(heading: str) -> tuple[str, str]:
    """Return the measure that a heading names, such as "lfq intensity", and what is left."""
    found = _MEASURE.search(tidy(heading))
    if not found:
        return "", tidy(heading)
    rest = tidy(heading)[: found.start()] + tidy(heading)[found.end() :]
    return found[0], rest.strip(" %")


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
    """Weigh the names of an axis.

    Examples
    --------
    >>> weigh_names(["ENSG00000141510", "ENSG00000012048", "other"]).score
    2.0
    >>> weigh_names(["GSM101", "GSM102"]).score
    -2.0
    """
    names = [name.strip() for name in names[:_LOOKED_AT] if name.strip()]
    if not names:
        return NameEvidence(0.0, False, True)
    shapes = Counter(map(shape_of, names))
    numbered = len(names) > 1 and (
        2 * len(shapes) <= len(names) or 2 * max(shapes.values()) > len(names) > 2
    )
    default = _share(names, _DEFAULT.fullmatch) > 0.8
    known = {name.upper() for name in names} & _SYMBOLS
    features = _share(names, _is_feature)
    samples = _share(names, _is_sample)
    if len(known) >= _FEW_SYMBOLS and samples < 0.5:
        features = max(features, 0.6)
    score = 0.0
    if max(features, samples) > 0.5:
        score = 2.0 if features > samples else -2.0
    elif features >= 0.3 > 3 * samples:
        score = 1.0
    elif samples >= 0.3 > 3 * features or _share(names, _SINGLE.fullmatch) > 0.5:
        score = -1.0
    return NameEvidence(score, numbered, default and score == 0)


def _share(names: Sequence[str], test: Callable[[str], object]) -> float:
    return sum(bool(test(name)) for name in names) / len(names)


def _is_feature(name: str) -> bool:
    # With an id, as TP53 (7157) and TP53|7157.
    first = re.split(r"[ ,(|]", name)[0]
    known = first.upper() in _SYMBOLS or first.lower() in _SUBSTANCES
    return known or _FEATURE_NAME.fullmatch(name) is not None


def _is_sample(name: str) -> bool:
    if _SAMPLE_NAME.fullmatch(name):
        return not _FEATURE_NAME.fullmatch(name) or name.startswith(("GSM", "TCGA"))
    return not _SAMPLE_TOKENS.isdisjoint(re.split(r"[^a-z]+", name.lower()))
