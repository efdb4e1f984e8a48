"""The tables of the report, methods by data sets as in the paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sparsekm.figures.palette import method_look
from sparsekm.io.known_classes import distinct_classes
from sparsekm.reporting.results import DatasetResult

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


def score_table(results: Sequence[DatasetResult], score: str) -> pd.DataFrame:
    """Tabulate an attribute of `MethodResult`, methods by data sets; NaN where it is not known."""
    methods = list_methods(results)
    columns = {
        result.name: [getattr(result.methods.get(method), score, None) for method in methods]
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
                key = f"{_in_words(group)} excluded: {_in_words(name)}"
                counts[key] = int(number)
    counts |= {words: int(provenance[key]) for key, words in _DROPPED.items() if key in provenance}
    if "dropped_constant" in provenance and "n_genes_dropped_constant" not in provenance:
        counts["features dropped: constant"] = int(np.size(provenance["dropped_constant"]))
    return counts


def _in_words(name: str) -> str:
    return str(name).replace("_", " ")
