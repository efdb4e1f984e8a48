"""Columns and lines of numbers that are no measurements, but annotation, descriptions, totals."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from sparsekm.io.readers.names import (
    NUMBERING,
    is_known,
    shape_of,
    tidy,
    weigh_names,
)
from sparsekm.io.readers.raw_matrix import listed, quoted

# Words that describe samples; none of them is a gene symbol.
_DESCRIPTION = re.compile(
    r"(patient|sample|tumou?r|clinical|donor|cell|disease|tissue|overall|survival|os|dfs|rfs|pfs)?"
    r"[ _.-]?"
    r"(age|sex|gender|stage|grade|status|time|survival|event|death|batch|plate|year|date|bmi|weight"
    r"|height|race|ethnicity|relapse|recurrence|metastasis|grading|treatment|response|outcome|class|label|group|cluster|type|subtype|kind"
    r"|diagnosis|condition|phenotype|size|site|day|days|months|cohort|centre|center)"
    r"([ _.-]?(at|of|in)?[ _.-]?(diagnosis|death|years|months|days|id|no|nr|number|code))?",
    re.IGNORECASE,
)
# Words in a heading that make a column of numbers a doubtful sample.
_ANNOTATING = re.compile(
    r"\b(start|end|pos|position|length|len|size|id|score|mean|weight|mass|charge|p|pval\w*|padj|qval\w*"
    r"|ratio|fold|fc|logfc|rank|order|index|number|num|no|nr|coverage|mw|pi|rt|mz|quality|chr\w*|bp"
    r"|t|test|ttest|anova|corr|signif\w*|sum|median|sd|std|total|max|min|gc|entrez\w*|hgnc|kda|cv|rsd|lod|year|level|version|cluster|module|tax\w*|count|n)\b"
)
_MANY = 20
_FEW_LEVELS = 10


def few_levels(values: Sequence[str]) -> bool:
    """Tell whether a column of text may hold classes: some values, all of them repeated often."""
    found = {value.strip() for value in values} - {""}
    return 2 <= len(found) <= max(2, min(50, len(values) // 2))


def is_row_numbers(heading: str, names: Sequence[str]) -> bool:
    """Tell whether names are the numbers that software gives to lines, which name nothing."""
    if not NUMBERING.fullmatch(heading) or not all(name.isdecimal() for name in names):
        return False
    numbers = list(map(int, names))
    return numbers == list(range(numbers[0], numbers[0] + len(numbers))) and numbers[0] in (0, 1)


def left_out_columns(columns: Sequence[str], keep: Sequence[str]) -> list[str]:
    """List the columns that annotate features, where columns hold samples."""
    names = [
        name
        for name in columns
        if is_known(name, "feature_annotations") or is_known(name, "summaries")
    ]
    # One letter may be anything among others, as A, B, F and T are.
    single = [name for name in columns if len(name) == 1]
    return [name for name in names if name not in keep and (name not in single or len(single) == 1)]


def doubtful_columns(columns: Sequence[str], X: np.ndarray, keep: Sequence[str]) -> list[str]:
    """List the columns of numbers, (lines, columns), that may annotate features and not be samples.

    Their names differ from most others and contain a word for an annotation, or their values are
    of another kind: the only whole numbers, or of another size by far.
    """
    if len(columns) < 3:
        return []
    shapes = Counter(map(shape_of, columns))
    common, count = shapes.most_common(1)[0]
    others = [
        at
        for at, name in enumerate(columns)
        if weigh_names([name]).score >= 0
        and (shape_of(name) != common or 2 * count <= len(columns))
    ]
    if not others or len(others) == len(columns):
        others = [at for at in others if _ANNOTATING.search(tidy(columns[at]))]
    plain = [at for at in range(len(columns)) if at not in others]
    if not plain:
        return []
    whole = np.array([(np.rint(x) == x)[np.isfinite(x)].all() for x in X.T])
    size = np.log10([1e-9 + _median(x) for x in X.T])
    usual = np.median(size[plain])
    doubtful = {
        at
        for at in others
        if columns[at] not in keep
        and (
            _ANNOTATING.search(tidy(columns[at]))
            or (whole[at] and not whole[plain].any())
            or abs(size[at] - usual) > 1.3
        )
    }
    # Those next to them are of the same kind.
    for at in [*others, *reversed(others)]:
        if {at - 1, at + 1} & doubtful:
            doubtful.add(at)
    return [columns[at] for at in sorted(doubtful) if columns[at] not in keep]


def _median(x: np.ndarray) -> float:
    finite = np.abs(x[np.isfinite(x)])
    return float(np.median(finite)) if len(finite) else 0.0


def left_out_features(
    features: Sequence[str],
    X: np.ndarray,
    keep: Sequence[str],
    remarks: list[str],
    *,
    lines: bool,
) -> list[str]:
    """List the features of a matrix (samples, features) that describe the samples or sum them up.

    Where most features are descriptions, as in clinical tables, they are kept with a remark.
    """
    asked = [name for name in features if name not in keep]
    special = [
        name for name in asked if is_known(name, "special_lines") or name in ("Total", "total")
    ]
    if lines:
        special += [name for name in asked if tidy(name) in ("grand total", "sum", "total")]
    described = [name for name in asked if _is_description(name)]
    numbering = [
        name
        for name in asked
        if not lines and NUMBERING.fullmatch(name) and (len(name) != 1 or name == "X")
        if _is_numbering(X[:, features.index(name)])
    ]
    classes = [name for name in described if is_known(name, "class_headings")]
    gone = {*special, *numbering}
    rest = [name for name in features if name not in {*described, *gone}]
    if described and rest:
        if 4 * len(described) <= len(features) >= _MANY or (
            weigh_names(rest).score > 0 and 2 * len(described) <= len(rest)
        ):
            gone |= {*described}
        else:
            gone |= {name for name in classes if _has_levels(X[:, features.index(name)])}
            left = [name for name in described if name not in gone]
            if left:
                remarks.append(
                    f"features {listed(left)} seem to describe the samples. Set ignore: "
                    f"{listed(left)} to leave them out."
                )
    found = [name for name in classes if name in gone]
    if found and not lines:
        remarks.append(f"set labels: {quoted(found[0])} if {found[0]!r} holds known classes.")
    return [name for name in features if name in gone]


def left_out_samples(names: Sequence[str], keep: Sequence[str]) -> list[str]:
    """List the lines that sum up the samples in the others."""
    return [
        name for name in names if is_known(name, "summaries") and name not in keep and len(name) > 1
    ]


def _is_description(name: str) -> bool:
    return is_known(name, "sample_annotations") or _DESCRIPTION.fullmatch(name.strip()) is not None


def _is_numbering(values: np.ndarray) -> bool:
    """Tell whether values are different whole numbers; an offset changes nothing of this."""
    steps = np.sort(values.astype(np.float64))
    return len(steps) > 2 and bool(
        (np.diff(steps) >= 0.999).all() and (np.diff(steps) % 1 == 0).all()
    )


def _has_levels(values: np.ndarray) -> bool:
    return len(np.unique(values[np.isfinite(values)])) <= _FEW_LEVELS
