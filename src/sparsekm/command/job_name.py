"""The names of jobs in all messages."""

from __future__ import annotations

from collections.abc import Mapping


def name_job(rule: str, wildcards: Mapping[str, str]) -> str:
    """Return the readable name of a job.

    Examples
    --------
    >>> name_job("cluster_path", {"dataset": "tumours", "method": "l1"})
    'tumours, l1: cluster path'
    >>> name_job("reference_path", {"dataset": "tumours", "method": "l1", "batch": "0"})
    'tumours, l1: reference path 1'
    """
    names = ", ".join(str(value) for key, value in wildcards.items() if key != "batch")
    batch = f" {int(wildcards['batch']) + 1}" if "batch" in wildcards else ""
    words = rule.replace("_", " ") + batch
    return f"{names}: {words}" if names else words
