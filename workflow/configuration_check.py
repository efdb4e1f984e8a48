"""Checks of the configuration; each error is one line with key, value and rule.

This module does not use Snakemake, so that the checks can be tested separately. It only needs
packages that Snakemake installs, since jobs may run in their own environments.
"""

from __future__ import annotations

import copy
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

import jsonschema
import yaml

from sparsekm.annotation import is_address
from sparsekm.command.configuration import path_rule, reserved_names
from sparsekm.io.input_error import hide_secrets, is_storable, shorten
from sparsekm.io.table_settings import READER_SETTINGS, schema_properties
from sparsekm.pipeline.registry import METHODS
from sparsekm.studies import EXPERIMENT_ARGUMENTS, METHOD_ROWS, RIVALS, select_settings

SCHEMA_FILE = Path(__file__).parent / "schemas" / "config.schema.yaml"
EARLIER_FILE = SCHEMA_FILE.with_name("earlier_settings.yaml")
MOST_CHARACTERS = 400
"""Maximum length of a message, since it may quote a long value."""


def check_configuration(config: dict[str, Any]) -> list[str]:
    """Fill in the defaults of a configuration, and list what is wrong with it."""
    errors = structure_errors(config)
    if not errors:
        for section in ("atlas", "matrices", "simulation", "annotation"):
            # Treat an empty section as one without entries.
            if config.get(section) is None:
                config[section] = {}
        errors = schema_errors(config)
    return [hide_secrets(error) for error in errors or meaning_errors(config)]


def set_by_user(
    config: Mapping[str, Any], defaults: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the settings that differ from the defaults, which `check_configuration` filled in."""
    if defaults is None:
        check_configuration(defaults := {})
    changed = {}
    for key, value in config.items():
        usual = defaults.get(key)
        if isinstance(value, Mapping) and isinstance(usual, Mapping):
            value = set_by_user(value, usual) or usual
        if value != usual:
            changed[key] = value
    return changed


def structure_errors(config: Mapping[str, Any]) -> list[str]:
    """List errors to find before validating the schema: NaN, and text that files cannot hold."""
    errors: list[str] = []

    def check(value: Any, where: str) -> None:
        if isinstance(value, float) and not math.isfinite(value):
            errors.append(f"{where}={value}: a number should be finite.")
        if isinstance(value, str) and not is_storable(value):
            errors.append(f"{where}={value!r}: text should not have NUL or unpaired surrogates.")
        if isinstance(value, Mapping):
            keys = [key for key in value if not (isinstance(key, str) and key.isprintable())]
            if keys:
                errors.append(f"{where}: keys {keys[:5]} should be printable text.")
        if isinstance(value, Mapping | list):
            for key, item in value.items() if isinstance(value, Mapping) else enumerate(value):
                check(item, f"{where}.{key}".removeprefix("configuration."))

    check(config, "configuration")
    return [shorten(error, MOST_CHARACTERS) for error in errors[:20]]


@cache
def _read_yaml(file: Path) -> dict[str, Any]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(file.read_text(encoding="utf-8"), loader)


@cache
def read_schema() -> dict[str, Any]:
    """Return the schema of the configuration, with what tables of the package define.

    These are the settings of tables, the names of methods, and the penalties' grids. Sections,
    which know all their keys, are mappings that are empty by default.
    """
    schema = _read_yaml(SCHEMA_FILE)
    sections = schema["properties"]
    sections["matrices"]["additionalProperties"]["properties"].update(schema_properties())
    simulated = sections["simulation"]["properties"]
    variants = [name for name, row in METHOD_ROWS.items() if row.is_variant]
    for names, known in (
        (sections["methods"], sorted(METHODS)),
        (sections["yardstick"]["properties"]["methods"], sorted([*METHODS, *RIVALS])),
        (simulated["methods"], [name for name in METHOD_ROWS if name not in variants]),
        (simulated["variants"], variants),
    ):
        names["items"] = {"enum": known}
    grids = sections["tuning"]["properties"]["sparsities"]["properties"]
    for method in METHODS.values():
        if method.penalty and method.penalty not in grids:
            values = {"type": "number", **method.sparsities}
            array = {"type": "array", "minItems": 1, "uniqueItems": True, "items": values}
            grids[method.penalty] = {"default": "auto", "anyOf": [{"const": "auto"}, array]}
    _complete_sections(schema)
    return schema


def _complete_sections(part: dict[str, Any]) -> None:
    for section in part.get("properties", {}).values():
        if section.get("additionalProperties") is False:
            section |= {"type": "object", "default": {}}
            _complete_sections(section)


def schema_errors(config: dict[str, Any]) -> list[str]:
    """Fill in the defaults, and list violations of the schema in alphabetical order."""
    # In JSON Schema 3.0 is an integer, in Python it is not.
    checker = jsonschema.Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    )
    validator = jsonschema.validators.extend(
        jsonschema.Draft202012Validator, {"properties": _fill_in}, type_checker=checker
    )
    errors = validator(read_schema()).iter_errors(config)
    lines = (line for error in errors for line in explain(error))
    return sorted(shorten(line, MOST_CHARACTERS) for line in lines)


def _fill_in(validator: Any, properties: dict[str, Any], value: Any, schema: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for key, described in properties.items():
            if "default" in described:
                value.setdefault(key, copy.deepcopy(described["default"]))
    check = jsonschema.Draft202012Validator.VALIDATORS["properties"]
    yield from check(validator, properties, value, schema)


def explain(error: jsonschema.ValidationError) -> list[str]:
    """Describe a violation of the schema: a line for each removed setting, and one for the rest."""
    place, earlier = ".".join(map(str, error.absolute_path)), _read_yaml(EARLIER_FILE)
    told = {name: f"{name} was removed: {how}." for name, how in earlier["removed"].items()}
    told |= {name: f"{name} is now {other}." for name, other in earlier["renamed"].items()}
    if error.validator != "additionalProperties" or not isinstance(error.validator_value, bool):
        return [told.get(f"{place}={error.instance}") or _explain_value(error)]
    known = list(error.schema.get("properties", {}))
    names = {key: f"{place}.{key}".lstrip(".") for key in sorted(set(error.instance) - set(known))}
    unknown = [key for key, name in names.items() if name not in told]
    rest = f"{place or 'configuration'}: unknown keys {unknown}; known ones are {known}."
    return [*(told[name] for name in names.values() if name in told), *([rest] if unknown else [])]


def _explain_value(error: jsonschema.ValidationError) -> str:
    """Describe a value in one line: key, value and rule."""
    place = ".".join(map(str, error.absolute_path)) or "configuration"
    match error.validator:
        case "pattern" if "propertyNames" not in error.absolute_schema_path:
            return f"{place}={error.instance!r} should match {error.schema['pattern']}."
        case "pattern" | "not" if "pattern" in error.schema:
            return (
                f"{place}: {error.instance!r} should match {error.schema['pattern']}"
                " and not be the name of an age or a reserved name."
            )
        case "not" | "oneOf":
            return f"{place} {error.schema['description']}."
        case "anyOf":
            rules = "; or ".join(
                str(case.get("const", " ".join(case.get("type", "").split())))
                for case in error.validator_value
            )
            causes = [cause.message for cause in error.context if cause.validator != "const"]
            return f"{place}={error.instance!r} should be {rules} ({causes[0]})."
        case _:
            return f"{place}={error.instance!r}: {error.message}."


def meaning_errors(config: Mapping[str, Any]) -> list[str]:
    """List unknown names and contradictions in a configuration with its defaults."""
    errors = _path_errors(config)
    matrices = {name: entry for name, entry in config["matrices"].items() if entry is not None}
    for name, entry in matrices.items():
        errors += _matrix_errors(name, entry)
        if entry.get("batch") and "sparse" not in config["methods"]:
            errors.append(f"matrices.{name}.batch requires `sparse`. Add `sparse` to methods.")
    errors += _name_errors([*matrices])
    simulation, annotation = config["simulation"], config["annotation"]
    try:
        select_settings(simulation["experiments"])
    except ValueError as error:
        errors.append(f"simulation.{error}")
    repeated, run = simulation["repeated_variants"], simulation["variants"]
    errors += _unknown("simulation.repeated_variants", repeated, run)
    path, (smallest, largest) = annotation["gene_sets"]["path"] or "", annotation["term_size"]
    # The address is not quoted, because it may contain a password whose end is unknown.
    if is_address(path) and not re.fullmatch(r"https://[^\s'\"]+", path):
        rule = "should begin with https:// and have neither blanks nor quotation marks"
        errors.append(f"annotation.gene_sets.path: an address {rule}.")
    if smallest > largest:
        errors.append(f"annotation.term_size={[smallest, largest]} should be ascending.")
    if not config["atlas"]["ages"] and not any(config["matrices"].values()):
        errors.append(
            f"atlas.ages=[] and matrices={config['matrices']}: there should be at least one age or"
            " matrix."
        )
    return [shorten(error, MOST_CHARACTERS) for error in errors]


def _matrix_errors(name: str, entry: Mapping[str, Any]) -> list[str]:
    """List errors in the source of a matrix."""
    if "draw" in entry:
        return _draw_errors(name, entry)
    path = entry["path"]
    place = PurePosixPath(os.path.normpath(path))
    own = (PurePosixPath("data", name, "normalised.h5ad"), PurePosixPath("results", name))
    rules = {
        "be a local file: download it first": is_address(path),
        "be a file, a .zarr, or a folder of 10x (matrix.mtx)": _is_other_folder(Path(path)),
        "not be an output of the workflow": place == own[0] or own[1] in place.parents,
    }
    return [
        f"matrices.{name}.path={path!r} should {rule}." for rule, broken in rules.items() if broken
    ]


def _is_other_folder(path: Path) -> bool:
    """Tell whether a path is a folder of no known format, whose digest would read all of it."""
    marks = (path / ".zgroup", *path.glob("*.mtx"), *path.glob("*.mtx.gz"))
    is_known = path.name.lower().endswith(".zarr") or any(mark.exists() for mark in marks)
    return path.is_dir() and not is_known


def _path_errors(config: Mapping[str, Any]) -> list[str]:
    """List the user's files whose names Snakemake would change or misread."""
    sections = {
        **{f"matrices.{name}": entry for name, entry in config["matrices"].items()},
        "annotation.gene_sets": config["annotation"]["gene_sets"],
        "yardstick": config["yardstick"],
    }
    paths = {
        f"{section}.{key}": entry[key]
        for section, entry in sections.items()
        for key in ("path", "folder", "feature_groups")
        if entry and entry.get(key) and not is_address(entry[key])
    }
    broken = {place: path_rule(path) for place, path in paths.items()}
    return [f"{place}={paths[place]!r} should {rule}." for place, rule in broken.items() if rule]


def _draw_errors(name: str, entry: Mapping[str, Any]) -> list[str]:
    """List unknown settings of an experiment, and settings that apply only to files."""
    errors = [
        f"matrices.{name}.{key}={entry[key]!r} should be left out for a simulated matrix."
        for key in READER_SETTINGS
        if entry.get(key) is not None
    ]
    known = EXPERIMENT_ARGUMENTS[entry["draw"]["experiment"]]
    settings = [key for key in entry["draw"] if key != "experiment"]
    return errors + _unknown(f"matrices.{name}.draw", settings, [*known])


def _name_errors(names: Sequence[str]) -> list[str]:
    """List names of matrices that differ from each other or from a reserved name only in case."""
    errors, known = [], {name.lower(): name for name in reserved_names(read_schema())}
    for name in names:
        other = known.setdefault(name.lower(), name)
        if other != name:
            errors.append(
                f"matrices: {other!r} and {name!r} differ only in case, and some file systems would"
                " give them the same folder. Rename the matrix."
            )
    return errors


def _unknown(key: str, names: Sequence[str], known: Sequence[str]) -> list[str]:
    return [f"{key}: {name!r} should be one of {known}." for name in names if name not in known]
