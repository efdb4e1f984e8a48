"""Write config.yaml and options.md from the schema and the table of settings: `make settings`.

The list of a table's settings is replaced in both. A key that config.yaml lacks is added below its
neighbour in the schema, with its description and default; comments that are there stay.
"""

import re
import sys
import textwrap
from pathlib import Path

import yaml

from sparsekm.io.table_settings import TABLE_SETTINGS

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow"))


def replace_lines(text, first, end, lines):
    """Replace the lines from the one that starts with `first` to the next that matches `end`."""
    start = text.index(f"\n{first}") + 1
    stop = start + re.search(end, text[start:], re.MULTILINE).start()
    return text[:start] + "\n".join(lines) + "\n" + text[stop:]


def add_missing_keys(text, schema):
    """Add the keys of the schema that a configuration lacks."""
    lines = text.splitlines()
    _add_keys(lines, 0, schema, 0)
    return "\n".join(lines) + "\n"


def _add_keys(lines, start, schema, depth):
    """Add those of a section that begins at a line."""
    indent, end = "  " * depth, start
    for key, part in schema["properties"].items():
        own = range(start, _end(lines, start, depth))
        place = next((at for at in own if lines[at].startswith(f"{indent}{key}:")), None)
        if place is None:
            comment = textwrap.wrap(part.get("description", ""), 98 - len(indent))
            value = yaml.safe_dump(part["default"], default_flow_style=True, width=1000)
            new = [f"{indent}# {line}" for line in comment]
            new.append(f"{indent}{key}: {value.splitlines()[0]}")
            lines[end:end] = ["", *new] if depth == 0 else new
            end += len(new) + (depth == 0)
        else:
            if "properties" in part:
                _add_keys(lines, place + 1, part, depth + 1)
            end = _end(lines, place + 1, depth + 1)


def _end(lines, start, depth):
    """Return the line after those that are indented at least so far."""
    if depth == 0:
        return len(lines)
    inside = (at for at in range(start, len(lines)) if not lines[at].startswith("  " * depth))
    return next(inside, len(lines))


def documentation_lines():
    """Return the lines of the table of settings in the documentation."""
    lines = ["| option | setting | meaning |", "|---|---|---|"]
    for setting in TABLE_SETTINGS:
        example = yaml.safe_dump(setting.example, default_flow_style=True, width=1000)
        value = example.removesuffix("\n").removesuffix("\n...")
        lines.append(
            f"| `{setting.shown(setting.example)}` | `{setting.name}: {value}` | "
            f"{setting.meaning} |"
        )
    return lines


def comment_lines():
    """Return the comments about the settings in the project's own configuration."""
    lines = []
    for setting in TABLE_SETTINGS:
        wrapped = textwrap.wrap(setting.meaning, 80)
        lines.append(f"#   {f'{setting.name}:':<15} {wrapped[0]}")
        lines += [f"#{'':<19}{line}" for line in wrapped[1:]]
    return lines


def rewrite(configuration, page):
    """Return both texts as they should be."""
    from configuration_check import read_schema

    configuration = replace_lines(
        configuration, "#   labels:", "^# Instead of a path", comment_lines()
    )
    page = replace_lines(page, "| option | setting |", r"^(?!\|)", documentation_lines())
    return add_missing_keys(configuration, read_schema()), page


if __name__ == "__main__":
    files = [ROOT / "config.yaml", ROOT / "docs" / "options.md"]
    written = rewrite(*(file.read_text("utf-8") for file in files))
    for file, text in zip(files, written, strict=True):
        file.write_text(text, "utf-8")
