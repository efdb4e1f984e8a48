"""A summary of a table before anything runs: its content, and what was guessed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sparsekm.io.readers.reader import ReadingSize, measure_matrix
from sparsekm.io.table_description import TableDescription, short
from sparsekm.io.table_settings import options_in, split_settings
from sparsekm.pipeline.bounded_process import Limits, reading_limits, run_bounded
from sparsekm.pipeline.normalisation import read_normalised_table


def summarise_table(table: Path, settings: Mapping[str, Any]) -> TableDescription:
    """Read a table in a process with limits, since someone else may have made it.

    `settings` are those of `sparsekm.io.table_settings`.
    """
    limits = limits_of(table, settings.get("layer"))
    return TableDescription(**run_bounded(table, lambda: _describe(table, settings), limits))


def limits_of(table: Path, layer: str | None) -> Limits:
    """Return the limits of the process that may read a table."""
    size = ReadingSize(*run_bounded(table, lambda: measure_matrix(table, layer)))
    return reading_limits(size)


def _describe(table: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
    raw, found = read_normalised_table(table, *split_settings(settings), quick=True)
    return asdict(raw.describe(len(found.dropped)))


def summary_lines(found: TableDescription) -> list[str]:
    """Describe a table and what was guessed, with the options as they can be pasted."""
    return found.summary() + [line for remark in found.remarks for line in note_lines(remark)]


def note_lines(remark: str) -> list[str]:
    """Write a remark, and the options for the settings that it names."""
    options = options_in(remark)
    lines = [f"  NOTE: {short(remark, 500)}"]
    return [*lines, f"        {short('; '.join(options), 500)}"] if options else lines
