"""The configuration: how it is read, and the file that the command writes for users to edit."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import yaml

from sparsekm.io.input_error import InputError, escape_unprintable, is_storable, reason_of
from sparsekm.io.table_settings import TABLE_SETTINGS
from sparsekm.pipeline.registry import DEFAULT_METHODS, METHODS

USUAL_CLUSTER_SIZE = 5
"""The workflow's own default, written out so that you can edit it."""

_MARK = "# Checksum, to tell whether this file was edited: "
# Names of files and folders contain it, and can have at most 255 bytes.
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
    # The command does not write files that are not UTF-8 or cannot be read.
    is_short = file.stat().st_size <= MOST_BYTES
    whole = file.read_text(encoding="utf-8", errors="replace") if is_short else ""
    text, _, digest = whole.partition(_MARK)
    return digest.strip() != _digest(text)


def reserved_names(schema: Mapping[str, Any]) -> list[str]:
    """List the names that no matrix may have, given the schema of the configuration."""
    cases = schema["properties"]["matrices"]["propertyNames"]["not"]["anyOf"]
    return [name for case in cases for name in case.get("enum", schema["$defs"]["age"]["enum"])]


def dataset_name(table: Path, taken: set[str]) -> str:
    """Derive the name of a data set from its file; `taken` are reserved names in lower case.

    Examples
    --------
    >>> dataset_name(Path("My tumours (2).csv.gz"), set()), dataset_name(Path("P4.csv"), {"p4"})
    ('My_tumours_2', 'P4_table')
    """
    # Imported here, because the workflow reads configurations without the packages that readers
    # need.
    from sparsekm.io.readers.reader import SUFFIXES

    endings = "|".join(map(re.escape, SUFFIXES))
    stem = re.sub(f"({endings})+$", "", table.name, flags=re.I)
    name = re.sub(r"[^A-Za-z0-9_.-]+", "_", stem)[:_LONGEST_NAME].strip("._-") or "table"
    return f"{name}_table" if name.lower() in taken else name


def table_path(folder: Path, table: Path) -> str:
    """Return the path of a table, relative to a folder if both may move together, else absolute."""
    folder, table = folder.resolve(), table.resolve()
    near = table.is_relative_to(folder.parent)
    return Path(os.path.relpath(table, folder)).as_posix() if near else table.as_posix()


def _value(value: Any) -> str:
    # JSON is valid YAML, except for characters that YAML refuses or takes for line breaks.
    return escape_unprintable(json.dumps(value, ensure_ascii=False))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


MOST_BYTES = 2**20
"""Largest configuration that is read.

A thousand matrices with all settings have half of this size.
"""
MOST_DEPTH = 50
MOST_LETTERS = 3000
"""Limits of a configuration and of a text in it.

Python can print a number with this many digits.
"""


def read_configuration(file: Path) -> dict[str, Any]:
    """Return the settings in a YAML file; errors name the line and the column."""
    if file.exists() and not (file.is_file() and file.stat().st_size <= MOST_BYTES):
        raise InputError(f"{file}: should be a file of at most {MOST_BYTES:,} bytes.")
    try:
        settings = _PlainLoader(file.read_text(encoding="utf-8")).get_single_data()
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{file}{_describe(error)}") from error
    settings = {} if settings is None else settings
    if not isinstance(settings, dict):
        kind = type(settings).__name__
        raise InputError(f"{file}: type={kind} should be a mapping: lines of `key: value`.")
    if "__use_yte__" in settings:
        rule = "should be left out, because Snakemake would run code in the file"
        raise InputError(f"{file}: __use_yte__ {rule}.")
    return settings


def _describe(error: Exception) -> str:
    """Say, after the name of the file, what cannot be read."""
    match error:
        case OSError():
            return f": {str(error.strerror).lower()}."
        case UnicodeDecodeError():
            return f": byte {error.start + 1} is not UTF-8. Save the file as UTF-8."
    mark = getattr(error, "problem_mark", None)
    place = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    problem = getattr(error, "problem", None) or reason_of(error)
    return (
        f"{place}: {problem}. Settings are lines of `key: value`, indented with spaces; "
        'quote text that has special characters: "text: #1".'
    )


# Numbers that YAML 1.1 reads in another base, such as 010 and 1:30.
_OLD_NUMBER = re.compile(r"[-+]?(?:0[0-9_]+|[1-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?)")


class _PlainLoader(yaml.SafeLoader):
    """Reads plain YAML without tags, aliases and repeated keys, of which one would be lost.

    Nested aliases can be ten billion values in a few lines.
    """

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()
        place, value = event.start_mark, getattr(event, "value", "")
        if isinstance(event, yaml.AliasEvent):
            _refuse(f"*{event.anchor} is an alias; write out what it stands for", place)
        if event.tag is not None:
            _refuse(f"the tag {event.tag} has no meaning here", place)
        if self.depth == MOST_DEPTH:
            _refuse(f"settings should not nest deeper than {MOST_DEPTH}", place)
        if len(value) > MOST_LETTERS:
            _refuse(f"a text should have at most {MOST_LETTERS:,} letters", place)
        is_plain = isinstance(event, yaml.ScalarEvent) and event.implicit[0]
        if is_plain and _OLD_NUMBER.fullmatch(value):
            rule = "has base 8 or 60 in YAML; leave out leading zeros, or quote it"
            _refuse(f"{value} {rule}", place)
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def compose_mapping_node(self, anchor: str | None) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                _refuse(f"the key {key.value!r} occurs twice", key.start_mark)
            seen.add(key.value if isinstance(key, yaml.ScalarNode) else None)
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except ValueError as error:
            _refuse(reason_of(error), node.start_mark)


def _refuse(problem: str, mark: yaml.Mark) -> NoReturn:
    raise yaml.composer.ComposerError(problem=problem, problem_mark=mark)


def path_rule(path: str) -> str | None:
    """Return the rule that a user's path violates, if any.

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
        # Snakemake reads small files before any rule does.
        "not be a pipe, socket or device": (place := Path(path)).exists()
        and not (place.is_file() or place.is_dir()),
    }
    return next((rule for rule, is_broken in rules.items() if is_broken), None)
