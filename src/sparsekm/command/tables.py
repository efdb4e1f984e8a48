"""Read a table in a process with limits, because someone else may have made it.

Used for the summary before a run, with the guesses, and for `sparsekm predict`.
"""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sparsekm.command.configuration import dataset_name
from sparsekm.command.refusals import CommandError, short_path
from sparsekm.io.atomic import refuse_to_replace
from sparsekm.io.input_error import check_file
from sparsekm.io.known_classes import distinct_classes
from sparsekm.io.readers.messages import MatrixError, Way
from sparsekm.io.readers.reader import ReadingSize, measure_matrix
from sparsekm.io.table_settings import (
    VALUE_SETTINGS,
    given_settings,
    options_of,
    short,
)
from sparsekm.pipeline.bounded_process import LEAST, Limits, run_bounded
from sparsekm.pipeline.normalisation import read_normalised_table

# The slowest rate at which a large matrix may be read.
_BYTES_PER_SECOND = 10 * 2**20


def summarise_table(
    table: Path, settings: Mapping[str, Any]
) -> tuple[int, list[str] | None, dict[str, Any], list[str]]:
    """Read a table with settings of `sparsekm.io.table_settings`, and describe it in lines.

    Returns the number of samples, the known classes, if there are any, the settings that were
    chosen for raw counts, and the lines. The lines also state the guesses, with options that can be
    pasted.
    """

    def work() -> tuple[int, list[str] | None, dict[str, Any], list[str]]:
        raw, found = read_normalised_table(table, settings, quick=True)
        told = [*raw.summary(len(found.dropped)), *(f"    {line}" for line in raw.preview())]
        labels = raw.about.labels
        classes = None if labels is None else distinct_classes(labels)
        return raw.shape[0], classes, dict(found.chosen), [*told, *_note_lines(raw.remarks)]

    return _read_bounded(table, settings.get("layer"), work)


def _read_bounded(table: Path, layer: str | None, work: Callable[[], Any]) -> Any:
    """Read a table in a process with limits that suit it; an error keeps its ways out."""
    size = ReadingSize(*run_bounded(table, lambda: measure_matrix(table, layer)))
    held = min(size.memory, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    seconds = max(held, size.processed) // _BYTES_PER_SECOND
    limits = Limits(LEAST.memory + held, LEAST.seconds + seconds)

    def answer() -> tuple[Any, list[Way] | None]:
        try:
            return work(), None
        except MatrixError as error:
            return str(error), error.ways

    found, ways = run_bounded(table, answer, limits)
    if ways is not None:
        raise MatrixError(found, [Way(*way) for way in ways])
    return found


def _note_lines(remarks: list[str]) -> list[str]:
    """Write remarks, and options for the settings that each of them names."""
    lines = []
    for remark in remarks:
        lines.append(f"  NOTE: {short(remark, 500)}")
        options = [one for way in getattr(remark, "ways", []) for one in options_of(way.settings)]
        if options:
            lines.append(f"        {'; '.join(options)}")
    return lines


def predict_table(options: Namespace) -> int:
    """Write the clusters of new samples, and return the exit status."""
    from sparsekm.annotation import new_samples

    table = options.table
    check_file(table, or_folder=True)
    output = options.output or Path(f"{dataset_name(table, set())}-clusters.csv")
    refuse_to_replace(output)
    if output.resolve() == table.resolve() or (output.exists() and not options.force):
        raise CommandError("exists", file=short_path(output))
    given = given_settings(options, VALUE_SETTINGS)

    def work() -> list[str]:
        known = new_samples.KnownClusters.read(options.run, options.dataset, options.method)
        raw = new_samples.read_samples(table, known, given)
        found, said = new_samples.predict_samples(raw, known, options.scaling)
        new_samples.PREDICTED.write(output, found)
        sizes = found["cluster"][~found["none_of_them"]].value_counts().sort_index()
        counts = [f"cluster {cluster}: {size}" for cluster, size in sizes.items()]
        counts.append(f"none of them: {found['none_of_them'].sum()}")
        head = f"{table}: {raw.shape[0]:,} samples x {raw.shape[1]:,} features"
        told = [*(f"  {line}." for line in said), f"  {', '.join(counts)}"]
        return [head, *_note_lines(raw.remarks), *told]

    lines = _read_bounded(table, options.layer, work)
    if not options.quiet:
        print("\n".join([*lines, f"Clusters: {short_path(output)}"]))
    return 0
