"""The configuration file that the command writes for the user to read and edit."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sparsekm.io.readers.reader import SUFFIXES
from sparsekm.io.shown_text import escape_unprintable
from sparsekm.io.table_settings import TABLE_SETTINGS
from sparsekm.pipeline.registry import DEFAULT_METHODS, METHODS

USUAL_CLUSTER_SIZE = 5
"""The workflow's own default, written out so that you can edit it."""

_MARK = "# Checksum, to tell whether this file was edited: "
# Names of files and folders are made from it, and may have 255 bytes.
_LONGEST_NAME = 90


def compose(
    name: str,
    entry: Mapping[str, Any],
    again: str,
    *,
    methods: Sequence[str] = DEFAULT_METHODS,
    min_cluster_size: int = USUAL_CLUSTER_SIZE,
) -> str:
    """Write the text of a configuration for the data set `name`.

    `entry` are its settings, as under ``matrices`` in the workflow's configuration; `again` is the
    command that runs the configuration again.
    """
    lines = [
        "# Settings of a sparsekm run. Edit them, then run again:",
        f"#   {escape_unprintable(again)}",
        "# The config.yaml of the project explains all other settings.",
        "matrices:",
        f"  {json.dumps(name)}:",
        f"    path: {_value(entry['path'])}",
    ]
    for setting in TABLE_SETTINGS:
        mark = "" if setting.name in entry else "# "
        value = _value(entry.get(setting.name, setting.example))
        lines.append(f"    {mark}{setting.name}: {value}  # {setting.meaning}")
    others = ", ".join(name for name in METHODS if name not in methods)
    lines.append(f"methods: {_value(list(methods))}" + (f"  # also {others}" if others else ""))
    lines.append(f"min_cluster_size: {min_cluster_size}  # the smallest cluster allowed")
    text = "\n".join(lines) + "\n"
    return f"{text}{_MARK}{_digest(text)}\n"


def is_edited(file: Path) -> bool:
    """Tell whether a configuration has changed since the command wrote it."""
    # What is not UTF-8 was not written by the command.
    text, _, digest = file.read_text(encoding="utf-8", errors="replace").partition(_MARK)
    return digest.strip() != _digest(text)


def dataset_name(table: Path, taken: set[str]) -> str:
    """Derive the name of a data set from its file; `taken` are reserved names in lower case.

    Examples
    --------
    >>> dataset_name(Path("My tumours (2).csv.gz"), set()), dataset_name(Path("P4.csv"), {"p4"})
    ('My_tumours_2', 'P4_table')
    """
    endings = "|".join(map(re.escape, SUFFIXES))
    stem = re.sub(f"({endings})+$", "", table.name, flags=re.I)
    name = re.sub(r"[^A-Za-z0-9_.-]+", "_", stem)[:_LONGEST_NAME].strip("._-") or "table"
    return f"{name}_table" if name.lower() in taken else name


def table_path(folder: Path, table: Path) -> str:
    """Return the path of a table: relative to a folder if both may move together, else absolute."""
    folder, table = folder.resolve(), table.resolve()
    near = table.is_relative_to(folder.parent)
    return Path(os.path.relpath(table, folder)).as_posix() if near else table.as_posix()


def _value(value: Any) -> str:
    # Any JSON is valid YAML, except for characters that YAML refuses, or takes for line breaks.
    return escape_unprintable(json.dumps(value, ensure_ascii=False))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
