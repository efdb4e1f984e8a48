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
_FEATURE_HEADING = re.compile(rf"id[ _]ref|(?:{_FEATURE_WORD}[ _.-]*)+{_SUFFIX}", re.I)
_SAMPLE_HEADING = re.compile(rf"(?:{_SAMPLE_WORD}[ _.-]*)+{_SUFFIX}", re.I)
NUMBERING = re.compile(
    rf"(?:(?:{_SAMPLE_WORD}|event)[ _.-]*)?(?:ids?|names?|index|numbers?|(?:no|nr)\.?|#)|rows?"
    rf"|rownames?|row[ _.]names|{_SAMPLE_WORD}|unnamed: 0|x|",
    re.I,
)
"""Headings of a column that may number the samples; the last are those of R and pandas."""

_FEATURE_NAME = re.compile("".join(KNOWN["feature_forms"]).replace("@FEATURE@", _FEATURE_WORD))
_SAMPLE_NAME = re.compile("".join(KNOWN["sample_forms"]).replace("@SAMPLE@", _SAMPLE_WORD), re.I)
_SAMPLE_TOKENS = frozenset(KNOWN["sample_tokens"].split())
_DESCRIPTION = re.compile("".join(KNOWN["descriptions"]), re.I)
_ANNOTATING = re.compile(rf"\b({KNOWN['annotating_words'].replace(' ', '|')})\b")
_MEASURES = sorted(map(re.escape, KNOWN["measures"]), key=len, reverse=True)
_MEASURE = re.compile(rf"(?<!\w)({'|'.join(_MEASURES)})(?!\w)")
_COMPARING = re.compile(rf"\b({'|'.join(KNOWN['comparing_words'])})\b")
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


def names_features(heading: str) -> bool:
    """Tell whether a column with this heading holds feature names."""
    return _FEATURE_HEADING.fullmatch(heading.strip().lstrip("#").strip()) is not None


def names_samples(heading: str) -> bool:
    """Tell whether a column with this heading holds sample names."""
    return _SAMPLE_HEADING.fullmatch(heading.strip()) is not None


def is_known(heading: str, kind: str) -> bool:
    """Tell whether a heading is in a list of `known_names.json`, whatever its punctuation."""
    return tidy(heading) in _LISTS[kind] or heading.strip() in _LISTS[kind]


_LISTS = {
    kind: frozenset(KNOWN[kind])
    for kind in (
        *("feature_annotations", "sample_annotations"),
        *("class_headings", "summaries", "special_lines", "describing"),
    )
}


def describes_samples(name: str) -> bool:
    """Tell whether a name is that of a description of samples; no gene symbol is."""
    return is_known(name, "sample_annotations") or bool(_DESCRIPTION.fullmatch(name.strip()))


def has_annotating_word(heading: str) -> bool:
    """Tell whether a heading has a word that makes a column of numbers a doubtful sample."""
    return _ANNOTATING.search(tidy(heading)) is not None


def compares(heading: str) -> bool:
    """Tell whether a heading is that of a comparison of samples, such as a ratio or a p value."""
    return _COMPARING.search(tidy(heading)) is not None


def split_measure(heading: str) -> tuple[str, str]:
    """Return the measure that a heading names, such as "lfq intensity", and what is left."""
    found = _MEASURE.search(tidy(heading))
    if not found:
        return "", tidy(heading)
    rest = tidy(heading)[: found.start()] + tidy(heading)[found.end() :]
    return found[0], rest.strip(" %")


def is_row_numbers(heading: str, names: Sequence[str]) -> bool:
    """Tell whether names are the numbers that software gives to lines, which name nothing."""
    if not NUMBERING.fullmatch(heading) or not all(map(str.isdecimal, names)):
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
    if _FEATURE_NAME.fullmatch(name) or name.upper() in _SYMBOLS:
        return True
    return re.split(r"[ ,(]", name.lower())[0] in _SUBSTANCES


def _is_sample(name: str) -> bool:
    if _SAMPLE_NAME.fullmatch(name):
        return not _FEATURE_NAME.fullmatch(name) or name.startswith(("GSM", "TCGA"))
    return not _SAMPLE_TOKENS.isdisjoint(re.split(r"[^a-z]+", name.lower()))
