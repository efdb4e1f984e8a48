"""Remarks on what looks odd in a table that can be read, each with a setting to correct it."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from sparsekm.io.known_classes import distinct_classes
from sparsekm.io.readers.raw_matrix import RawMatrix, listed
from sparsekm.io.row_stream import RowStream

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
_MONTH = "jan|feb|mar|apr|may|jun|jul|aug|sep|sept|oct|nov|dec"
_DATE = re.compile(
    rf"\d{{1,2}}[-./]({_MONTH})|({_MONTH})[-./]\d{{1,2}}|\d{{4}}-\d\d-\d\d( 00:00:00)?",
    re.IGNORECASE,
)
_SUMMARY = re.compile(r"(grand )?(mean|average|median|total|sum|sd|std|min|max)s?", re.IGNORECASE)
_FEW_DISTINCT = 10
_FEW_WHOLE = 5


def list_remarks(raw: RawMatrix, labels: str | None) -> list[str]:
    """List all remarks on a matrix; `labels` is the name of its known classes."""
    return [
        *([] if raw.labels is None else remark_on_labels(labels, raw.labels)),
        *remark_on_samples(raw.samples or []),
        *remark_on_features(raw.features),
        *remark_on_values(raw.features, raw.X, raw.offset),
    ]


def remark_on_features(features: Sequence[str]) -> list[str]:
    """List remarks on feature names that look like descriptions of the samples, or dates.

    Examples
    --------
    >>> remark_on_features(["TP53", "age"])
    ['feature [age] seems to describe the samples. Set ignore: [age] to leave it out.']
    """
    remarks = []
    described = [name for name in features if _DESCRIPTION.fullmatch(name)]
    if described:
        many = len(described) > 1
        remarks.append(
            f"{'features' if many else 'feature'} {listed(described)} "
            f"{'seem' if many else 'seems'} to describe the samples. Set ignore: "
            f"{listed(described)} to leave {'them' if many else 'it'} out."
        )
    dates = [name for name in features if _DATE.fullmatch(name)]
    if dates:
        remarks.append(
            f"{len(dates)} feature names are dates, such as {dates[0]!r}: spreadsheets convert "
            "gene symbols such as SEPT2 or MARCH1 to dates. Correct the names in the file, or "
            f"set ignore: {listed(dates)}."
        )
    return remarks


def remark_on_values(features: Sequence[str], X: RowStream, offset: np.ndarray) -> list[str]:
    """List remarks on features with whole numbers, if there are few and the others are measured."""
    is_whole, varies = np.ones(len(offset), dtype=bool), np.zeros(len(offset), dtype=bool)
    first = None
    for _, block in X.blocks():
        # The values in the file, up to the rounding to single precision.
        values = np.round(block.astype(np.float64) + offset, 4)
        is_whole &= (values == np.rint(values)).all(axis=0)
        first = block[0] if first is None else first
        varies |= (block != first).any(axis=0)
    is_described = [_DESCRIPTION.fullmatch(name) is not None for name in features]
    whole = np.flatnonzero(is_whole & varies & ~np.array(is_described))
    if not 0 < len(whole) <= max(_FEW_WHOLE, len(features) // 50) or len(whole) * 4 > len(features):
        return []
    names = [features[at] for at in whole]
    return [
        f"features {listed(names)} contain only whole numbers, unlike the others. If they are not "
        f"features, set ignore: {listed(names)}, or labels: {names[0]} for known classes."
    ]


def remark_on_samples(samples: Sequence[str]) -> list[str]:
    """List remarks on samples that look like a summary of the others.

    Examples
    --------
    >>> remark_on_samples(["ann", "bob", "Total"])
    ['samples [Total] seem to summarise the others. Delete them if they are not samples.']
    """
    summaries = [name for name in samples if _SUMMARY.fullmatch(name.strip())]
    if not summaries:
        return []
    return [
        f"samples {listed(summaries)} seem to summarise the others. Delete them if they are not "
        "samples."
    ]


def remark_on_labels(name: str, labels: np.ndarray) -> list[str]:
    """List remarks on labels with too many distinct values to be classes."""
    n_classes = len(distinct_classes(labels))
    if n_classes <= max(_FEW_DISTINCT, len(labels) // 5):
        return []
    return [
        f"labels {name!r} have {n_classes} classes for {len(labels)} samples, and so many clusters "
        "will be sought. Set n_clusters, or choose other labels."
    ]
