"""``sparsekm run``: summarise a table, write its configuration, run the workflow, print results."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from argparse import Namespace
from pathlib import Path
from typing import Any

import yaml

from sparsekm.command.configuration import (
    USUAL_CLUSTER_SIZE,
    compose,
    dataset_name,
    table_path,
)
from sparsekm.command.configuration_reader import path_rule, read_configuration
from sparsekm.command.refusals import (
    note_run,
    refuse_options,
    refuse_to_write,
    short_path,
    take_turn,
)
from sparsekm.command.results import describe_results
from sparsekm.command.signals import run_group
from sparsekm.command.table_summary import summarise_table, summary_lines
from sparsekm.command.workflow_place import CommandError, find_workflow
from sparsekm.io.atomic import write_text
from sparsekm.io.table_description import TableDescription
from sparsekm.io.table_settings import TABLE_SETTINGS
from sparsekm.pipeline.cluster_count import count_clusters
from sparsekm.pipeline.registry import DEFAULT_METHODS

_THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def run_table(options: Namespace) -> int:
    """Run the workflow with these options, and return the exit status."""
    tell = (lambda line: None) if options.quiet else print
    place = find_workflow()
    is_table = options.table.suffix not in (".yaml", ".yml")
    if is_table:
        file, text = _prepare(options, place, tell)
        if options.dry_run:
            return 0
    else:
        file = options.table
        refuse_options(options)
        if options.dry_run:
            return _look_again(file, tell)
    folder = file.resolve().parent
    settings = yaml.safe_load(text) if is_table else read_configuration(file)
    refuse_to_write(file, settings, place, is_table=is_table, force=options.force)
    with take_turn(folder):
        _clear_stale_lock(place, folder)
        if is_table:
            write_text(text, file)
        note_run(file, settings)
        tell(f"Running {short_path(file)} (edit it to change settings)")
        status = _start_workflow(place, file.resolve(), folder, options)
    if status:
        raise CommandError(
            f"the run failed; see the messages above and in {short_path(folder / 'logs')}. Correct "
            f"{short_path(file)}, then: sparsekm run {shlex.quote(short_path(file))}"
        )
    for line in describe_results(folder, settings, short_path):
        tell(line)
    return 0


def _prepare(options: Namespace, place: Path, tell: Any) -> tuple[Path, str]:
    """Summarise the table, and return the path and the text of a configuration for it."""
    table = options.table
    entry: dict[str, Any] = {
        setting.name: getattr(options, setting.name)
        for setting in TABLE_SETTINGS
        if getattr(options, setting.name) is not None
    }
    if not table.exists():
        raise CommandError(f"{table}: no such file.")
    for path in (table.resolve(), (options.output or Path()).resolve()):
        if rule := path_rule(str(path)):
            raise CommandError(f"{path}: the path should {rule}. Rename it.")
    found = summarise_table(table, entry)
    tell(f"{table}: " + "\n".join(summary_lines(found)))
    if options.n_clusters is None and found.classes is None:
        entry["n_clusters"] = "auto"
        tell("  No known classes and no --clusters: the run will suggest a number of clusters.")
    name = dataset_name(table, _taken_names(place))
    smallest = _smallest_cluster(name, entry, found)
    if smallest < USUAL_CLUSTER_SIZE:
        tell(
            f"  NOTE: half of the samples are too few for clusters of {USUAL_CLUSTER_SIZE}: "
            f"min_cluster_size is set to {smallest}."
        )
    folder = options.output or Path(f"sparsekm-{name}")
    file = folder / "config.yaml"
    entry["path"] = table_path(folder, table)
    if not str(file).isprintable():
        raise CommandError(f"{str(file)!r}: the path should be printable text; set --output.")
    return file, compose(
        name,
        entry,
        f"sparsekm run {shlex.quote(str(file))}",
        methods=options.methods or DEFAULT_METHODS,
        min_cluster_size=smallest,
    )


def _look_again(file: Path, tell: Any) -> int:
    """Summarise the tables of a configuration."""
    matrices = read_configuration(file).get("matrices") or {}
    tables = {name: entry for name, entry in matrices.items() if entry and entry.get("path")}
    if not tables:
        raise CommandError(f"{file}: matrices={list(matrices)} should name a file for --dry-run.")
    for name, entry in tables.items():
        found = summarise_table(file.resolve().parent / entry["path"], entry)
        tell(f"{name}: " + "\n".join(summary_lines(found)))
    return 0


def _smallest_cluster(name: str, entry: dict[str, Any], found: TableDescription) -> int:
    """Return the smallest cluster size to allow, given that half-samples are clustered too."""
    asked = entry.get("n_clusters", "regions")
    # For "auto", 2 is the smallest number that can be suggested.
    classes = None if found.classes is None else list(found.classes)
    k = 2 if asked == "auto" else count_clusters(name, asked, classes, found.n_samples)
    return max(1, min(USUAL_CLUSTER_SIZE, found.n_samples // (2 * k)))


def _taken_names(place: Path) -> set[str]:
    """Return the names that no matrix may have, in lower case."""
    schema = yaml.safe_load((place / "workflow/schemas/config.schema.yaml").read_text("utf-8"))
    cases = schema["properties"]["matrices"]["propertyNames"]["not"]["anyOf"]
    names = [name for case in cases for name in case.get("enum", schema["$defs"]["age"]["enum"])]
    return {str(name).lower() for name in names}


def _environment(folder: Path) -> dict[str, str]:
    """Return the environment of Snakemake and its jobs, which import nothing from where they work.

    A relative entry of the user's search path, such as the empty one of ``PYTHONPATH=:/opt/lab``,
    would be a place in the folder of the run.
    """
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    safe = {
        "PYTHONPATH": os.pathsep.join(filter(os.path.isabs, entries)),
        "PYTHONSAFEPATH": "1",
        **_caches(folder),
    }
    return os.environ | dict.fromkeys(_THREAD_LIMITS, "1") | {"MPLBACKEND": "Agg"} | safe


def _caches(folder: Path) -> dict[str, str]:
    """Return where libraries keep their caches: where they always do, else in the run's folder.

    In a container there may be no home, or one that cannot be written to.
    """
    try:
        usual = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        usual.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=usual).close()
    # Without a home, and without a known user.
    except (OSError, RuntimeError):
        own = folder.resolve() / ".snakemake" / "sparsekm" / "cache"
        own.mkdir(parents=True, exist_ok=True)
        return {"XDG_CACHE_HOME": str(own), "HOME": str(own)}
    return {}


def _clear_stale_lock(place: Path, folder: Path) -> None:
    """Remove the lock of a Snakemake that was killed, or refuse if one may be working."""
    script = [sys.executable, str(place / "scripts" / "clear_stale_lock.py")]
    if subprocess.run(script, cwd=folder, env=_environment(folder), check=False).returncode:
        raise CommandError("nothing was changed, because of the lock named above.")


def _start_workflow(place: Path, file: Path, folder: Path, options: Namespace) -> int:
    """Run Snakemake in the folder, and return its exit status."""
    command = [
        *(sys.executable, "-m", "snakemake", "--logger", "sparsekm"),
        *("--snakefile", str(place / "workflow" / "Snakefile")),
        *("--directory", str(folder), "--workflow-profile", str(place / "profiles" / "default")),
        *("--cores", options.cores, "--configfile", str(file)),
    ]
    with tempfile.TemporaryFile("w+", errors="replace") as hidden:
        sink = hidden if options.quiet else None
        status = run_group(command, cwd=folder, env=_environment(folder), stdout=sink, stderr=sink)
        if status and options.quiet:
            hidden.seek(0)
            sys.stderr.write(hidden.read())
    return status
