"""What was left out of a data set on its way from the files, counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

_DROPPED = {
    "n_voxels_dropped": "voxels dropped: missing values",
    "n_genes_dropped_missing": "genes dropped: missing values",
    "n_genes_dropped_constant": "genes dropped: constant",
    "n_genes_dropped_not_common": "genes dropped: not common to all ages",
}
_TAKEN_GENES = ("taken", "with_replicates", "without_delegate", "with_several_delegates")
_KEPT_CLASSES = {"section_data_sets": (), "genes": _TAKEN_GENES}


def excluded_counts(provenance: Mapping[str, Any]) -> dict[str, int]:
    """Count what was left out, by readable names, from ``uns["provenance"]``.

    Known are the counts of an atlas age (classes of voxels outside the tissues asked for, section
    data sets and genes not taken, voxels and genes dropped in quality control) and the list
    ``dropped_constant`` of a matrix.
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
