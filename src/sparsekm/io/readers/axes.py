"""What an axis of a table holds by its names and values: samples, features, or neither.

`known_names.json` lists words and headings, and forms of names as parts of a regular expression.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from sparsekm.io.readers.messages import say

_LOOKED_AT = 2000
_FEW_SYMBOLS = 3
_FEW_LEVELS = 10
_TALL, _WIDE = 10, 5  # ratios of lines to columns, from which numbered lines may be features
_LEVELS, _NO_LEVELS = 0.6, 0.1  # shares of the variance
_LOCUS = re.compile(r"[A-Za-z]{1,8}[_.]?\d{4,}[a-z]?(\.\d)?")
KNOWN = json.loads(Path(__file__).with_name("known_names.json").read_text(encoding="utf-8"))
_LISTS = {kind: frozenset(known) for kind, known in KNOWN.items() if isinstance(known, list)}
_WORDS = {kind: frozenset(known.split()) for kind, known in KNOWN.items() if isinstance(known, str)}
_ANY_OF = {
    kind: f"(?:{'|'.join(map(re.escape, sorted(KNOWN[kind], key=len, reverse=True)))})"
    for kind in ("feature_words", "sample_words", "measures")
}
_MEASURE = re.compile(rf"(?<!\w)({_ANY_OF['measures']})(?!\w)")
_FORMS = {}
for _kind, _parts in KNOWN["forms"].items():
    # Symbols of genes have capitals, headings any case.
    _form = "".join(_parts) if _kind == "feature" else f"(?i:{''.join(_parts)})"
    for _axis in ("feature", "sample"):
        _form = _form.replace(f"@{_axis.upper()}@", f"{_ANY_OF[f'{_axis}_words']}s?")
    _FORMS[_kind] = re.compile(_form).fullmatch


class NameEvidence(NamedTuple):
    """What the names of an axis say."""

    score: float  # above 0 for features, below for samples
    numbered: bool  # whether they differ by numbers mostly
    default: bool  # whether software numbered them, which says nothing


@lru_cache(2**17)
def tidy(heading: str) -> str:
    """Write a heading in lower case, with single blanks for punctuation."""
    return " ".join(re.sub(r"[^\w%+/#]|_", " ", heading.lower()).split())


@lru_cache(2**17)
def _spellings(name: str) -> frozenset[str]:
    # Also without a unit, as in Weight (kg).
    bare = re.sub(r"\s*[(\[][^()\[\]]*[)\]]$", "", name) or name
    return frozenset((name.strip().lstrip("#").strip(), tidy(name), tidy(bare)))


def is_a(name: str, *kinds: str) -> bool:
    """Tell whether a name or heading is of one of the kinds in `known_names.json`."""
    plain = _spellings(name)
    return any(
        bool(plain & _LISTS[kind]) if kind in _LISTS else any(map(_FORMS[kind], plain))
        for kind in kinds
    )


def split_measure(heading: str) -> tuple[str, str]:
    """Return the measure that a heading names, such as "lfq intensity", and what is left."""
    before, *found = _MEASURE.split(tidy(heading), maxsplit=1)
    measure, after = found or ("", "")
    return measure, (before + after).strip(" %")


def is_row_numbers(heading: str, names: Sequence[str]) -> bool:
    """Tell whether names are the numbers that software gives to lines, which name nothing."""
    if not is_a(heading, "numbering") or not all(map(str.isdecimal, names)):
        return False
    return any([*map(int, names)] == [*range(k, k + len(names))] for k in (0, 1)) and bool(names)


def shape_of(name: str) -> str:
    """Return a name with its numbers replaced, which names of one kind share."""
    return re.sub(r"\d+", "#", name.strip())


def weigh_names(names: Sequence[str]) -> NameEvidence:
    """Weigh the names of an axis."""
    names = [name.strip() for name in names[:_LOOKED_AT] if name.strip()]
    if not names:
        return NameEvidence(0.0, False, True)
    features, samples, single, default = (
        sum(map(bool, map(test, names))) / len(names)
        for test in (_is_feature, _is_sample, _FORMS["single"], _FORMS["default"])
    )
    if samples < 0.5 and len({name.upper() for name in names} & _WORDS["symbols"]) >= _FEW_SYMBOLS:
        features = max(features, 0.6)
    score = 0.0
    if max(features, samples) > 0.5:
        score = 2.0 if features > samples else -2.0
    elif features >= 0.3 > 3 * samples:
        score = 1.0
    elif samples >= 0.3 > 3 * features or single > 0.5:
        score = -1.0
    counts = Counter(map(shape_of, names))
    most = max(counts.values())
    numbered = len(names) > 1 and (2 * len(counts) <= len(names) or 2 * most > len(names) > 2)
    return NameEvidence(score, numbered, default > 0.8 and score == 0)


def _is_feature(name: str) -> bool:
    # With an id, as TP53 (7157) and TP53|7157.
    first = re.split(r"[ ,(|]", name)[0]
    known = first.upper() in _WORDS["symbols"] or first.lower() in _WORDS["substances"]
    return known or _FORMS["feature"](name) is not None


def _is_sample(name: str) -> bool:
    if _FORMS["sample"](name):
        return not _FORMS["feature"](name) or name.startswith(("GSM", "TCGA"))
    return not _WORDS["sample_tokens"].isdisjoint(re.split(r"[^a-z]+", name.lower()))


def few_levels(values: Sequence[str]) -> bool:
    """Tell whether a column of text may hold classes: some values, all of them repeated often."""
    found = set(values) - {""}
    return 2 <= len(found) <= max(2, min(50, len(values) // 2))


def find_orientation(
    heading: str,
    lines: Sequence[str] | None,
    columns: Sequence[str],
    *,
    texts: Mapping[str, Sequence[str]] | None = None,
    aside: Sequence[str] = (),
    values: np.ndarray | None = None,
    has_header: bool = True,
) -> tuple[bool | None, str]:
    """Decide whether lines hold features, None if both readings are equally good, and say why.

    Lines that are only numbered have names []. `texts` are columns, `aside` lines of text.
    """
    names, texts = [*(lines or ())], texts or {}
    line, column = weigh_names(names), weigh_names(columns)
    if not has_header:
        column = column._replace(score=0.0, default=True)
    # One letter may be anything, as the B of limma.
    headings = [name for name in (*texts, *columns) if len(name) > 1]
    of_samples = [name for name in headings if is_a(name, "sample_annotations")]
    of_features = [name for name in headings if is_a(name, "feature_annotations")]
    about = float(min(3, len(of_features)) - min(2, len(of_samples)))
    described = [*aside, *(name for name in names if is_a(name, "sample_annotations"))]
    known = {*of_features, *of_samples}
    classes = [name for name in texts if name not in known and few_levels(texts[name])]
    levels = 0.0 if values is None else _weigh_levels(values[:500, :500])
    # Numbers that annotate features differ in level, too.
    levels *= levels >= 0 or not any(is_a(name, "annotating") for name in columns[:_LOOKED_AT])
    n_lines = len(names) if values is None else len(values)
    is_tall, is_wide = n_lines >= _TALL * len(columns), len(columns) >= _WIDE * n_lines
    numbers = 0.0
    if names and values is not None:
        # A tall table may well have numbered features.
        numbers = _weigh_numbers(heading, names, line, column)
        numbers = max(numbers, 0.0) if is_tall else numbers
    weights = [
        (line.score, "line names such as {}", names),
        (-column.score, "column names such as {}", columns),
        (_weigh_heading(heading, line.score, column.score), "the heading {}", [heading]),
        (-2.0 * (not names), "lines without names", []),
        (about, "columns such as {}", of_features or of_samples),
        (1.5 * bool(described), "lines such as {}", described),
        ((-1.0 if has_header else -2.5) * bool(classes), "classes such as those of {}", classes),
        (levels, "measurements, which differ in level between lines or columns", []),
        (numbers, "the numbers in names", []),
        (-1.0 * is_wide, "the shape of the table", []),
    ]
    total = sum(weight for weight, *_ in weights)
    # Numbers alone, which no shape but a wide one explains.
    may_be_any = is_tall or not has_header or lines is not None
    says_nothing = not names and column.default and column.score == levels == 0
    if abs(total) < 1 or (says_nothing and may_be_any and not is_wide and not texts):
        return None, ""
    sign, examples = next((what, of) for weight, what, of in weights if weight * total > 0)
    return total > 0, sign.format(*(repr(name[:40]) for name in examples[:1]))


def _weigh_heading(heading: str, line: float, column: float) -> float:
    if is_a(heading, "feature_heading") and not column > 0 >= line:
        return 2.0
    # Published tables call the names of genes so, next to those of samples.
    if not is_a(heading, "sample_heading") or column < 0 <= line:
        return 0.0
    return -1.5 * (column == 0) if line > 0 >= column else -2.0


def _weigh_numbers(
    heading: str, lines: list[str], line: NameEvidence, column: NameEvidence
) -> float:
    """Weigh names that are known for neither axis by the numbers in them."""
    weight = 0.0
    if line.score == column.score == 0:
        if column.numbered and not column.default:
            weight = 1.0 * (not line.numbered or all(map(_LOCUS.fullmatch, lines)))
        elif line.numbered and not line.default and not column.numbered:
            weight = -1.0
    return weight - bool(heading and is_a(heading, "numbering") and all(map(str.isdecimal, lines)))


def _weigh_levels(values: np.ndarray) -> float:
    """Tell by the numbers which axis the features are: they differ in level, samples hardly do."""
    ranks = pd.Series(np.where(np.isfinite(values), values, np.nan).ravel()).rank().to_numpy()
    ranks = np.ma.masked_invalid(ranks.reshape(values.shape))
    total = ranks.var() if min(values.shape) >= 3 else 0.0
    if not total > 0:
        return 0.0
    # The share of the variance between lines or columns, less what chance gives to so few.
    chance = 1 / np.array(values.shape[::-1])
    shares = np.array([ranks.mean(axis=1).var(), ranks.mean(axis=0).var()]) / total
    lines, columns = (shares - chance) / (1 - chance)
    if lines > _LEVELS and columns < _NO_LEVELS:
        return 1.0
    return -1.0 if columns > _LEVELS and lines < _NO_LEVELS else 0.0


def list_annotating(names: Sequence[str], *, lines: bool = False) -> list[str]:
    """List the columns, or lines, that annotate or sum up features and hold no samples."""
    if not lines:
        # One letter may be anything, as A, B, F and T are.
        kinds = "feature_annotations", "summaries", "feature_heading"
        return [name for name in names if len(name) > 1 and is_a(name, *kinds)]
    # Masses and retention times stand above the samples.
    left = [*takewhile(lambda name: is_a(name, "feature_annotations"), names)]
    for name, previous in zip(names, ["", *names], strict=False):
        # But an n below the mean counts samples.
        is_sum = is_a(name, "summaries") and (len(name) > 1 or previous in left)
        left += [name] * (is_sum or is_a(name, "summarising"))
    return left


def list_doubtful(columns: Sequence[str], X: np.ndarray, parts: np.ndarray) -> list[str]:
    """List the columns of numbers that may annotate features, in lines, and not be samples.

    Their values are all the same, or their names are unlike most and they are in another of the
    `parts` of the table, their names contain a word for it, or their values are of another kind.
    """
    names = pd.Series([*columns], dtype=object)
    if len(names) < 3:
        return []
    values = pd.DataFrame(np.where(np.isfinite(X), X, np.nan))
    is_same = (values.nunique() == 1) & (values.max() > 0) & (len(values) > 2)
    is_same &= 2 * is_same.sum() < len(names)
    annotates, shapes = names.map(lambda name: is_a(name, "annotating")), names.map(shape_of)
    counts = shapes.map(Counter(shapes))
    # A few samples of each group may have the same form.
    is_few = (counts < 3) & ((counts < counts.max()) | (2 * counts <= len(names)))
    is_other = is_few & names.map(lambda name: weigh_names([name]).score >= 0)
    is_other |= names.map(lambda name: is_a(name, "comparing")) & (2 * counts <= len(names))
    is_other = annotates if is_other.all() else is_other
    if is_other.all():
        return names[is_same].tolist()
    whole = ((values == values.round()) | values.isna()).all()
    size = np.log10(1e-9 + values.abs().median().fillna(0))
    is_odd = abs(size - size[~is_other].median()) > 1.3
    if not whole[~is_other].any():
        is_odd |= whole
    part, n_there = Counter(parts).most_common(1)[0]
    is_apart = (parts != part) & (2 * n_there > len(parts))
    return names[is_same | (is_other & (is_odd | annotates | is_apart))].tolist()


def list_describing(
    features: Sequence[str], X: np.ndarray, keep: Sequence[str], remarks: list[str], *, lines: bool
) -> list[str]:
    """List features, which may be lines, that describe the samples (samples, features) or sum up.

    Where a third or more are descriptions, as in clinical tables, only classes are listed.
    """
    index = {name: at for at, name in enumerate(features) if name not in keep}
    gone = {name for name in index if is_a(name, "special_lines", "totals")}
    gone |= {name for name in index if not lines and _is_numbering(name, X, index[name])}
    kinds = ("description", "sample_annotations", *([] if lines else ["sample_heading"]))
    described = [name for name in index if is_a(name, *kinds)]
    rest = [name for name in features if name in index and name not in {*described, *gone}]
    classes = [name for name in described if is_a(name, "class_headings")]
    left = []
    if 2 * len(described) < len(rest) or (rest and weigh_names(rest).score > 1):
        gone |= {*described}
    elif rest:
        levels = {name: pd.Series(X[:, index[name]]).nunique() for name in classes}
        gone |= {name for name in classes if levels[name] <= _FEW_LEVELS}
        left = [name for name in described if name not in gone]
    if not lines and rest[:1] == [*features[:1]] and _differ(first := X[:, 0]):
        # Large numbers that are close to each other may be those of patients.
        is_far = first.min() > 10 * np.nanmax(X[:, 1:], initial=1)
        left = rest[:1] * bool(is_far and first.max() < 2 * first.min()) + left
    remarks += [say("may_describe", names=left)] * bool(left)
    sums = [name for name in rest if len(name) > 1 and is_a(name, "summaries")]
    remarks += [say("may_sum_up", names=sums)] * (0 < len(sums) < len(rest))
    found = [name for name in classes if name in gone] or _list_levels(rest, X, index)
    if found and not lines:
        remarks.append(say("may_be_classes", name=found[0]))
    return [name for name in features if name in gone]


def _list_levels(names: Sequence[str], X: np.ndarray, index: Mapping[str, int]) -> list[str]:
    """List the first and last feature if they alone are a few whole numbers, as of classes."""
    ends = dict.fromkeys([*names[:1], *names[-1:]])
    counts = {name: Counter(X[:, index[name]].tolist()) for name in ends}
    few = [one for one, of in counts.items() if 1 < len(of) <= _FEW_LEVELS and min(of.values()) > 1]
    n_whole = sum((X[:, index[name]] % 1 == 0).all() for name in names) if few else 0
    return [name for name in few if (X[:, index[name]] % 1 == 0).all() and 2 * n_whole < len(names)]


def _is_numbering(name: str, X: np.ndarray, at: int) -> bool:
    """Tell whether a column numbers the samples: different whole numbers, called so or in order."""
    values = X[:, at]
    if at == 0 and len(X) > _FEW_LEVELS and values[0] in (0, 1) and (np.diff(values) == 1).all():
        return True
    return _differ(values) and is_a(name, "numbering") and (len(name) != 1 or name == "X")


def _differ(values: np.ndarray) -> bool:
    # Of most columns two values tell.
    if len(values) < 3 or (values[1] - values[0]) % 1 != 0:
        return False
    steps = np.diff(np.sort(values))
    return bool(((steps > 0) & (steps % 1 == 0)).all())
