"""``sparsekm run``: summarise a table, write its configuration, run the workflow, print results."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
import textwrap
from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from sparsekm.annotation.gene_table import primary_method
from sparsekm.cluster.sparsity_path import ChosenFit
from sparsekm.command import configuration, refusals
from sparsekm.command.refusals import CommandError, run_again, short_path
from sparsekm.command.signals import run_group
from sparsekm.command.tables import summarise_table
from sparsekm.io.atomic import write_text
from sparsekm.io.input_error import check_file
from sparsekm.io.known_classes import count_clusters
from sparsekm.io.store import read_fit
from sparsekm.io.table_settings import TABLE_SETTINGS, given_settings
from sparsekm.io.tables import SCORES
from sparsekm.pipeline.registry import DEFAULT_METHODS, METHODS

PACKAGE = Path(__file__).resolve().parents[1]


def find_workflow(package: Path = PACKAGE) -> Path:
    """Return the folder that contains the workflow, given the folder of the package."""
    places = (package / "_workflow", package.parents[1])
    for place in places:
        if (place / "workflow" / "Snakefile").is_file():
            return place
    raise CommandError("no_workflow", places=" or ".join(map(str, places)))


def run_table(options: Namespace) -> int:
    """Run the workflow with these options, and return the exit status."""
    tell = (lambda line: None) if options.quiet else print
    place, is_table = find_workflow(), options.table.suffix not in (".yaml", ".yml")
    if is_table:
        file, text = _prepare(options, place, tell)
        if options.dry_run:
            return 0
        settings = yaml.safe_load(text)
    else:
        refusals.refuse_options(options)
        file = options.table
        settings = configuration.read_configuration(file)
    folder = file.resolve().parent
    refusals.refuse_to_write(file, settings, place, is_table=is_table, force=options.force)
    with refusals.take_turn(folder):
        if "SNAKEMAKE_PROFILE" in os.environ:
            tell("SNAKEMAKE_PROFILE is ignored. Choose a profile with --profile.")
        _clear_stale_lock(place, folder)
        if is_table:
            write_text(text, file)
        refusals.note_run(file, settings)
        tell(f"Running {short_path(file)} (edit it to change settings)")
        status = _start_workflow(place, file.resolve(), folder, options)
    if status < 0:
        raise CommandError("killed", name=signal.Signals(-status).name, again=run_again(file))
    if status:
        named = {"logs": short_path(folder / "logs"), "file": short_path(file)}
        raise CommandError("failed", **named, again=run_again(file))
    tell("\n".join(describe_results(folder, settings, short_path)))
    return 0


def _prepare(options: Namespace, place: Path, tell: Callable[[str], Any]) -> tuple[Path, str]:
    """Summarise the table, and return the path and the text of a configuration for it."""
    table = options.table
    entry = given_settings(options, [setting.name for setting in TABLE_SETTINGS])
    groups = options.feature_groups and Path(options.feature_groups)
    for path in filter(None, (table, groups)):
        check_file(path, or_folder=path == table)
    name = configuration.dataset_name(table, _taken_names(place))
    folder = options.output or Path(f"sparsekm-{name}")
    for path in (table.resolve(), folder.resolve()):
        if rule := configuration.path_rule(str(path)):
            raise CommandError("path", path=path, rule=rule)
    if not str(folder).isprintable():
        raise CommandError("printable", path=str(folder))
    n_samples, classes, chosen, told = summarise_table(table, entry)
    entry |= chosen
    tell("\n".join([f"{table}: {told[0]}", *told[1:]]))
    if options.n_clusters is None and classes is None:
        entry["n_clusters"] = "auto"
        unset = "No known classes, and --clusters is not set"
        tell(f"  {unset}: the run will suggest a number of clusters.")
    asked = entry.get("n_clusters", "regions")
    # For "auto", 2 is the smallest number that can be suggested.
    k = 2 if asked == "auto" else count_clusters(name, asked, classes, n_samples)
    # Half-samples are also clustered.
    usual = configuration.USUAL_CLUSTER_SIZE
    smallest = max(1, min(usual, n_samples // (2 * k)))
    if smallest < usual:
        tell(
            f"  NOTE: there are too few samples for clusters of at least {usual}; "
            f"min_cluster_size is set to {smallest}."
        )
    file = folder / "config.yaml"
    entry["path"] = configuration.table_path(folder, table)
    if groups:
        entry["feature_groups"] = configuration.table_path(folder, groups)
    again = f"sparsekm run {shlex.quote(str(file))}"
    how = {"methods": options.methods or DEFAULT_METHODS, "min_cluster_size": smallest}
    return file, configuration.compose(name, entry, again, **how)


def _taken_names(place: Path) -> set[str]:
    """Return the names that no matrix may have, in lower case."""
    schema = yaml.safe_load((place / "workflow/schemas/config.schema.yaml").read_text("utf-8"))
    cases = schema["properties"]["matrices"]["propertyNames"]["not"]["anyOf"]
    names = [name for case in cases for name in case.get("enum", schema["$defs"]["age"]["enum"])]
    return {str(name).lower() for name in names}


def _environment(empty: str) -> dict[str, str]:
    """Return the environment of Snakemake and its jobs, which import nothing from their folder."""
    own = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
    own |= {"MPLBACKEND": "Agg", "PYTHONSAFEPATH": "1"}
    # A relative entry, such as the empty one in PYTHONPATH=:/opt/lab, would be a folder there.
    for name in {"PATH", "PYTHONPATH", "LD_LIBRARY_PATH"} & {*os.environ}:
        own[name] = os.pathsep.join(filter(os.path.isabs, os.environ[name].split(os.pathsep)))
    # In a container there may be no home, no known user, or a home that cannot be written to. Then
    # libraries get caches for this run only, because they run code that they find in a cache.
    try:
        usual = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        # A relative path would be in the folder of the run.
        usual.relative_to("/")
        usual.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=usual).close()
    except (OSError, RuntimeError, ValueError):
        own |= dict.fromkeys(("XDG_CACHE_HOME", "HOME"), empty)
    # This may be the profile of another workflow, with unwanted settings.
    return {k: v for k, v in os.environ.items() if k != "SNAKEMAKE_PROFILE"} | own


def _clear_stale_lock(place: Path, folder: Path) -> None:
    """Remove the lock of a killed Snakemake, or refuse if another one may be working."""
    script = [sys.executable, str(place / "scripts" / "clear_stale_lock.py")]
    with tempfile.TemporaryDirectory(prefix="sparsekm-") as empty:
        if subprocess.run(script, cwd=folder, env=_environment(empty), check=False).returncode:
            raise CommandError("locked")


def _start_workflow(place: Path, file: Path, folder: Path, options: Namespace) -> int:
    """Run Snakemake in the folder, and return its exit status."""
    own = ("--executor", "sparsekm", "--cores", "all")
    command = [
        *(sys.executable, "-m", "snakemake", "--logger", "sparsekm"),
        *("--snakefile", str(place / "workflow" / "Snakefile")),
        *("--directory", str(folder), "--workflow-profile", str(place / "profiles" / "default")),
        *("--configfile", str(file)),
        *(("--profile", options.profile) if options.profile else own),
        *(("--cores", options.cores) if options.cores else ()),
    ]
    with (
        tempfile.TemporaryFile("w+", errors="replace") as hidden,
        # Snakemake imports plugins from the folder where it starts, and finds profiles there.
        tempfile.TemporaryDirectory(prefix="sparsekm-", ignore_cleanup_errors=True) as empty,
    ):
        sink = hidden if options.quiet else None
        # Snakemake inherits the lock of `take_turn`.
        how = {"cwd": empty, "env": _environment(empty), "close_fds": False}
        status = run_group(command, **how, stdout=sink, stderr=sink)
        if status and options.quiet:
            hidden.seek(0)
            sys.stderr.write(hidden.read())
    return status


_RATES = {"cer": "CER", "cer_chance": "chance", "ari": "ARI", "ami": "AMI"}
_TABLES = {
    "clusters.csv": "Clusters:",
    "genes.csv": "Features:",
    "clusters.xlsx": "Workbook:",
    "kept.gct": "GCT, CLS:",
    "ranked.zip": "Ranked:",
}


def describe_results(
    folder: Path, settings: Mapping[str, Any], short: Callable[[Path], str]
) -> list[str]:
    """List the last lines of a run: the finding, scores, tables, report and logs.

    The workflow ran in `folder` with the configuration `settings`; `short` abbreviates paths.
    """
    lines = []
    for name in settings.get("matrices") or {}:
        place = folder / "results" / name
        fit = place / "sparse" / "tuned.h5"
        if fit.is_file() and (told := _conclude(read_fit(fit))):
            lines += ["", *textwrap.wrap(f"{name}: {told}", 98, subsequent_indent="  ")]
        lines += ["", *_scores(place, name)]
        tables = ((title, place / file) for file, title in _TABLES.items())
        lines += [f"  {title:<9} {short(file)}" for title, file in tables if file.is_file()]
    report, logs = folder / "results" / "report.html", folder / "logs"
    return [*lines, "", f"Report: {short(report)}", f"Logs:   {short(logs)}"]


def _conclude(found: ChosenFit) -> str:
    """Return the conclusion and, if batches are known, the clusters within them."""
    if found.batch_centred is None:
        return found.conclusion
    # These take a second to import.
    import numpy as np
    from sklearn.metrics import adjusted_rand_score

    from sparsekm.cluster.batches import WITHIN_SUFFIX

    sizes = np.unique(found.batch_centred, return_counts=True)[1]
    same = adjusted_rand_score(found.labels, found.batch_centred)
    return (
        f"{found.conclusion} After centring within batches, all samples form {len(sizes)} clusters "
        f"of {', '.join(map(str, sizes))} samples; their adjusted Rand index with the clusters "
        f"above is {same:.2f}. See the report, and the column cluster_sparse{WITHIN_SUFFIX} of "
        "clusters.csv."
    )


def _scores(folder: Path, name: str) -> list[str]:
    """Tabulate clusters, kept features and scores of every method, the primary method first."""
    files = {method: folder / method / "scores.csv" for method in METHODS}
    rows = {method: SCORES.read_row(file) for method, file in files.items() if file.is_file()}
    if rows:
        answer = primary_method(rows)
        rows = {answer: rows[answer], **rows}
    has_classes = any(row["cer"] >= 0 for row in rows.values())
    titles = _RATES if has_classes else {}
    heads = "".join(f"  {title:>6}" for title in titles.values())
    lines = [f"{name:<20} clusters  features kept{heads}"]
    for method, row in rows.items():
        rates = "".join(f"  {row[rate]:6.3f}" for rate in titles)
        counts = f"{row['n_clusters']:8.0f}  {row['n_nonzero_weights']:13,.0f}"
        lines.append(f"  {METHODS[method].title:<18} {counts}{rates}")
    if has_classes:
        lines += [
            "  CER: share of pairs of samples on which clusters and classes disagree; chance: the",
            "  CER of random clusters. ARI, AMI: 1 for the same groups, 0 by chance.",
        ]
    return lines
