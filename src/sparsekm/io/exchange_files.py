"""Tables for other programs: a workbook, GCT with CLS, and ranked features per cluster.

Morpheus and GenePattern read GCT and CLS; GSEA and clusterProfiler read ``.rnk``.
Equal results give equal bytes.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
from xlsxwriter import Workbook

from sparsekm.io.atomic import write_bytes, write_text
from sparsekm.io.input_error import escape_unprintable

# The largest number of rows in a sheet, with its heading.
MOST_ROWS = 2**20 - 1
# The largest number of values in a GCT; if there are more, the first features are written.
MOST_NUMBERS = 10_000_000
_LONGEST_CELL = 32_000
_DATE = (1980, 1, 1, 0, 0, 0)


def write_workbook(file: str | Path, sheets: Mapping[str, pd.DataFrame]) -> None:
    """Write tables as the sheets of an ``.xlsx`` file, atomically.

    Texts stay texts, even if they begin like a formula. Tables are cut after 1,048,575 rows.
    """
    plain = {"strings_to_formulas": False, "strings_to_urls": False, "nan_inf_to_errors": True}
    stream = io.BytesIO()
    with Workbook(stream, {"constant_memory": True, **plain}) as book:
        # A creation date would make equal results differ.
        book.set_properties({"created": datetime(*_DATE, tzinfo=UTC)})
        for name, table in sheets.items():
            sheet = book.add_worksheet(name)
            sheet.freeze_panes(1, 1)
            shown = table.head(MOST_ROWS).astype(object)
            shown = shown.where(shown.notna(), None)
            for number, row in enumerate(chain([shown.columns], shown.itertuples(index=False))):
                cells = [_word(x)[:_LONGEST_CELL] if isinstance(x, str) else x for x in row]
                sheet.write_row(number, 0, cells)
    write_bytes(stream.getvalue(), file)


def write_gct(
    file: str | Path, values: np.ndarray, samples: Sequence[str], features: Sequence[str]
) -> None:
    """Write values (n_samples, n_features) as GCT 1.2, atomically, with features as rows."""
    lines = ["#1.2", f"{len(features)}\t{len(samples)}"]
    lines.append("\t".join(["NAME", "Description", *map(_word, samples)]))
    form = "\t".join(["%.6g"] * len(samples))
    for name, column in zip(map(_word, features), values.T, strict=True):
        lines.append(f"{name}\t{name}\t{form % tuple(column.tolist())}")
    write_text("\n".join(lines) + "\n", file)


def write_cls(file: str | Path, labels: Iterable[int]) -> None:
    """Write the cluster of each sample of a GCT file as CLS, atomically."""
    names = [f"cluster_{label}" for label in labels]
    found = list(dict.fromkeys(names))
    write_text(
        f"{len(names)} {len(found)} 1\n# {' '.join(found)}\n{' '.join(names)}\n",
        file,
    )


def write_ranked(
    file: str | Path, centers: np.ndarray, labels: np.ndarray, features: Sequence[str]
) -> None:
    """Write a zip with a ``.rnk`` for each cluster: features by their difference to other samples.

    `centers` (n_clusters, n_features) are means of the clusters in the z-scores of all samples.
    """
    names, stream = [_word(name) for name in features], io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for cluster in np.unique(labels):
            rest = np.count_nonzero(labels != cluster)
            # The mean of all samples is 0, so the mean of the others follows from the cluster's
            # mean.
            lead = centers[cluster] * (len(labels) / max(rest, 1))
            order = np.argsort(-lead, kind="stable")
            lines = [f"{names[at]}\t{lead[at]:.6g}\n" for at in order]
            part = zipfile.ZipInfo(f"cluster_{cluster}.rnk", _DATE)
            archive.writestr(part, "".join(lines), zipfile.ZIP_DEFLATED)
    write_bytes(stream.getvalue(), file)


def _word(name: object) -> str:
    return escape_unprintable(str(name))
