"""Reading a matrix from a table of text.

The cells are read once (`text_table`), and tell what lines and columns are (`table_axes`). What is
neither a name, a class nor a measurement is left out, which a remark says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sparsekm.io.readers.assembling import Parts, assemble, merge_features
from sparsekm.io.readers.cells import listed_numbers
from sparsekm.io.readers.messages import MatrixError, listed, quoted, shown, suggest
from sparsekm.io.readers.names import is_a
from sparsekm.io.readers.orientation import (
    annotating_columns,
    doubtful_columns,
    few_levels,
    left_out_features,
    several_measures,
)
from sparsekm.io.readers.raw_matrix import RawMatrix, Settings, check_size
from sparsekm.io.readers.table_axes import TableAxes
from sparsekm.io.readers.text_table import UNREADABLE, read_table
from sparsekm.io.row_stream import RowStream


def read_text(file: Path, settings: Settings, text: str | None = None) -> RawMatrix:
    """Read and check a matrix, whose remarks say what was guessed, changed and left out.

    `text` is what another reader made of the file.
    """
    for key, name in settings.named.items():
        if name in settings.ignore:
            raise MatrixError(
                f"{file}: {key}={name!r} should not also be ignored. Set either {key} or ignore."
            )
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
    if transpose:
        _refuse_several_measures(axes, settings)
    _check_odd(axes, settings)
    X = _take_values(axes, settings)
    for what, example in table.changed.items():
        remarks.append(f"some numbers are written with {what}, such as {example!r}.")
    columns = axes.names(axes.numeric)
    lines = None if axes.edge is None else axes.column(axes.edge)
    if transpose:
        _refuse_annotation(axes, settings, columns, X)
        features, samples, X = lines or [f"feature{at + 1}" for at in range(len(X))], columns, X.T
        left = annotating_columns(samples)
        said = ("columns", "annotate the features", "lines", "describe the samples or are totals")
    else:
        features, samples = columns, lines
        left = [name for name in lines or () if is_a(name, "summaries") and len(name) > 1]
        said = ("lines", "summarise the others", "columns", "describe the samples")
    chosen = _without(axes, samples or range(len(X)), left, *said[:2], keep=settings.keep)
    about = {name: [cells[at] for at in chosen] for name, cells in about.items()}
    if transpose:
        _say_text(axes, settings, dict.fromkeys(axes.names(axes.text), ()), "columns")
    left = left_out_features(features, X, settings.keep, remarks, lines=transpose)
    used = _without(axes, features, left, *said[2:])
    if transpose:
        nameless = [at for at in used if features[at].strip("- ") in ("", "NA", "nan")]
        if 0 < len(nameless) < len(used):
            remarks.append(f"{len(nameless)} lines without a feature name are left out.")
            used = np.setdiff1d(used, nameless)
    _say_text(axes, settings, about, "lines" if transpose else "columns")
    if len(axes.aside) and not transpose:
        remarks.append(
            f"{len(axes.aside)} lines of text are left out, the first of them "
            f"{shown(table.cells(axes.aside[0]), 4)}."
        )
    X = X[np.ix_(chosen, used)]
    check_size(table.file, *X.shape)
    features = [features[at] for at in used]
    X, features = merge_features(X, features, settings.duplicates, remarks)
    offset = np.nan_to_num(X[0])
    if samples is not None:
        samples = [samples[at] or f"sample{at + 1}" for at in chosen]
    if transpose and settings.samples is not None:
        samples = about[settings.samples]
    if table.above and transpose and settings.labels is None:
        above = [name for name in table.above if not name.startswith("Sample_")] or [*table.above]
        remarks.append(
            f"the lines above describe the samples: {shown(above)}. Set labels: {quoted(above[0])} "
            "for known classes."
        )
    parts = Parts(table.file, features, samples, about, remarks=remarks)
    parts.lines = "features" if transpose else "samples"
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


def _take_values(axes: TableAxes, settings: Settings) -> np.ndarray:
    """Return the measurements, (lines, columns), NaN if missing."""
    table = axes.table
    X = table.values[np.ix_(axes.rows, axes.numeric)]
    infinite = np.isinf(X)
    if infinite.any():
        axes.remarks.append(
            f"{infinite.sum()} infinite values, such as the logarithm of zero, count as missing."
        )
        X[infinite] = np.nan
    for number in listed_numbers(settings.missing_values):
        X[number == X] = np.nan
    large = np.argwhere(np.abs(X) > np.finfo(np.float32).max)
    if len(large):
        row, column = large[0]
        raise MatrixError(
            f"{table.file}: line {table.numbers[axes.rows[row]]}: {X[row, column]} in column "
            f"{axes.header[axes.numeric[column]]!r} is beyond the range of single precision."
        )
    return X


def _check_settings(axes: TableAxes, settings: Settings, about: dict[str, list[str]]) -> None:
    """Refuse names in settings that the table does not have."""
    file = axes.table.file
    names = [name for name in axes.header if name]
    lines = [] if axes.edge is None else axes.cells[axes.edge].tolist()
    kind = "lines and columns" if axes.transpose else "columns"
    known = {*names, *(lines if axes.transpose else axes.ignored)}
    for key, name in settings.named.items():
        if name not in about:
            hint = ""
            if not axes.transpose and name in lines:
                hint = f" A line has the name {name!r}. Set transpose: true."
            raise MatrixError(
                f"{file}: {key}={name!r} should be one of its {kind} "
                f"{shown([*(lines if axes.transpose else ()), *names])}.{hint}"
                f"{suggest(key, name, known)}"
            )
    missing = [name for name in settings.ignore if name not in known]
    if missing:
        hint = f" Leave them out of the list: {listed(missing)}." if len(missing) > 1 else ""
        raise MatrixError(
            f"{file}: ignore={shown(missing)} should be among its {kind} {shown(names)}."
            f"{hint}{suggest('ignore', missing[0], known)}"
        )


def _check_odd(axes: TableAxes, settings: Settings) -> None:
    """Refuse text among numbers, with the setting that makes it missing."""
    odd = np.argwhere(axes.table.is_text[np.ix_(axes.rows, axes.numeric)])
    if not len(odd):
        return
    words: Counter[str] = Counter()
    for row in np.unique(odd[:, 0]):
        cells = axes.table.cells(axes.rows[row])
        words.update(cells[axes.numeric[at]].strip() for at in odd[odd[:, 0] == row, 1])
    line, column = axes.rows[odd[0, 0]], axes.numeric[odd[0, 1]]
    wrong = axes.names([axes.numeric[at] for at in np.unique(odd[:, 1])])
    missing = listed([*settings.missing_values, *(word for word, _ in words.most_common())])
    cure = f"Set missing_values: {missing} if they mean missing values"
    if len(wrong) < len(axes.numeric):
        cure += f", or ignore: {listed([*settings.ignore, *wrong])} to leave the columns out"
    noun = "one column is" if len(wrong) == 1 else f"{len(wrong)} columns are"
    raise MatrixError(
        f"{axes.table.file}: {noun} not numeric throughout: {shown(wrong)}; the first such value "
        f"is {axes.table.cells(line)[column].strip()!r} in column {axes.header[column]!r}, line "
        f"{axes.table.numbers[line]}. {cure}."
    )


def _refuse_several_measures(axes: TableAxes, settings: Settings) -> None:
    """Refuse columns with several measures of each sample, such as those of MaxQuant."""
    columns = [name for name in axes.names(axes.numeric) if name not in settings.keep]
    measures = several_measures(columns)
    if measures:
        best, *_ = measures
        others = [name for name in columns if name not in measures[best]]
        raise MatrixError(
            f"{axes.table.file}: each sample has several columns: {shown([*measures])}. Set "
            f"ignore: {listed([*settings.ignore, *others])} to use {best!r}, or keep to the "
            "columns of another one, and ignore to the rest."
        )


def _refuse_annotation(
    axes: TableAxes, settings: Settings, columns: list[str], X: np.ndarray
) -> None:
    """Refuse a table of (lines, columns) whose columns do not hold samples, or some may not."""
    left = {*annotating_columns(columns)} - {*settings.keep}
    others = [at for at, name in enumerate(columns) if name not in left]
    doubtful = doubtful_columns([columns[at] for at in others], X[:1000, others])
    doubtful = [name for name in doubtful if name not in settings.keep]
    if doubtful and len(left) + len(doubtful) < len(columns):
        raise MatrixError(
            f"{axes.table.file}: columns {shown(doubtful)} look like annotation of the features, "
            f"not like samples. Set ignore: {listed([*settings.ignore, *doubtful])} to leave them "
            f"out, or keep: {listed([*settings.keep, *doubtful])} if they are samples."
        )
    if not others:
        raise MatrixError(
            f"{axes.table.file}: its columns {shown(columns)} describe features, such as the "
            "results of a test or the measures of one sample; there should be a column for each "
            "sample. Use the table of measurements, or set keep to the columns that are samples."
        )


def _without(
    axes: TableAxes, names: Sequence, left: list[str], kind: str, why: str, keep: Sequence = ()
) -> np.ndarray:
    """Leave out lines or columns by their names, say so, and return the others."""
    gone = {*left} - {*keep}
    # The numbers of lines that pandas and R write have no name.
    told = [name for name in left if name in gone and name and name != "Unnamed: 0"]
    if told:
        cure = f"Set keep: {listed(told[:20])} to use them."
        if why == "describe the samples":
            cure += f" Set annotate: {listed(told[:20])} to compare them with the clusters."
        axes.remarks.append(f"{kind} {shown(told)} {why} and are left out. {cure}")
    return np.array([at for at, name in enumerate(names) if name not in gone], dtype=np.intp)


def _say_text(axes: TableAxes, settings: Settings, texts: dict[str, list[str]], kind: str) -> None:
    """Say which columns or lines of text are left out, and what they may be."""
    names = [name for name in texts if name not in {*settings.named.values(), *settings.ignore}]
    if not names:
        return
    classes = [] if settings.labels else [name for name in names if few_levels(texts[name])]
    cure = f" Set labels: {quoted(classes[0])} if it holds known classes." if classes else ""
    if few := [name for name in names if few_levels(texts[name])]:
        cure += f" Set annotate: {listed(few[:20])} to compare them with the clusters."
    different = [name for name in names if len({*texts[name]}) == len(texts[name]) > 0]
    if different and axes.edge is None:
        cure += f" Set samples: {quoted(different[0])} if it names the samples."
    axes.remarks.append(f"{kind} {shown(names)} hold text and are left out.{cure}")
