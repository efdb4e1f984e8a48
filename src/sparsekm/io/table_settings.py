"""The settings of a user's table, declared once.

The options of the command, the comments of the configuration that it writes, the part of the
schema about matrices, the table in the documentation and the options that messages name are made
from `TABLE_SETTINGS`.
"""

from __future__ import annotations

import argparse
import re
import shlex
import textwrap
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

_TEXT = {"type": ["string", "null"], "minLength": 1}
_LIST = {"type": ["array", "null"], "items": {"type": ["string", "number", "boolean", "null"]}}


@dataclass(frozen=True)
class TableSetting:
    """One setting: ``name`` in a configuration, an option of the command."""

    name: str
    meaning: str
    schema: dict[str, Any]
    example: Any  # as the configuration shows it in a comment
    metavar: str | None = None
    option: str = ""  # by default made from the name
    is_read: bool = True  # passed to the reader of the table

    @property
    def flag(self) -> str:
        """The option of the command."""
        return self.option or "--" + self.name.replace("_", "-")

    def shown(self, value: Any) -> str:
        """Write the option with a value, as it can be pasted into a shell."""
        if isinstance(value, bool) and self.name == "transpose":
            return self.flag if value else "--no-transpose"
        values = value if isinstance(value, list) else [value]
        return shlex.join([self.flag, *(f"{one}" for one in values)])

    @property
    def parsing(self) -> dict[str, Any]:
        """The arguments of the option's parser, which follow from the schema."""
        kinds = self.schema.get("type", "integer" if "$ref" in self.schema else ())
        choices = [one for one in self.schema.get("enum", ()) if one != "auto"]
        if True in choices:
            return {"action": argparse.BooleanOptionalAction}
        if choices:
            return {"choices": choices}
        if "array" in kinds:
            return {"nargs": "+"}
        return {"type": int if "integer" in kinds else float if "number" in kinds else str}


TABLE_SETTINGS = (
    TableSetting(
        "labels",
        "the column (or line) of known classes, which are used to score the result and to set K",
        _TEXT,
        "kind",
        "COLUMN",
    ),
    TableSetting(
        "n_clusters",
        "K; auto, the default without classes, counts the groups that stand apart",
        {"$ref": "#/$defs/n_clusters"},
        3,
        "K",
        "--clusters",
        is_read=False,
    ),
    TableSetting(
        "groups",
        "a column of groups of samples, such as donors, which are left out as a whole",
        _TEXT,
        "donor",
        "COLUMN",
    ),
    TableSetting(
        "annotate",
        "columns that are not measurements, such as age, sex or batch, to compare with the "
        "clusters",
        _LIST,
        ["age", "batch"],
        "COLUMN",
    ),
    TableSetting(
        "weights",
        "a column of weights: a sample of weight 2 counts as two",
        _TEXT,
        "size",
        "COLUMN",
    ),
    TableSetting(
        "batch",
        "a column of batches, to compare the answer with that of values centred in each",
        _TEXT,
        "plate",
        "COLUMN",
    ),
    TableSetting("samples", "the column of sample names", _TEXT, "patient", "COLUMN"),
    TableSetting(
        "ignore",
        "columns or lines to leave out",
        _LIST,
        ["age", "sex"],
        "COLUMN",
    ),
    TableSetting(
        "keep",
        "columns or lines to use that would be left out, by their names, as annotation",
        _LIST,
        ["score"],
        "COLUMN",
    ),
    TableSetting(
        "transpose",
        "whether lines hold features, such as genes, and columns samples; by default detected",
        {"enum": ["auto", True, False]},
        True,
    ),
    TableSetting(
        "decimal",
        'the decimal separator, "." or ","; by default detected',
        {"enum": ["auto", ".", ","]},
        ",",
    ),
    TableSetting(
        "layer",
        "the layer of an AnnData file, array of an .h5, genome of a 10x .h5, or sheet of a "
        "workbook",
        _TEXT,
        "logcounts",
        "NAME",
    ),
    TableSetting(
        "missing_values",
        "what stands for a missing value or class, besides empty cells, NA and the like",
        _LIST,
        [-999, "?"],
        "VALUE",
    ),
    TableSetting(
        "impute",
        "what to do about missing values: knn, the default, takes the mean of the five most "
        "similar samples; low_rank, what features have in common; median; half_minimum, for values "
        "below a limit of detection; drop leaves out features that lack any",
        {"enum": ["knn", "low_rank", "median", "half_minimum", "drop"]},
        "median",
        is_read=False,
    ),
    TableSetting(
        "max_missing",
        "the largest share of missing values of a feature, and then of a sample; others are "
        "dropped",
        {"type": "number", "minimum": 0, "maximum": 1},
        0.5,
        "SHARE",
        is_read=False,
    ),
    TableSetting(
        "duplicates",
        "how features of one name are merged: mean, the default; sum, the default for counts; "
        "max; or first",
        {"enum": ["mean", "sum", "max", "first"]},
        "max",
    ),
    TableSetting(
        "normalise",
        "zscore, the default; counts: divide raw counts by the library size, take logarithms, then "
        "z-scores; log2: log2(1 + x), then z-scores; none",
        {"enum": ["zscore", "counts", "log2", "none"]},
        "counts",
        is_read=False,
    ),
    TableSetting(
        "n_top_features",
        "use only this many features of raw counts, the most variable",
        {"type": ["integer", "null"], "minimum": 1},
        2000,
        "N",
        is_read=False,
    ),
    TableSetting(
        "feature_groups",
        "a table with the columns feature and group: a group is kept or dropped as a whole",
        _TEXT,
        "groups.csv",
        "TABLE",
        is_read=False,
    ),
    TableSetting(
        "trim",
        "the share of the samples to set aside as outliers",
        {"type": ["number", "null"], "minimum": 0, "exclusiveMaximum": 0.5},
        0.05,
        "SHARE",
        is_read=False,
    ),
)
"""All settings, in the order in which they are shown."""

READER_SETTINGS = tuple(setting.name for setting in TABLE_SETTINGS if setting.is_read)
"""The names of those that the reader takes."""

VALUE_SETTINGS = tuple(
    name
    for name in READER_SETTINGS
    if name not in ("labels", "groups", "weights", "batch", "annotate")
)
"""Of these, the ones on which names and values depend, not what else is known of the samples."""


def split_settings(settings: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the arguments of `sparsekm.pipeline.normalisation.read_normalised_table`."""
    given = {key: value for key, value in settings.items() if value is not None}
    reading = {key: value for key, value in given.items() if key in READER_SETTINGS}
    others = (given.get(key) for key in ("n_top_features", "impute", "max_missing"))
    return reading, given.get("normalise", "zscore"), *others


def add_options(parser: Any, names: Container[str] | None = None) -> None:
    """Add an option for each setting, or those of these names, to a parser or group of options."""
    for setting in TABLE_SETTINGS:
        if names is not None and setting.name not in names:
            continue
        named = {"metavar": setting.metavar} if setting.metavar else {}
        meaning = setting.meaning.replace("%", "%%")
        parser.add_argument(
            setting.flag, dest=setting.name, help=meaning, default=None, **named, **setting.parsing
        )


def schema_properties() -> dict[str, Any]:
    """Return the part of the schema about the settings."""
    return {
        one.name: {"description": f"{one.meaning[0].upper()}{one.meaning[1:]}.", **one.schema}
        for one in TABLE_SETTINGS
    }


def documentation_lines() -> list[str]:
    """Return the lines of the table in the documentation."""
    lines = ["| option | setting | meaning |", "|---|---|---|"]
    for setting in TABLE_SETTINGS:
        example = yaml.safe_dump(setting.example, default_flow_style=True, width=1000)
        value = example.removesuffix("\n").removesuffix("\n...")
        lines.append(
            f"| `{setting.shown(setting.example)}` | `{setting.name}: {value}` | "
            f"{setting.meaning} |"
        )
    return lines


def comment_lines() -> list[str]:
    """Return the comments about the settings in the project's own configuration."""
    lines: list[str] = []
    for setting in TABLE_SETTINGS:
        wrapped = textwrap.wrap(setting.meaning, 80)
        lines.append(f"#   {f'{setting.name}:':<15} {wrapped[0]}")
        lines += [f"#{'':<19}{line}" for line in wrapped[1:]]
    return lines


def options_in(message: str) -> list[str]:
    """Return the options, with their values, for the settings that a message names.

    Examples
    --------
    >>> options_in("Set ignore: [age, sex], or labels: sex for known classes.")
    ['--ignore age sex', '--labels sex']
    """
    settings, options = {setting.name: setting for setting in TABLE_SETTINGS}, []
    names = "|".join(settings)
    value = (
        r"\[(?:\"(?:[^\"\\]|\\.)*\"|[^\]\"])*\]|\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^\s,.:;?]+(?:\.\d+)?"
    )
    for found in re.finditer(
        rf"\b(?:(?:to )?({names}): ({value})|[Ss]et ({names})\b(?!: ))", message
    ):
        setting = settings[found[1] or found[3]]
        if found[1]:
            try:
                option = setting.shown(yaml.safe_load(found[2]))
            except yaml.YAMLError:
                option = setting.flag
        else:
            option = " ".join(filter(None, (setting.flag, setting.metavar)))
        options.append(option)
    return list(dict.fromkeys(options))
