"""Reading a matrix from a table of text.

The cells are read once (`text_table`), and tell what lines and columns are (`table_axes`). What is
neither a name, a class nor a measurement is left out, which a remark says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path

import numpy as np

from sparsekm.io.readers.assembling import Parts, assemble, check_named, merge_features
from sparsekm.io.readers.cells import CellParser, as_numbers, listed_numbers
from sparsekm.io.readers.messages import MatrixError, refusal, say, suggest
from sparsekm.io.readers.names import is_a
from sparsekm.io.readers.orientation import (
    annotating_columns,
    doubtful_columns,
    few_levels,
    left_out_features,
    several_measures,
)
from sparsekm.io.readers.raw_matrix import MIN_SAMPLES, RawMatrix, Settings, check_size
from sparsekm.io.readers.table_axes import TableAxes
from sparsekm.io.readers.text_table import UNREADABLE, read_table
from sparsekm.io.row_stream import RowStream


def read_text(file: Path, settings: Settings, text: str | None = None) -> RawMatrix:
    """Read and check a matrix, whose remarks say what was guessed, changed and left out.

    `text` is what another reader made of the file.
    """
    for key, name in settings.named.items():
        if name in settings.ignore:
            raise refusal("also_ignored", file, key=key, name=name)
    try:
        table = read_table(file, text, settings.decimal, settings.missing_values)
        return _read(TableAxes(table, settings), settings)
    except MatrixError as error:
        message = str(error)
        raise error if str(file) in message else MatrixError(f"{file}: {message}") from error
    except UNREADABLE as error:
        raise MatrixError(f"{file}: {' '.join(str(error).split()).rstrip('.')}.") from error


def _read(axes: TableAxes, settings: Settings) -> RawMatrix:
    """Take the measurements of a table, choose samples and features, and assemble the matrix."""
    table, remarks, transpose = axes.table, axes.remarks, axes.transpose
    about = _describe_samples(axes, settings)
    _check_settings(axes, settings, about)
    columns = axes.names(axes.numeric)
    if transpose:
        _refuse_several_measures(axes, settings, columns)
    _refuse_text(axes, settings)
    X = _take_values(axes, settings)
    remarks += [say("changed", what=what, example=one) for what, one in table.changed.items()]
    lines = None if axes.edge is None else axes.column(axes.edge)
    kinds = ("lines", "columns")
    if transpose:
        _refuse_annotation(axes, settings, columns, X)
        features, samples, X = lines or [f"feature{at + 1}" for at in range(len(X))], columns, X.T
        left, kinds = annotating_columns(samples), ("columns", "lines")
    else:
        features, samples = columns, lines
        left = [name for name in lines or () if is_a(name, "summaries") and len(name) > 1]
        # Masses and retention times stand above the samples.
        left += takewhile(lambda name: is_a(name, "feature_annotations"), lines or ())
    chosen = _without(samples or range(len(X)), left, settings, remarks, f"left_{kinds[0]}")
    if transpose:
        _say_text(axes, settings, dict.fromkeys(axes.names(axes.text), ()), "columns")
    left = left_out_features(features, X, settings.keep, remarks, lines=transpose)
    used = _without(features, left, settings, remarks, f"described_by_{kinds[1]}")
    if transpose:
        nameless = [at for at in used if features[at].strip("- ") in ("", "NA", "nan")]
        if 0 < len(nameless) < len(used):
            remarks.append(say("nameless", n=len(nameless)))
            used = np.setdiff1d(used, nameless)
    about = {name: [cells[at] for at in chosen] for name, cells in about.items()}
    _say_text(axes, settings, about, kinds[1])
    if len(axes.aside) and not transpose:
        remarks.append(say("aside", n=len(axes.aside), cells=table.cells(axes.aside[0])[:4]))
    if samples is not None:
        samples = [samples[at] or f"sample{at + 1}" for at in chosen]
    if transpose and settings.samples is not None:
        samples = about[settings.samples]
    parts = Parts(table.file, [features[at] for at in used], samples, about, remarks=remarks)
    parts.lines = "features" if transpose else "samples"
    return _finish(parts, settings, X[np.ix_(chosen, used)], table.above if transpose else {})


def _finish(parts: Parts, settings: Settings, X: np.ndarray, above: Mapping) -> RawMatrix:
    check_size(parts.file, *X.shape)
    X, parts.features = merge_features(X, parts.features, settings.duplicates, parts.remarks)
    if above and settings.labels is None:
        names = [name for name in above if not name.startswith("Sample_")] or [*above]
        parts.remarks.append(say("lines_above", names=names, first=names[0]))
    offset = np.nan_to_num(X[0])
    values = RowStream.of((X - offset).astype(np.float32, order="C"))
    return assemble(parts, settings, values, offset)


def _describe_samples(axes: TableAxes, settings: Settings) -> dict[str, list[str]]:
    """Return the texts about samples by name: columns, or lines and what stands above."""
    if not axes.transpose:
        # The names of lines may be asked for too.
        asked = {axes.header.index(name) for name in settings.named.values() if name in axes.header}
        return {axes.header[at]: axes.column(at) for at in sorted({*axes.text, *asked})}
    about = {}
    for line in axes.aside if axes.edge is not None else ():
        cells = [cell.strip() for cell in axes.table.cells(line)]
        about.setdefault(cells[axes.edge], [cells[at] for at in axes.numeric])
    for name in settings.named.values():
        above = axes.above(name)
        if name not in about and above is not None:
            about[name] = [above[at - 1] for at in axes.numeric]
    return about


def _check_settings(axes: TableAxes, settings: Settings, about: dict[str, list[str]]) -> None:
    """Refuse names in settings that the table does not have."""
    file, names = axes.table.file, [name for name in axes.header if name]
    lines = [] if axes.edge is None else axes.cells[axes.edge].tolist()
    known, where = [*names, *axes.ignored], "its columns"
    if axes.transpose:
        check_named(file, settings, [*about, *lines], "its lines", "the name of a column", names)
        known, where = [*lines, *names], "its lines and columns"
    else:
        check_named(file, settings, names, "its columns", "the name of a line", lines)
    missing = [name for name in settings.ignore if name not in known]
    if missing:
        rest = [name for name in settings.ignore if name in known]
        cure = say("ignore_rest", names=rest) if rest else ""
        cure += suggest("ignore", missing[0], known)
        raise refusal("ignore", file, names=missing, where=where, known=names, cure=cure)


def _refuse_several_measures(axes: TableAxes, settings: Settings, columns: list[str]) -> None:
    """Refuse columns with several measures of each sample, such as those of MaxQuant."""
    columns = [name for name in columns if name not in settings.keep]
    measures = several_measures(columns)
    if measures:
        best, *_ = measures
        ignore = [*settings.ignore, *(name for name in columns if name not in measures[best])]
        raise refusal("measures", axes.table.file, names=[*measures], best=best, ignore=ignore)


def _refuse_text(axes: TableAxes, settings: Settings) -> None:
    """Refuse text among numbers, with the setting that makes it missing."""
    table = axes.table
    odd = np.argwhere(table.is_text[np.ix_(axes.rows, axes.numeric)])
    if not len(odd):
        return
    words: Counter[str] = Counter()
    for row in np.unique(odd[:, 0]):
        cells = table.cells(axes.rows[row])
        words.update(cells[axes.numeric[at]].strip() for at in odd[odd[:, 0] == row, 1])
    line, column = axes.rows[odd[0, 0]], axes.numeric[odd[0, 1]]
    other = "." if settings.decimal == "," else ","
    for word in words:
        if other in word and np.isfinite(as_numbers([word])[0]):
            raise refusal("both_marks", table.file, line=table.numbers[line], cell=word)
    wrong = axes.names([axes.numeric[at] for at in np.unique(odd[:, 1])])
    missing = [*settings.missing_values, *(word for word, _ in words.most_common())]
    cure = say("text_is_missing", missing=missing)
    if len(wrong) < len(axes.numeric):
        cure += say("or_ignore", ignore=[*settings.ignore, *wrong])
    about = {"cell": table.cells(line)[column].strip(), "column": axes.header[column]}
    number = table.numbers[line]
    raise refusal("not_all_numeric", table.file, names=wrong, line=number, cure=cure, **about)


def _take_values(axes: TableAxes, settings: Settings) -> np.ndarray:
    """Return the measurements, (lines, columns), NaN if missing."""
    table = axes.table
    X = table.values[np.ix_(axes.rows, axes.numeric)]
    infinite = np.isinf(X)
    if infinite.any():
        axes.remarks.append(say("infinite", n=infinite.sum()))
        X[infinite] = np.nan
    for number in listed_numbers(settings.missing_values):
        X[number == X] = np.nan
    for row, at in np.argwhere(np.abs(X) > np.finfo(np.float32).max):
        about = {"line": table.numbers[axes.rows[row]], "column": axes.header[axes.numeric[at]]}
        raise refusal("beyond_in_table", table.file, value=X[row, at], **about)
    return X


def _refuse_annotation(
    axes: TableAxes, settings: Settings, columns: list[str], X: np.ndarray
) -> None:
    """Refuse a table of (lines, columns) whose columns do not hold samples, or some may not."""
    file, left = axes.table.file, {*annotating_columns(columns)} - {*settings.keep}
    others = [at for at, name in enumerate(columns) if name not in left]
    doubtful = doubtful_columns([columns[at] for at in others], X[:1000, others])
    doubtful = [name for name in doubtful if name not in settings.keep]
    if doubtful and len(left) + len(doubtful) < len(columns):
        ignore, keep = [*settings.ignore, *doubtful], [*settings.keep, *doubtful]
        raise refusal("doubtful", file, names=doubtful, ignore=ignore, keep=keep)
    if not others or (left and len(others) < MIN_SAMPLES):
        raise refusal("no_samples", file, names=columns)


def _without(
    names: Sequence, left: list[str], settings: Settings, remarks: list[str], kind: str
) -> np.ndarray:
    """Leave out lines or columns by their names, say so, and return the others."""
    gone = {*left} - {*settings.keep}
    # The numbers of lines that pandas and R write have no name.
    told = [name for name in left if name in gone and name and name != "Unnamed: 0"]
    if told:
        remarks.append(say(kind, names=told, most=told[:20]))
    return np.array([at for at, name in enumerate(names) if name not in gone], dtype=np.intp)


def _say_text(
    axes: TableAxes, settings: Settings, texts: Mapping[str, Sequence[str]], kind: str
) -> None:
    """Say which columns or lines of text are left out, and what they may be."""
    names = [name for name in texts if name not in {*settings.named.values(), *settings.ignore}]
    few = [name for name in names if name and few_levels(texts[name])]
    different = [name for name in names if len({*texts[name]}) == len(texts[name]) > 0]
    cure = say("may_be_labels", name=few[0]) if few and not settings.labels else ""
    cure += say("may_annotate", names=few[:20]) if few else ""
    twice = [name for name in few if is_a(name, "sample_heading", "numbering")]
    cure += say("may_be_groups", name=twice[0]) if twice and not settings.groups else ""
    parser = CellParser("," if settings.decimal == "," else ".", units=True)
    numbers = [name for name in names if texts[name] and not any(map(parser.is_text, texts[name]))]
    cure += say("may_have_units", names=numbers) if numbers else ""
    if different and axes.edge is None:
        cure += say("may_be_samples", name=different[0])
    if names:
        axes.remarks.append(say("text", kind=kind, names=names, cure=cure))
