"""Checks of users' arguments; each message names the value, the rule and the bound."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from sparsekm.metrics import label_codes, mark_missing


def check_count(name: str, value: object, lowest: int = 1) -> int:
    """Return `value` as an int if it is a whole number (else a TypeError) of at least `lowest`."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name}={value!r} should be an integer >= {lowest}.")
    if value < lowest:
        raise ValueError(f"{name}={value} should be >= {lowest}.")
    return int(value)


def check_nonnegative(name: str, value: object) -> float:
    """Return `value` as a float if it is a finite number >= 0."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name}={value!r} should be a number >= 0.")
    if not 0 <= value < np.inf:
        raise ValueError(f"{name}={value} should be finite and >= 0.")
    return float(value)


def check_share(name: str, value: object) -> float:
    """Return `value` as a float if it is a number in [0, 0.5)."""
    if (share := check_nonnegative(name, value)) >= 0.5:
        raise ValueError(f"{name}={value} should be < 0.5, a share of the samples.")
    return share


def check_choice(name: str, value: object, choices: Iterable[str]) -> str:
    """Return `value` if it is one of `choices`."""
    choices = list(choices)
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name}={value!r} should be one of {choices}.")
    return value


def check_numbers(name: str, values: object) -> np.ndarray:
    """Return a vector of at least one finite number as float64."""
    numbers = np.asarray(mark_missing(values), dtype=np.float64)
    if numbers.ndim != 1 or len(numbers) == 0:
        raise ValueError(
            f"{name} of shape {numbers.shape} should be one-dimensional with >= 1 value."
        )
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if len(wrong):
        raise ValueError(f"{name}[{wrong[0]}]={numbers[wrong[0]]} should be finite.")
    return numbers


def check_start(init: object, n_samples: int, n_clusters: int, names: Sequence[str]) -> Any:
    """Return an `init`: None, one of its `names`, or labels as int32 in ``range(n_clusters)``."""
    if init is None or (isinstance(init, str) and init in names):
        return init
    if np.shape(init) != (n_samples,):
        given = f"={init!r}" if isinstance(init, str) else f" of shape {np.shape(init)}"
        raise ValueError(
            f"init{given} should be None, one of {list(names)} or labels of shape ({n_samples},)."
        )
    # Clusters are numbered by first appearance, as in every partition.
    codes = label_codes(init, "init")
    n_labels = int(codes.max()) + 1
    if n_labels > n_clusters:
        raise ValueError(
            f"init has {n_labels} distinct labels; should be <= n_clusters={n_clusters}."
        )
    return codes.astype(np.int32)


def check_searchable(n_clusters: int) -> None:
    """Refuse one cluster if a sparsity is to be chosen or the clusters are to be tested."""
    if n_clusters < 2:
        raise ValueError(
            f"n_clusters={n_clusters} should be >= 2; with one cluster every objective is 0, so "
            "there is no sparsity to choose."
        )
