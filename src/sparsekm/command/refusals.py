"""Whether a run may write to its folder: the refusals before it writes anything."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sparsekm.command.configuration import is_edited, read_configuration
from sparsekm.io.atomic import lock_file, open_to_append, refuse_to_replace
from sparsekm.io.input_error import hide_secrets
from sparsekm.io.readers.messages import name_some
from sparsekm.io.table_settings import TABLE_SETTINGS
from sparsekm.pipeline.workflow_files import read_patterns, recorded_files, walk_folders

_OWN_FOLDER = Path(".snakemake/sparsekm")
MADE_WITH = _OWN_FOLDER / "made_with"
"""The file with the name of the configuration that made the results in a folder."""
# The options that also apply to a configuration file.
_ALWAYS_APPLY = ("command", "table", "cores", "profile", "force", "quiet")
# The rules that a report only needs if it shows the paper's experiments.
_STUDIES = ("simulation", "studies", "theory", "yardstick")
_MOST_NAMED = 3


_TEXTS = json.loads(Path(__file__).with_name("messages.json").read_text(encoding="utf-8"))


class CommandError(Exception):
    """The command cannot continue; a text in `messages.json` says why and what to do."""

    def __init__(self, key: str, **values: object) -> None:
        super().__init__(_TEXTS[key].format(**values))


def run_again(file: Path) -> str:
    """Return the command that runs a configuration."""
    return f"sparsekm run {shlex.quote(short_path(file))}"


def refuse_options(options: Namespace) -> None:
    """Refuse options that only apply to a table if a configuration file is given."""
    flags = {setting.name: setting.flag for setting in TABLE_SETTINGS}
    given = [
        f"--no-{key}" if value is False else flags.get(key, f"--{key.replace('_', '-')}")
        for key, value in vars(options).items()
        if key not in _ALWAYS_APPLY and value is not None
    ]
    if given:
        raise CommandError("of_a_table", given=", ".join(given), table=options.table)


def refuse_to_write(
    file: Path, settings: Mapping[str, Any], place: Path, *, is_table: bool, force: bool
) -> None:
    """Refuse a run that would overwrite files that are not its own.

    These are a configuration that the user edited, a file that no run recorded, and, without
    `force`, results of other settings. The run would use the configuration `file` with these
    `settings`. With `is_table` it would also write this file.
    """
    folder = file.resolve().parent
    if is_table and file.exists() and (not file.is_file() or is_edited(file)):
        raise CommandError("edited", file=short_path(file), again=run_again(file))
    recorded = recorded_files(folder)
    pattern = _pattern(settings, place)
    ours = [path for path in walk_folders(folder) if pattern.fullmatch(path)]
    notes = (path for path in (folder / _OWN_FOLDER).rglob("*") if not path.is_dir())
    for path in (*(folder / path for path in ours), *notes):
        refuse_to_replace(path)
    theirs = [path for path in ours if path not in recorded]
    if theirs:
        other = f": --output {_free_folder(folder)}" if is_table else f" for {file.name}"
        raise CommandError("not_recorded", files=_name_some(folder, theirs), other=other)
    changed = [] if force else _changed_settings(file, settings, is_table=is_table)
    results = [
        path
        for path in sorted(recorded, key=lambda path: (path.count("/"), path))
        if re.match(r"results/(?!benchmarks/|figures/)", path) and (folder / path).exists()
    ]
    if results and changed:
        files, changed = _name_some(folder, results), "; ".join(changed)
        other = f"put {file.name} in another folder"
        other = f"add --output {_free_folder(folder)}" if is_table else other
        raise CommandError("other_settings", files=files, changed=changed, other=other)


def _changed_settings(file: Path, settings: Mapping[str, Any], *, is_table: bool) -> list[str]:
    """List the differences from the configuration that made the results in this folder."""
    note = file.resolve().parent / MADE_WITH
    made_with = note.read_text("utf-8") if note.exists() else file.name
    if made_with != file.name or not file.exists():
        return [f"made with {made_with}"]
    # A configuration is edited to change its results.
    if not is_table:
        return []
    old, new = dict(_flatten(read_configuration(file))), dict(_flatten(settings))
    return [
        f"{key} was {old.get(key, 'not set')} and is {new.get(key, 'not set')}"
        for key in {**old, **new}
        if old.get(key) != new.get(key)
    ]


@contextmanager
def take_turn(folder: Path) -> Iterator[None]:
    """Lock the folder for this run, or refuse if another one is starting or working there.

    Snakemake inherits a lock of its own, because it may outlive a command that was killed. Then
    this run waits for it.
    """
    own = folder / _OWN_FOLDER
    with open_to_append(own / "turn") as turn, open_to_append(own / "snakemake") as held:
        if not lock_file(turn, wait=False):
            raise CommandError("another_run", folder=short_path(folder))
        if not lock_file(held, wait=False):
            print("sparsekm: waiting for the Snakemake of a killed run to end", file=sys.stderr)
            lock_file(held)
        os.set_inheritable(held.fileno(), True)
        yield


def short_path(path: Path) -> str:
    """Return a path as you would type it in the current folder."""
    here, resolved = Path.cwd(), path.resolve()
    return str(resolved.relative_to(here)) if resolved.is_relative_to(here) else str(path)


def _pattern(settings: Mapping[str, Any], place: Path) -> re.Pattern:
    """Compile a pattern of the files that a run with these settings may write."""
    atlas, matrices = settings.get("atlas"), settings.get("matrices")
    # Snakemake refuses a section that is not a mapping, with its own message.
    ages = atlas.get("ages") if isinstance(atlas, Mapping) else None
    names = {"age": list(map(str, ages)) if isinstance(ages, list) else []}
    names["dataset"] = [*names["age"], *map(str, matrices if isinstance(matrices, Mapping) else ())]
    rules = (place / "workflow" / "rules").glob("*.smk")
    if names["age"]:
        names["dataset"].append("genes")
    if settings.get("simulation"):
        names["dataset"].append("simulation")
    else:
        rules = (rule for rule in rules if rule.stem not in _STUDIES)
    constraints = {key: "|".join(map(re.escape, some)) or "(?!)" for key, some in names.items()}
    return read_patterns(sorted(rules), **constraints)


def _name_some(folder: Path, paths: Sequence[str]) -> str:
    return name_some([short_path(folder / path) for path in paths], _MOST_NAMED)


def _free_folder(folder: Path) -> str:
    """Return a folder that does not exist: next to this one, or in it if you work there."""
    taken, number = (folder / "sparsekm" if folder == Path.cwd() else folder), 2
    while (free := taken.with_name(f"{taken.name}-{number}")).exists():
        number += 1
    return shlex.quote(short_path(free))


def _flatten(settings: Mapping[str, Any], name: str = "") -> Iterator[tuple[str, str]]:
    """List settings by their dotted names, with their values as in the file."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{name}{key}.")
        else:
            yield f"{name}{key}", hide_secrets(json.dumps(value, ensure_ascii=False, default=str))
