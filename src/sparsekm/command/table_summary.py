"""A summary of a table before anything runs: its content, and what was guessed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sparsekm.command.table_settings import options_in, split_settings
from sparsekm.io.known_classes import UNKNOWN
from sparsekm.io.readers.matrix_size import ReadingSize, measure_matrix
from sparsekm.io.shown_text import escape_unprintable, shorten
from sparsekm.pipeline.bounded_process import reading_limits, run_bounded
from sparsekm.pipeline.normalisation import read_normalised_table

_MOST_CLASSES_SHOWN = 8


@dataclass(frozen=True)
class TableSummary:
    """The content of a table.

    `samples` and `features` are the first and last names; `classes` counts the samples of each
    known class, and `n_unknown` those without a class; `n_groups` is the number of groups.
    """

    n_samples: int
    n_features: int
    samples: list[str] | None
    features: list[str]
    classes: dict[str, int] | None
    n_unknown: int
    n_groups: int | None
    remarks: list[str]
    hold: str | None = None  # what the lines of a table hold

    def lines(self) -> list[str]:
        """Describe the table and the guesses in a few lines."""
        lines = [f"{self.n_samples:,} samples x {self.n_features:,} features"]
        for what, names in (("samples", self.samples), ("features", self.features)):
            told = " ... ".join(f"'{_short(name)}'" for name in names or ()) or "without names"
            lines.append(f"  {what}: {told}")
        if self.hold == "samples":
            lines.append("  lines hold samples (--transpose reads them as features)")
        if self.hold == "features":
            lines.append("  lines hold features (--no-transpose reads them as samples)")
        if self.classes is not None:
            largest = sorted(self.classes.items(), key=lambda item: -item[1])
            shown = [f"{_short(name)} {count}" for name, count in largest[:_MOST_CLASSES_SHOWN]]
            more = ["..."] if len(largest) > _MOST_CLASSES_SHOWN else []
            unknown = f"; {self.n_unknown} samples without a class" if self.n_unknown else ""
            noun = "class" if len(largest) == 1 else "classes"
            lines.append(f"  {len(largest)} {noun}: {', '.join(shown + more)}{unknown}")
        if self.n_groups is not None:
            lines.append(f"  {self.n_groups} groups")
        return [*lines, *(line for remark in self.remarks for line in _describe_remark(remark))]


def _describe_remark(remark: str) -> list[str]:
    """Show a remark, and the options that it names as they can be pasted."""
    options = options_in(remark)
    return [
        f"  NOTE: {_short(remark, 500)}",
        *([f"        {_short('; '.join(options), 500)}"] if options else []),
    ]


def _short(text: str, most: int = 40) -> str:
    return shorten(escape_unprintable(text), most)


def summarise_table(table: Path, settings: Mapping[str, Any]) -> TableSummary:
    """Read a table in a process with limits, since someone else may have made it.

    `settings` are those of `sparsekm.command.table_settings`.
    """
    size = ReadingSize(*run_bounded(table, lambda: measure_matrix(table, settings.get("layer"))))
    limits = reading_limits(size)
    return TableSummary(**run_bounded(table, lambda: asdict(_describe(table, settings)), limits))


def _describe(table: Path, settings: Mapping[str, Any]) -> TableSummary:
    raw, found = read_normalised_table(table, *split_settings(settings), quick=True)
    counts = None if raw.labels is None else Counter(raw.labels.tolist())
    return TableSummary(
        n_samples=raw.X.shape[0],
        n_features=raw.X.shape[1] - len(found.dropped),
        samples=None if raw.samples is None else [raw.samples[0], raw.samples[-1]],
        features=[raw.features[0], raw.features[-1]],
        n_unknown=0 if counts is None else counts.pop(UNKNOWN, 0),
        classes=None if counts is None else dict(counts),
        n_groups=None if raw.groups is None else len(set(raw.groups)),
        remarks=raw.remarks,
        hold=raw.lines,
    )
