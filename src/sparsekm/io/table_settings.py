"""The settings of a user's table, declared once, in `table_settings.json`.

The options of the command, the comments of the configuration that it writes, the part of the
schema about matrices, the table in the documentation and the options that messages name are made
from `TABLE_SETTINGS`.
"""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sparsekm.cluster.description import OF_SAMPLES
from sparsekm.io.input_error import escape_unprintable, shorten


@dataclass(frozen=True)
class TableSetting:
    """One setting: ``name`` in a configuration, an option of the command."""

    name: str
    meaning: str
    schema: dict[str, Any]
    example: Any  # as the configuration shows it in a comment
    metavar: str | None = None
    option: str = ""  # by default made from the name
    is_read: bool = True  # whether it is passed to the reader of the table
    word: str = ""  # the word that can replace a number
    group: str = "how the table is read"  # the group of its option in the help

    @property
    def flag(self) -> str:
        """The option of the command."""
        return self.option or "--" + self.name.replace("_", "-")

    def shown(self, value: Any) -> str:
        """Write the option with a value, as it can be pasted into a shell."""
        if isinstance(value, bool) and self.name == "transpose":
            return self.flag if value else "--no-transpose"
        values = [f"{one}" for one in (value if isinstance(value, list | tuple) else [value])]
        # A value that begins with a hyphen would be taken for another option.
        joined = [f"{self.flag}={one}" for one in values if one[:1] == "-"]
        plain = [one for one in values if one[:1] != "-"]
        return shlex.join([*joined, *([self.flag, *plain] if plain else [])])

    def read_number(self, text: str) -> int | str:
        """Read a whole number, or the word that can replace it."""
        if text == self.word or text.isdecimal():
            return int(text) if text != self.word else text
        raise argparse.ArgumentTypeError(f"{text!r} should be a whole number, or {self.word}")

    @property
    def parsing(self) -> dict[str, Any]:
        """The arguments of the option's parser, which follow from the schema."""
        if self.word:
            return {"type": self.read_number}
        kinds = self.schema.get("type", ())
        choices = [one for one in self.schema.get("enum", ()) if one != "auto"]
        if True in choices:
            return {"action": argparse.BooleanOptionalAction}
        if choices:
            return {"choices": choices}
        if "array" in kinds:
            return {"nargs": "+", "action": "extend"}
        return {"type": int if "integer" in kinds else float if "number" in kinds else str}


_DECLARED = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
TABLE_SETTINGS = tuple(TableSetting(name, **about) for name, about in _DECLARED.items())
"""All settings, in the order in which they are shown."""

READER_SETTINGS = tuple(setting.name for setting in TABLE_SETTINGS if setting.is_read)
"""The names of the settings that the reader takes."""

VALUE_SETTINGS = tuple(name for name in READER_SETTINGS if name not in (*OF_SAMPLES, "annotate"))
"""Of these, the settings that affect names and values, not annotation of the samples."""


def reader_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings with which `sparsekm.io.readers.reader.read_matrix` reads a table."""
    given = {key: value for key, value in settings.items() if value is not None}
    return {key: value for key, value in given.items() if key in READER_SETTINGS}


def given_settings(options: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    """Return the settings that options give."""
    given = {name: value for name in names if (value := getattr(options, name)) is not None}
    lists = {name: [*dict.fromkeys(one)] for name, one in given.items() if isinstance(one, list)}
    return given | lists


def add_options(parser: Any, names: Container[str]) -> None:
    """Add an option for each of these settings to a parser, in groups."""
    groups: dict[str, Any] = {}
    for setting in TABLE_SETTINGS:
        if setting.name in names:
            if setting.group not in groups:
                groups[setting.group] = parser.add_argument_group(setting.group)
            look = {"metavar": setting.metavar} if setting.metavar else {}
            look |= {"help": setting.meaning.replace("%", "%%"), **setting.parsing}
            groups[setting.group].add_argument(setting.flag, dest=setting.name, **look)


def schema_properties() -> dict[str, Any]:
    """Return the part of the schema about the settings."""
    return {
        one.name: {"description": f"{one.meaning[0].upper()}{one.meaning[1:]}.", **one.schema}
        for one in TABLE_SETTINGS
    }


def options_of(settings: Mapping[str, Any]) -> list[str]:
    """Return the options for some settings, as they can be pasted into a shell.

    Examples
    --------
    >>> options_of({"ignore": ["age", "Coffee Type"], "labels": "sex"})
    ['--labels sex', "--ignore age 'Coffee Type'"]
    """
    return [one.shown(settings[one.name]) for one in TABLE_SETTINGS if one.name in settings]


def short(text: str, most: int = 40) -> str:
    """Write any text in one short line."""
    return shorten(escape_unprintable(text), most)
