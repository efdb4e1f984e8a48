"""Features and samples of the same name: merged or numbered, which a remark says."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable

import numpy as np

from sparsekm.io.readers.raw_matrix import shown

DUPLICATES = ("mean", "sum", "max", "first")
"""How the values of features of the same name may be merged."""
_SMALLEST_COUNT = 30


def merge_features(
    X: np.ndarray,
    offset: np.ndarray,
    features: list[str],
    how: str | None,
    remarks: list[str],
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Merge the columns of features of the same name, and return X, its offset and the names.

    By default values are averaged; counts are added. Missing values are passed over.
    """
    at = defaultdict(list)
    for column, name in enumerate(features):
        at[name].append(column)
    if len(at) == len(features):
        return X, offset, features
    repeated = [name for name, columns in at.items() if len(columns) > 1 and name.strip()]
    if not repeated:
        return X, offset, features
    how = how or ("sum" if _are_counts(X, offset) else "mean")
    merge: dict[str, Callable] = {"mean": np.nanmean, "sum": np.nansum, "max": np.nanmax}
    first = [columns[0] for columns in at.values()]
    merged, shift = X[:, first].copy(), offset[first].copy()
    for place, (name, columns) in enumerate(at.items()):
        if len(columns) == 1 or not name.strip() or how == "first":
            continue
        values = X[:, columns].astype(np.float64) + offset[columns]
        lacking = np.isnan(values).all(axis=1)
        values[lacking] = 0
        found = merge[how](values, axis=1)
        found[lacking] = np.nan
        shift[place] = np.nan_to_num(found[0])
        merged[:, place] = found - shift[place]
    others = [word for word in DUPLICATES if word != how]
    remarks.append(
        f"{len(repeated)} feature names occur more than once, such as {shown(repeated, 3)}: their "
        f"values are merged by {how}. Set duplicates: {' or '.join(others)} to merge otherwise."
    )
    return merged, shift, list(at)


def _are_counts(X: np.ndarray, offset: np.ndarray) -> bool:
    values = X[:50].astype(np.float64) + offset
    values = values[np.isfinite(values)]
    return bool((values >= 0).all() and (values == np.rint(values)).all()) and bool(
        values.max(initial=0) > _SMALLEST_COUNT
    )


def number_names(samples: list[str], remarks: list[str], kind: str = "sample") -> list[str]:
    """Append numbers to names that occur more than once."""
    counts = Counter(samples)
    repeated = [name for name, count in counts.items() if count > 1]
    if not repeated:
        return samples
    taken, seen, names = set(samples), Counter(), []
    for name in samples:
        seen[name] += 1
        new = name
        while seen[name] > 1 and new in taken:
            new = f"{name}_{seen[name]}"
            seen[name] += new in taken
        taken.add(new)
        names.append(new)
    remarks.append(
        f"{len(repeated)} {kind} names occur more than once, such as {shown(repeated, 3)}: numbers "
        "are appended."
    )
    return names
