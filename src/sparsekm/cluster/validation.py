"""The checks at the edge: each message names the value, the rule and the bound."""

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
    share = check_nonnegative(name, value)
    if share >= 0.5:
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


def check_l0_sparsity(sparsity: object, n_features: int, n_constant: int = 0) -> int:
    """Return the number of features to keep, of `n_features` of which `n_constant` do not vary.

    None is all that vary, a value in (0, 1) a share of these, rounded to the nearest number, at
    least one; other values are floored.
    """
    if sparsity is None:
        return n_features - n_constant
    value = _check_real("sparsity", sparsity)
    if 0 < value < 1:
        return max(1, int(value * (n_features - n_constant) + 0.5))
    if value < 1:
        raise ValueError(
            f"sparsity={sparsity} should be >= 1, or a share of the features in (0, 1)."
        )
    if value > n_features:
        raise ValueError(f"sparsity={sparsity} should be <= n_features={n_features}.")
    return int(value)


def check_unambiguous(sparsity: object) -> object:
    """Return a user's sparsity unless it is 1.0: one feature, or, as a share, all of them."""
    if isinstance(sparsity, Real) and not isinstance(sparsity, Integral) and sparsity == 1:
        raise ValueError(
            f"sparsity={sparsity!r} is ambiguous: write 1 to keep one feature, None to keep all."
        )
    return sparsity


def check_l1_sparsity(sparsity: object, n_features: int, n_constant: int = 0) -> float:
    """Return the bound on the l1 norm: None is the root of how many vary; none binds beyond."""
    if sparsity is None:
        return float(np.sqrt(n_features - n_constant))
    value = _check_real("sparsity", sparsity)
    if value < 1:
        raise ValueError(
            f"sparsity={sparsity} should be >= 1: no weights of unit l2 norm have an l1 norm below."
        )
    return value


def check_start(labels: object, n_samples: int, n_clusters: int, names: Sequence[str]) -> Any:
    """Return start labels as int32 in ``range(n_clusters)``, or a start or its name as it is.

    `names` are the starts that have a name.
    """
    if labels is None or hasattr(labels, "propose"):
        return labels
    if isinstance(labels, str):
        if labels not in names:
            raise ValueError(
                f"init={labels!r} should be None, one of {list(names)} or labels of shape "
                f"({n_samples},)."
            )
        return labels
    shape = np.shape(labels)
    if shape != (n_samples,):
        raise ValueError(
            f"init of shape {shape} should have the shape (n_samples,)=({n_samples},)."
        )
    # Numbered by first appearance, as every partition is.
    codes = label_codes(labels, "init")
    n_labels = int(codes.max()) + 1
    if n_labels > n_clusters:
        raise ValueError(
            f"init has {n_labels} distinct labels; should be <= n_clusters={n_clusters}."
        )
    return codes.astype(np.int32)


def check_searchable(n_clusters: int) -> None:
    """Refuse one cluster to whatever chooses a sparsity, or tells whether there are clusters."""
    if n_clusters < 2:
        raise ValueError(
            f"n_clusters={n_clusters} should be >= 2: with one cluster every objective is 0, so "
            "there is no sparsity to choose."
        )


def _check_real(name, value) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name}={value!r} should be None or a number.")
    if not np.isfinite(value):
        raise ValueError(f"{name}={value} should be finite.")
    return float(value)
