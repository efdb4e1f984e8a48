"""The common form of all tables on the page, and those of methods by data sets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from sparsekm.io.known_classes import distinct_classes
from sparsekm.pipeline.registry import method_look
from sparsekm.reporting.results import DatasetResult


def _environment(autoescape: bool) -> Environment:
    environment = Environment(
        loader=PackageLoader("sparsekm.reporting"),
        autoescape=autoescape,
        # A name that the content lacks is an error.
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Tables of genes are most of the page, so their values are not separated by blanks.
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    environment.globals["joined"] = joined
    return environment


def render_page(content: Mapping[str, Any], template: str = "report.html") -> str:
    """Fill in a template of HTML, a file in ``templates``; what comes from data is escaped."""
    return _environment(autoescape=True).get_template(template).render(content)


def write_text(template: str, **content: Any) -> str:
    """Fill in a template of plain text, which the page escapes where it shows it."""
    return _environment(autoescape=False).get_template(template).render(content).strip()


def joined(values: Iterable[Any]) -> str:
    """Join words as a sentence does: "a", "a and b", "a, b and c"."""
    words = [str(value) for value in values]
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


MISSING = "–"


@dataclass(frozen=True)
class Cell:
    """A text and its markup.

    `url` is a link, `color` that of a swatch before the text, `hover` a tooltip, `note` a small
    text on a line below, and `shade` the background in hundredths.
    """

    text: str
    url: str = ""
    color: str = ""
    hover: str = ""
    note: str = ""
    note_bold: bool = False
    shade: int = 0


@dataclass(frozen=True)
class Column(Cell):
    """The heading of a column.

    `kind` is "" for numbers, "text", or "wide" for long text; `simulated` marks the column as
    simulated.
    """

    kind: str = ""
    simulated: bool = False


@dataclass(frozen=True)
class TableView:
    """A table on the page.

    Each entry of a row is a `Cell`, or a list of cells in one place; the first is the name of the
    row. `simulated` marks the whole table, and `kind` are CSS classes.
    """

    caption: str
    columns: list[Column]
    rows: list[list[Cell | list[Cell]]] = field(default_factory=list)
    simulated: bool = False
    kind: str = "numbers"


def make_table(
    caption: str,
    columns: Mapping[str, str] | Sequence[Column],
    rows: Iterable[Sequence[Any]],
    simulated: bool = False,
    kind: str = "numbers",
) -> TableView:
    """Make a table of texts and cells; `columns` are headings with their kinds."""
    if isinstance(columns, Mapping):
        columns = [Column(head, kind=look) for head, look in columns.items()]
    cells = [
        [value if isinstance(value, Cell | list) else Cell(str(value)) for value in row]
        for row in rows
    ]
    return TableView(caption, list(columns), cells, simulated, kind)


def view_table(
    table: pd.DataFrame,
    caption: str,
    *,
    write: Callable[[Any], str],
    corner: str = "",
    simulated: Mapping[str, bool] | None = None,
) -> TableView:
    """Format a table of numbers with `write`; `corner` is the heading of the row names."""
    marked = [bool((simulated or {}).get(column, False)) for column in table.columns]
    columns = [
        Column(str(column), simulated=mark and not all(marked))
        for column, mark in zip(table.columns, marked, strict=True)
    ]
    values = table.astype(object).to_numpy().tolist()
    rows = [[name, *map(write, row)] for name, row in zip(table.index, values, strict=True)]
    return make_table(caption, [Column(corner), *columns], rows, simulated=all(marked))


def format_count(value: Any) -> str:
    """Format a count with separators."""
    return MISSING if pd.isna(value) else f"{int(value):,}"


def format_rate(value: Any) -> str:
    """Format a rate with four decimals, as in the paper."""
    return MISSING if pd.isna(value) else f"{value:.4f}"


def name_some(names: list[str], most: int) -> str:
    """List the first `most` names, and the number of further ones."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


_DROPPED = {
    "n_voxels_dropped": "voxels dropped: missing values",
    "n_genes_dropped_missing": "genes dropped: missing values",
    "n_genes_dropped_constant": "genes dropped: constant",
    "n_genes_dropped_not_common": "genes dropped: not common to all ages",
    "n_features_filtered": "features left out by n_top_features",
}
_TAKEN_GENES = ("taken", "with_replicates", "without_delegate", "with_several_delegates")
_KEPT_CLASSES = {"section_data_sets": (), "genes": _TAKEN_GENES}


@dataclass(frozen=True)
class Nouns:
    """The words for features, samples and labels of a data set, in the plural."""

    features: str
    samples: str
    labels: str


ATLAS_NOUNS = Nouns("genes", "voxels", "regions")
MATRIX_NOUNS = Nouns("features", "samples", "classes")


def nouns(result: DatasetResult) -> Nouns:
    """Return the words for the parts of a data set."""
    return ATLAS_NOUNS if result.is_atlas else MATRIX_NOUNS


def list_methods(results: Sequence[DatasetResult]) -> list[str]:
    """List the methods of all data sets, in order of first occurrence."""
    return list(dict.fromkeys(method for result in results for method in result.methods))


def score_table(
    results: Sequence[DatasetResult], score: str, methods: Sequence[str] | None = None
) -> pd.DataFrame:
    """Tabulate "n_kept" or a rate, methods by data sets; NaN where it is not known."""
    methods = list_methods(results) if methods is None else methods
    columns = {
        result.name: [
            None if found is None else found.n_kept if score == "n_kept" else found.rate(score)
            for found in map(result.methods.get, methods)
        ]
        for result in results
    }
    return pd.DataFrame(columns, index=[method_look(method).title for method in methods])


def write_range(values: pd.Series, write: Callable[[Any], str]) -> str:
    """Write the least and the largest value, or one if they are the same as written."""
    least, most = write(values.min()), write(values.max())
    return least if least == most else f"{least} to {most}"


def statistics_table(results: Sequence[DatasetResult]) -> pd.DataFrame:
    """Tabulate the size (Int64) of data sets of one kind, and what was left out of each.

    The data sets are either all atlas ages or all matrices. The rows are "number of genes", "number
    of voxels", "number of regions" (or features, samples, classes), then one for each kind of
    exclusion from a data set or from comparisons with labels.
    """
    columns = {}
    for result in results:
        words = nouns(result)
        labels = result.labels
        columns[result.name] = {
            f"number of {words.features}": result.n_features,
            f"number of {words.samples}": result.n_samples,
            f"number of {words.labels}": None if labels is None else len(distinct_classes(labels)),
            f"{words.samples} without a known label": result.n_unlabelled,
            **excluded_counts(result.provenance),
        }
    rows = dict.fromkeys(
        row
        for column in columns.values()
        for row, number in column.items()
        if number != 0 or row.startswith("number of")
    )
    table = pd.DataFrame(
        {name: [column.get(row) for row in rows] for name, column in columns.items()},
        index=list(rows),
        dtype=object,
    )
    return table.astype("Int64")


def excluded_counts(provenance: Mapping[str, Any]) -> dict[str, int]:
    """Count the exclusions in ``uns["provenance"]``, with readable names.

    For an atlas age these are voxels outside the selected tissues, unused section data sets and
    genes, and voxels and genes dropped in quality control; for a matrix they are the features in
    ``dropped_constant``.
    """
    counts: dict[str, int] = {}
    settings, groups = provenance.get("settings", {}), provenance.get("counts", {})
    # Voxels with unknown ids are among the unassigned ones and would count twice.
    tissues = {"unknown_ids", *map(str, settings.get("tissue", ()))}
    kept_classes = {"voxels": tissues, **_KEPT_CLASSES}
    for group, classes in groups.items():
        for name, number in classes.items():
            if name not in kept_classes.get(group, ()):
                counts[f"{group} excluded: {name}".replace("_", " ")] = int(number)
    counts |= {words: int(provenance[key]) for key, words in _DROPPED.items() if key in provenance}
    if "dropped_constant" in provenance and "n_genes_dropped_constant" not in provenance:
        counts["features dropped: constant"] = int(np.size(provenance["dropped_constant"]))
    return counts
