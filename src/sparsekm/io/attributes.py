"""The attributes of every path, reference and fit file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import h5py

from sparsekm.io.checked_hdf5 import DamagedFileError

REQUIRED = (
    "method",
    "dataset",
    "n_clusters",
    "search",
    "seed",
    "parameters",
    "versions",
    "input_digest",
    "code_digest",
)
"""Attributes that a file must have, see `write_attributes`."""

_JSON = ("parameters", "versions")
_WHOLE = ("n_clusters", "seed")


def write_attributes(group: h5py.Group, kind: str, attributes: Mapping[str, Any]) -> None:
    """Write a file's kind and attributes: all of `REQUIRED`, and any others.

    ``parameters`` and ``versions`` are mappings, kept as JSON; ``seed`` is the data set's seed; the
    digests are SHA-256 in hexadecimal.
    """
    missing = [name for name in REQUIRED if name not in attributes]
    if missing:
        raise ValueError(f"attributes={sorted(attributes)} should include {missing} too.")
    group.attrs["kind"] = kind
    for name, value in attributes.items():
        group.attrs[name] = json.dumps(value, sort_keys=True) if name in _JSON else value


def read_attributes(group: h5py.Group, kind: str, rule: str) -> dict[str, Any]:
    """Read the output of `write_attributes` as Python values, and check the kind."""
    file = group.file.filename
    found = group.attrs.get("kind")
    if found != kind:
        raise DamagedFileError(file, f"kind={found!r} should be {kind!r}", rule)
    missing = [name for name in REQUIRED if name not in group.attrs]
    if missing:
        raise DamagedFileError(file, f"attributes {missing} are missing", rule)
    attributes: dict[str, Any] = {}
    for name, value in group.attrs.items():
        if name == "kind":
            continue
        if name in _JSON:
            attributes[name] = _parse(file, name, value, rule)
        elif hasattr(value, "item"):
            attributes[name] = value.item() if value.size == 1 else value.tolist()
        else:
            attributes[name] = value
    for name in REQUIRED:
        wanted = dict if name in _JSON else int if name in _WHOLE else str
        value = attributes[name]
        if not isinstance(value, wanted) or (wanted is int and not 0 <= value < 2**63):
            raise DamagedFileError(file, f"attribute {name}={value!r} is not valid", rule)
    return attributes


def _parse(file: str, name: str, value: object, rule: str) -> Any:
    try:
        return json.loads(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise DamagedFileError(file, f"attribute {name!r} is not JSON", rule) from error
