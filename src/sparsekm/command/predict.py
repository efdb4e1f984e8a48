"""``sparsekm predict``: put the samples of another table to the clusters of a run."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from sparsekm.annotation.new_samples import (
    PREDICTED,
    KnownClusters,
    predict_samples,
    read_samples,
)
from sparsekm.command.configuration import dataset_name
from sparsekm.command.refusals import CommandError, short_path
from sparsekm.command.table_summary import limits_of, note_lines
from sparsekm.io.table_settings import VALUE_SETTINGS
from sparsekm.pipeline.bounded_process import run_bounded


def predict_table(options: Namespace) -> int:
    """Write the clusters of new samples, and return the exit status."""
    table = options.table
    if not table.exists():
        raise CommandError(f"{table}: no such file.")
    output = options.output or Path(f"{dataset_name(table, set())}-clusters.csv")
    if output.resolve() == table.resolve() or (output.exists() and not options.force):
        raise CommandError(
            f"{short_path(output)}: exists and will not be overwritten. Choose another file with "
            "--output, or replace the clusters of an earlier time with --force."
        )
    reading = {name: getattr(options, name) for name in VALUE_SETTINGS}
    given = {name: value for name, value in reading.items() if value is not None}

    def work() -> list[str]:
        known = KnownClusters.read(options.run, options.dataset, options.method)
        raw = read_samples(table, known, given)
        found, said = predict_samples(raw, known, options.scaling)
        PREDICTED.write(output, found)
        sizes = found["cluster"][~found["none_of_them"]].value_counts().sort_index()
        counts = [f"cluster {cluster}: {size}" for cluster, size in sizes.items()]
        counts.append(f"none of them: {found['none_of_them'].sum()}")
        notes = [line for remark in raw.remarks for line in note_lines(remark)]
        head = f"{table}: {raw.X.shape[0]:,} samples x {raw.X.shape[1]:,} features"
        return [head, *notes, *(f"  {line}." for line in said), f"  {', '.join(counts)}"]

    # The file may be a stranger's.
    lines = run_bounded(table, work, limits_of(table, options.layer))
    if not options.quiet:
        print("\n".join([*lines, f"Clusters: {short_path(output)}"]))
    return 0
