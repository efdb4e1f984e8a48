"""The configuration that the command writes, for people to read and to edit."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sparsekm.command.workflow_place import CommandError

METHODS = ("kmeans", "l1", "l0", "sparse")
USUAL_CLUSTER_SIZE = 5
"""The workflow's own defaults, written out so that they can be edited."""

_MARK = "# To tell whether this file was edited: "
# What stands behind a key, or in place of one that is not set.
_NOTES = {
    "labels": "known classes: they score the result and, without n_clusters, give K",
    "n_clusters": "K; auto: compare a few numbers and take the one that the data suggest",
    "samples": "the samples' names",
    "ignore": "columns that are neither features nor classes nor names",
    "transpose": "true: lines hold features (genes), columns samples; auto: decide by the names",
    "decimal": 'what stands before the decimals, "." or ","',
    "layer": "layer of AnnData, or sheet of a workbook",
    "normalise": "zscore; counts (logarithms of raw counts first); or none",
}
_EXAMPLES = {
    "labels": "kind",
    "n_clusters": 3,
    "samples": "patient",
    "ignore": ["age", "sex"],
    "transpose": True,
    "decimal": ",",
    "layer": "logcounts",
    "normalise": "counts",
}


def compose(
    name: str,
    entry: Mapping[str, Any],
    again: str,
    *,
    methods: Sequence[str] = METHODS,
    min_cluster_size: int = USUAL_CLUSTER_SIZE,
) -> str:
    """Write a configuration as text.

    Parameters
    ----------
    name : str
        Of the data set.
    entry : mapping
        Its settings, as under ``matrices`` of the workflow's configuration.
    again : str
        The command that runs the configuration again.
    methods : sequence of str
    min_cluster_size : int
    """
    lines = [
        "# What sparsekm clusters, and how. Edit it, then run it again:",
        f"#   {again}",
        "# Every other setting is explained in config.yaml of the project.",
        "matrices:",
        f"  {json.dumps(name)}:",
        f"    path: {_value(entry['path'])}",
    ]
    for key, note in _NOTES.items():
        if key in entry:
            lines.append(f"    {key}: {_value(entry[key])}  # {note}")
        else:
            lines.append(f"    # {key}: {_value(_EXAMPLES[key])}  # {note}")
    lines.append(f"methods: {_value(list(methods))}  # also pca, pgmm, ifpca, scfs")
    lines.append(f"min_cluster_size: {min_cluster_size}  # the smallest cluster that is looked for")
    text = "\n".join(lines) + "\n"
    return f"{text}{_MARK}{_digest(text)}\n"


def write_configuration(file: Path, text: str) -> None:
    """Write a configuration, but never over one that was edited.

    Raises
    ------
    CommandError
        If another one, not as it was written, stands there.
    """
    if file.is_file() and file.read_text(encoding="utf-8") != text and is_edited(file):
        raise CommandError(
            f"{file} was edited, and is not written anew. Run it as it is: sparsekm run {file}. Or "
            "choose another folder: --output."
        )
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def is_edited(file: Path) -> bool:
    """Tell whether a configuration is other than the command wrote it."""
    text, _, digest = file.read_text(encoding="utf-8").partition(_MARK)
    return digest.strip() != _digest(text)


def name_of(table: Path, taken: set[str]) -> str:
    """Make the name of a data set from that of its file.

    Parameters
    ----------
    table : Path
    taken : set of str
        Names, in lower case, that it may not have.

    Examples
    --------
    >>> name_of(Path("My tumours (2).csv.gz"), set()), name_of(Path("P4.csv"), {"p4"})
    ('My_tumours_2', 'P4_table')
    """
    stem = re.sub(r"(\.(csv|tsv|txt|xlsx|h5ad|zarr|npz|h5|gz))+$", "", table.name, flags=re.I)
    name = re.sub(r"[^A-Za-z0-9_.-]+", "_", stem).strip("._-") or "table"
    return f"{name}_table" if name.lower() in taken else name


def place_from(folder: Path, table: Path) -> str:
    """Name a table from a folder: relatively if both may move together, else absolutely."""
    folder, table = folder.resolve(), table.resolve()
    near = table.is_relative_to(folder.parent)
    return Path(os.path.relpath(table, folder)).as_posix() if near else table.as_posix()


def _value(value: Any) -> str:
    # JSON is YAML, whatever stands in it.
    return json.dumps(value, ensure_ascii=False)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
