"""Paths that Snakemake would not take as they are."""

from __future__ import annotations

import re

from sparsekm.io.input_error import is_storable


def path_rule(path: str) -> str | None:
    """Return the rule that a path of the user's breaks, if any.

    Examples
    --------
    >>> path_rule("a{1}.csv"), path_rule("a & b.csv")
    ('have no braces, which Snakemake treats as wildcards', None)
    """
    rules = {
        "have no braces, which Snakemake treats as wildcards": re.search("[{}]", path),
        "have no name in angle brackets, which Snakemake replaces": re.search("<.*>", path),
        "have no double slashes": "//" in path,
        "be UTF-8 text without NUL": not is_storable(path),
    }
    return next((rule for rule, is_broken in rules.items() if is_broken), None)
