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
    USUAL_METHODS,
    compose,
    dataset_name,
    table_path,
    write_configuration,
)
from sparsekm.command.configuration_reader import read_configuration
from sparsekm.command.results import describe_results
from sparsekm.command.table_summary import TableSummary, summarise_table
from sparsekm.command.usable_paths import path_rule
from sparsekm.command.workflow_place import CommandError, find_workflow
from sparsekm.pipeline.cluster_count import count_clusters

_READER_OPTIONS = ("labels", "groups", "layer", "samples", "ignore", "transpose", "decimal")
_THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def run_table(options: Namespace) -> int:
    """Run the workflow with these options, and return the exit status."""
    tell = (lambda line: None) if options.quiet else print
    place = find_workflow()
    if options.table.suffix in (".yaml", ".yml"):
        file = options.table
    else:
        file = _prepare(options, place, tell)
    folder = file.resolve().parent
    settings = read_configuration(file)
    tell(f"Running {_short(file)} (edit it to change settings)")
    status = _start_workflow(place, file.resolve(), folder, options)
    if status:
        raise CommandError(
            f"the run failed; see the messages above and in {_short(folder / 'logs')}. Correct "
            f"{_short(file)}, then: sparsekm run {_short(file)}"
        )
    for line in describe_results(folder, settings, _short):
        tell(line)
    return 0


def _prepare(options: Namespace, place: Path, tell: Any) -> Path:
    """Summarise the table, and write a configuration for it."""
    table = options.table
    entry: dict[str, Any] = {
        key: getattr(options, key)
        for key in (*_READER_OPTIONS, "normalise", "n_top_features")
        if getattr(options, key) is not None
    }
    if not table.exists():
        raise CommandError(f"{table}: no such file.")
    for path in (table.resolve(), (options.output or Path()).resolve()):
        if rule := path_rule(str(path)):
            raise CommandError(f"{path}: the path should {rule}. Rename it.")
    reading = {key: value for key, value in entry.items() if key in _READER_OPTIONS}
    found = summarise_table(table, reading, options.normalise or "zscore")
    tell(f"{table}: " + "\n".join(found.lines()))
    if options.clusters is not None:
        entry["n_clusters"] = options.clusters
    elif found.classes is None:
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
    text = compose(
        name,
        entry,
        f"sparsekm run {shlex.quote(str(file))}",
        methods=options.methods or USUAL_METHODS,
        min_cluster_size=smallest,
    )
    write_configuration(file, text)
    return file


def _smallest_cluster(name: str, entry: dict[str, Any], found: TableSummary) -> int:
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
        # By default Snakemake uses the config.yaml in this folder.
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
                # Snakemake was interrupted too and ends its jobs first.
                process.wait()
                raise
        if status and options.quiet:
            hidden.seek(0)
            sys.stderr.write(hidden.read())
    return status


def _short(path: Path) -> str:
    """Return a path as you would type it in the current folder."""
    here = Path.cwd()
    resolved = path.resolve()
    return str(resolved.relative_to(here)) if resolved.is_relative_to(here) else str(path)
