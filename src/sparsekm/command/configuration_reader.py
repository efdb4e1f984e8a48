"""The one reader of configurations, for the command and for the workflow."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from sparsekm.io.input_error import InputError, is_storable, reason_of

_TEMPLATE = "__use_yte__"


def read_configuration(file: Path) -> dict[str, Any]:
    """Return the settings in a YAML file; a mistake is named with its line and column."""
    try:
        loader = _PlainLoader(file.read_text(encoding="utf-8"))
        settings = loader.get_single_data()
    except OSError as error:
        raise InputError(f"{file}: {str(error.strerror).lower()}.") from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{file}: byte {error.start + 1} is not UTF-8: save the file as UTF-8."
        ) from error
    except RecursionError as error:
        raise InputError(f"{file}: the settings are nested too deeply.") from error
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = getattr(error, "problem", None) or reason_of(error)
        raise InputError(
            f"{file}{place}: {problem}. Settings are lines of `key: value`, indented with spaces; "
            'quote text that has special characters: "text: #1".'
        ) from error
    if settings is None:
        return {}
    if not isinstance(settings, dict):
        raise InputError(
            f"{file}: type={type(settings).__name__} should be a mapping: lines of `key: value`."
        )
    if _TEMPLATE in settings:
        raise InputError(
            f"{file}: {_TEMPLATE} should be left out: Snakemake would run code in the file."
        )
    return settings


class _PlainLoader(yaml.SafeLoader):
    """Reads plain YAML: tags are refused, and keys that occur twice, of which one would be lost."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()
        if getattr(event, "tag", None) is not None:
            _refuse(f"the tag {event.tag} has no meaning here", event.start_mark)
        return super().compose_node(parent, index)

    def compose_mapping_node(self, anchor: str | None) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                _refuse(f"the key {key.value!r} occurs twice", key.start_mark)
            seen.add(key.value if isinstance(key, yaml.ScalarNode) else None)
        return node


def _refuse(problem: str, mark: yaml.Mark) -> None:
    raise yaml.composer.ComposerError(problem=problem, problem_mark=mark)


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
