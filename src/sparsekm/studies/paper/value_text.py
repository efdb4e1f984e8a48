"""How the values of the study are written: with the digits that their kind and error ask for."""

from __future__ import annotations

import numpy as np

_RATES = ("cer", "cer_chance", "ari", "ami", "ecr")


def is_exact(value: float, error: float) -> bool:
    """Tell whether an error is 0, as it is where all repetitions agree, but for rounding."""
    return error <= 1e-9 * max(1.0, abs(value))


def write_value(metric: str, value: float, se: float = np.nan) -> str:
    """Write a value with its standard error: rates to three decimals, counts to one.

    An error that this would round to 0 has one more digit. Without ± is a value whose error is not
    known, and one whose repetitions agree: 0 would say that its error is known to be none.

    Examples
    --------
    >>> write_value("cer", 0.3117, 0.0123), write_value("pzw", 1799.96, 0.04)
    ('0.312 ± 0.012', '1,799.96 ± 0.04')
    >>> write_value("pzw", 200.0, 0.0), write_value("pzw", 2.0, np.inf)
    ('200.0', '2.0 ± ∞')
    """
    if np.isnan(value):
        return "–"
    digits = 3 if metric in _RATES else 1
    error = ""
    if not np.isnan(se) and not is_exact(value, se):
        if se < 0.5 * 10.0**-digits:
            digits = int(-np.floor(np.log10(se)))
        error = f" ± {se:.{digits}f}"
    return f"{value:,.{digits}f}{error}".replace("-", "−").replace("inf", "∞")
