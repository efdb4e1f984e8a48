"""``sparsekm run``: look at a table, write its configuration, run the workflow, say what came."""

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
    METHODS,
    USUAL_CLUSTER_SIZE,
    compose,
    name_of,
    place_from,
    write_configuration,
)
from sparsekm.command.look import Look, look_at
from sparsekm.command.outcome import describe_outcome
from sparsekm.command.workflow_place import CommandError, find_workflow
from sparsekm.pipeline.cluster_count import count_clusters

_READER_OPTIONS = ("labels", "layer", "samples", "ignore", "transpose", "decimal")
_THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def run_table(options: Namespace) -> int:
    """Run what the options ask for, and return the exit status."""
    tell = (lambda line: None) if options.quiet else print
    place = find_workflow()
    if options.table.suffix in (".yaml", ".yml"):
        file = options.table
        if not file.is_file():
            raise CommandError(f"{file}: no such file.")
    else:
        file = _prepare(options, place, tell)
    folder = file.resolve().parent
    settings = yaml.safe_load(file.read_text(encoding="utf-8"))
    tell(f"What is run: {_short(file)} (edit it to change settings)")
    status = _start_workflow(place, file.resolve(), folder, options)
    if status:
        raise CommandError(
            f"the run failed; its messages stand above, and in {_short(folder / 'logs')}. Mend "
            f"{_short(file)}, then: sparsekm run {_short(file)}"
        )
    for line in describe_outcome(folder, settings, _short):
        tell(line)
    return 0


def _prepare(options: Namespace, place: Path, tell: Any) -> Path:
    """Look at the table, and write the configuration that runs it."""
    table = options.table
    entry: dict[str, Any] = {
        key: getattr(options, key)
        for key in (*_READER_OPTIONS, "normalise")
        if getattr(options, key) is not None
    }
    if not table.exists():
        raise CommandError(f"{table}: no such file.")
    reading = {key: value for key, value in entry.items() if key in _READER_OPTIONS}
    found = look_at(table, reading, options.normalise or "zscore")
    tell(f"{table}: " + "\n".join(found.lines()))
    if options.clusters is not None:
        entry["n_clusters"] = options.clusters
    elif found.classes is None:
        entry["n_clusters"] = "auto"
        tell("  No known classes and no --clusters: a number of clusters is suggested.")
    name = name_of(table, _taken_names(place))
    smallest = _smallest_cluster(name, entry, found)
    if smallest < USUAL_CLUSTER_SIZE:
        tell(
            f"  NOTE: so few samples have no room for clusters of {USUAL_CLUSTER_SIZE} when they "
            f"are halved: min_cluster_size is {smallest}."
        )
    folder = options.output or Path(f"sparsekm-{name}")
    file = folder / "config.yaml"
    entry["path"] = place_from(folder, table)
    if {"{", "}"} & set(entry["path"]):
        raise CommandError(
            f"{table}: a path with braces, which Snakemake takes for wildcards. Rename the file."
        )
    text = compose(
        name,
        entry,
        f"sparsekm run {shlex.quote(str(file))}",
        methods=options.methods or METHODS,
        min_cluster_size=smallest,
    )
    write_configuration(file, text)
    return file


def _smallest_cluster(name: str, entry: dict[str, Any], found: Look) -> int:
    """Give the size of cluster that is still possible in half of the samples."""
    asked = entry.get("n_clusters", "regions")
    # The fewest that can be suggested.
    classes = None if found.classes is None else list(found.classes)
    k = 2 if asked == "auto" else count_clusters(name, asked, classes, found.n_samples)
    return max(1, min(USUAL_CLUSTER_SIZE, found.n_samples // (2 * k)))


def _taken_names(place: Path) -> set[str]:
    """Give the names that no matrix may have, in lower case."""
    schema = yaml.safe_load((place / "workflow/schemas/config.schema.yaml").read_text("utf-8"))
    cases = schema["properties"]["matrices"]["propertyNames"]["not"]["anyOf"]
    names = [name for case in cases for name in case.get("enum", schema["$defs"]["age"]["enum"])]
    return {str(name).lower() for name in names}


def _start_workflow(place: Path, file: Path, folder: Path, options: Namespace) -> int:
    """Run Snakemake in the folder, and return its exit status."""
    environment = os.environ | dict.fromkeys(_THREAD_LIMITS, "1") | {"MPLBACKEND": "Agg"}
    snakefile = ["--snakefile", str(place / "workflow" / "Snakefile")]
    unlock = [sys.executable, str(place / "scripts" / "clear_stale_lock.py"), *snakefile]
    status = subprocess.run(unlock, cwd=folder, env=environment, check=False).returncode
    if status:
        return status
    command = [
        *(sys.executable, "-m", "snakemake", *snakefile, "--logger", "sparsekm"),
        *("--directory", str(folder), "--workflow-profile", str(place / "profiles" / "default")),
        *("--cores", options.cores),
        # Without being told, Snakemake takes a config.yaml of this folder.
        *([] if file.name == "config.yaml" else ["--configfile", str(file)]),
    ]
    with tempfile.TemporaryFile("w+") as hidden:
        sink = hidden if options.quiet else None
        with subprocess.Popen(
            command, cwd=folder, env=environment, stdout=sink, stderr=sink
        ) as process:
            try:
                status = process.wait()
            except KeyboardInterrupt:
                # Snakemake was interrupted as well: it ends its jobs first.
                process.wait()
                raise
        if status and options.quiet:
            hidden.seek(0)
            sys.stderr.write(hidden.read())
    return status


def _short(path: Path) -> str:
    """Name a path as one would type it here."""
    here = Path.cwd()
    resolved = path.resolve()
    return str(resolved.relative_to(here)) if resolved.is_relative_to(here) else str(path)
