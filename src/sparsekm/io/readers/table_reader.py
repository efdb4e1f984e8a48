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
import pandas as pd

from sparsekm.io.readers.cells import CellParser, as_numbers, listed_numbers
from sparsekm.io.readers.messages import MatrixError, refusal, say, suggest
from sparsekm.io.readers.names import KNOWN, is_a, shape_of, split_measure, tidy, weigh_names
from sparsekm.io.readers.raw_matrix import (
    MIN_SAMPLES,
    RawMatrix,
    Settings,
    assemble,
    check_named,
    check_size,
    merge_features,
)
from sparsekm.io.readers.table_axes import TableAxes, few_levels
from sparsekm.io.readers.text_table import UNREADABLE, read_table
from sparsekm.io.row_stream import RowStream

_MANY = 20
_FEW_LEVELS = 10


def read_text(file: Path, settings: Settings, text: str | None = None) -> RawMatrix:
    """Read and check a matrix, whose remarks say what was guessed, changed and left out.

    `text` is what another reader made of the file.
    """
    for key, name in settings.named.items():
        if name in settings.ignore:
            raise refusal("also_ignored", file, key=key, name=name)
    try:
        table = read_table(file, text, settings.decimal, settings.missing_values)
        return _read(TableAxes(table, settings))
    except UNREADABLE as error:
        message = str(error)
        if isinstance(error, MatrixError) and str(file) in message:
            raise
        raise MatrixError(f"{file}: {' '.join(message.split()).rstrip('.')}.") from error


def _read(axes: TableAxes) -> RawMatrix:
    """Take the measurements of a table, choose samples and features, and assemble the matrix."""
    table, settings, remarks, transpose = axes.table, axes.settings, axes.remarks, axes.transpose
    about, columns = _describe_samples(axes), axes.names(axes.numeric)
    lines = None if axes.edge is None else axes.column(axes.edge)
    _check_settings(axes, about)
    if transpose:
        _refuse_several_measures(axes, columns)
    X = _take_values(axes)
    if transpose:
        _refuse_annotation(axes, columns, X)
        features, samples, X = lines or [f"feature{at + 1}" for at in range(len(X))], columns, X.T
        left, of_samples, of_features = _annotating_columns(samples), "columns", "lines"
    else:
        features, samples = columns, lines
        left, of_samples, of_features = _annotating_lines(lines or ()), "lines", "columns"
    chosen = _without(axes, samples or range(len(X)), left, f"left_{of_samples}")
    if transpose:
        _say_text(axes, dict.fromkeys(axes.names(axes.text), ()), "columns")
    left = _describing_features(features, X, settings.keep, remarks, lines=transpose)
    used = _without(axes, features, left, f"described_by_{of_features}")
    nameless = [at for at in used if features[at].strip("- ") in ("", "NA", "nan")]
    if transpose and 0 < len(nameless) < len(used):
        remarks.append(say("nameless", n=len(nameless)))
        used = np.setdiff1d(used, nameless)
    about = {name: [cells[at] for at in chosen] for name, cells in about.items()}
    _say_text(axes, about, of_features)
    if len(axes.aside) and not transpose:
        remarks.append(say("aside", n=len(axes.aside), cells=table.cells(axes.aside[0])[:4]))
    if samples is not None:
        samples = [samples[at] or f"sample{at + 1}" for at in chosen]
        controls = [
            name for name in samples if is_a(name, "controls") and name not in settings.keep
        ]
        if 0 < len(controls) < len(samples):
            ignore = [*settings.ignore, *controls]
            remarks.append(say("may_be_controls", names=controls, ignore=ignore))
    if transpose and settings.samples is not None:
        samples = about[settings.samples]
    X, names = X[np.ix_(chosen, used)], [features[at] for at in used]
    check_size(table.file, *X.shape)
    X, names = merge_features(X, names, settings.duplicates, remarks)
    above = table.above if transpose and settings.labels is None else {}
    if above:
        found = [name for name in above if not name.startswith("Sample_")] or [*above]
        remarks.append(say("lines_above", names=found, first=found[0]))
    offset = np.nan_to_num(X[0])
    stream = RowStream.of((X - offset).astype(np.float32, order="C"))
    raw = RawMatrix(stream, offset, names, samples, remarks=remarks)
    raw.lines = "features" if transpose else "samples"
    return assemble(table.file, raw, settings, about)


def _describe_samples(axes: TableAxes) -> dict[str, list[str]]:
    """Return the texts about samples by name: columns, or lines and what stands above."""
    asked = axes.settings.named.values()
    if not axes.transpose:
        # The names of lines may be asked for too.
        columns = {*axes.text, *(axes.header.index(name) for name in asked if name in axes.header)}
        return {axes.header[at]: axes.column(at) for at in sorted(columns)}
    about = {}
    for line in axes.aside if axes.edge is not None else ():
        cells = [cell.strip() for cell in axes.table.cells(line)]
        about.setdefault(cells[axes.edge], [cells[at] for at in axes.numeric])
    for name in asked:
        above = axes.above(name)
        if name not in about and above is not None:
            about[name] = [above[at - 1] for at in axes.numeric]
    return about


def _check_settings(axes: TableAxes, about: dict[str, list[str]]) -> None:
    """Refuse names in settings that the table does not have."""
    file, settings, columns = axes.table.file, axes.settings, [*filter(None, axes.header)]
    lines = [] if axes.edge is None else axes.cells[axes.edge].tolist()
    known, where, other = columns, "its columns", "the name of a line"
    if axes.transpose:
        known, where = [*dict.fromkeys([*about, *lines])], "its lines"
        other = "the name of a column"
    check_named(file, settings, known, where, other, columns if axes.transpose else lines)
    missing = [name for name in settings.ignore if name not in {*columns, *lines}]
    if missing:
        rest = [name for name in settings.ignore if name not in missing]
        cure = say("ignore_rest", names=rest) if rest else ""
        cure += suggest("ignore", missing[0], [*known, *columns])
        raise refusal("ignore", file, names=missing, where=where, known=known, cure=cure)


def _refuse_several_measures(axes: TableAxes, columns: list[str]) -> None:
    """Refuse columns with several measures of each sample, such as those of MaxQuant."""
    columns = [name for name in columns if name not in axes.settings.keep]
    split = [(*split_measure(name), name) for name in columns]
    found = pd.DataFrame(split, columns=["measure", "sample", "name"])
    found = found[(found["measure"] != "") & (found["sample"] != "")]
    found = found[found.groupby("sample")["measure"].transform("nunique") > 1]
    if found["sample"].nunique() < 2:
        return
    names = found.groupby("measure")["name"].agg(list)
    measures = [measure for measure in KNOWN["measures"] if measure in names]
    ignore = [name for name in columns if name not in names[measures[0]]]
    about = {"best": measures[0], "ignore": [*axes.settings.ignore, *ignore]}
    raise refusal("measures", axes.table.file, names=measures, **about)


def _take_values(axes: TableAxes) -> np.ndarray:
    """Return the measurements, (lines, columns), NaN if missing."""
    table = axes.table
    _refuse_text(axes)
    X = table.values[np.ix_(axes.rows, axes.numeric)]
    infinite = np.isinf(X)
    if infinite.any():
        axes.remarks.append(say("infinite", n=infinite.sum()))
        X[infinite] = np.nan
    for number in listed_numbers(axes.settings.missing_values):
        X[number == X] = np.nan
    for row, at in np.argwhere(np.abs(X) > np.finfo(np.float32).max):
        about = {"line": table.numbers[axes.rows[row]], "column": axes.header[axes.numeric[at]]}
        raise refusal("beyond_in_table", table.file, value=X[row, at], **about)
    changed = table.changed.items()
    axes.remarks += [say("changed", what=what, example=example) for what, example in changed]
    return X


def _refuse_text(axes: TableAxes) -> None:
    """Refuse text among numbers, with the setting that makes it missing."""
    table, settings = axes.table, axes.settings
    odd = np.argwhere(table.is_text[np.ix_(axes.rows, axes.numeric)])
    if not len(odd):
        return
    words: Counter[str] = Counter()
    for row in np.unique(odd[:, 0]):
        cells = table.cells(axes.rows[row])
        words.update(cells[axes.numeric[at]].strip() for at in odd[odd[:, 0] == row, 1])
    line, column = axes.rows[odd[0, 0]], axes.numeric[odd[0, 1]]
    number, other = table.numbers[line], "." if settings.decimal == "," else ","
    for word in words:
        if other in word and np.isfinite(as_numbers([word])[0]):
            raise refusal("both_marks", table.file, line=number, cell=word)
    wrong = axes.names(axes.numeric[at] for at in np.unique(odd[:, 1]))
    missing = [*settings.missing_values, *(word for word, _ in words.most_common())]
    cure = say("text_is_missing", missing=missing)
    if len(wrong) < len(axes.numeric):
        cure += say("or_ignore", ignore=[*settings.ignore, *wrong])
    about = {"cell": table.cells(line)[column].strip(), "column": axes.header[column]}
    if not CellParser(units=True).is_text(about["cell"]):
        raise refusal("with_unit", table.file, line=number, **about)
    raise refusal("not_all_numeric", table.file, names=wrong, line=number, cure=cure, **about)


def _refuse_annotation(axes: TableAxes, columns: list[str], X: np.ndarray) -> None:
    """Refuse a table of (lines, columns) whose columns do not hold samples, or some may not."""
    file, keep, ignore = axes.table.file, axes.settings.keep, axes.settings.ignore
    left = {*_annotating_columns(columns)} - {*keep}
    others = [at for at, name in enumerate(columns) if name not in left]
    doubtful = _doubtful_columns([columns[at] for at in others], X[:1000, others])
    doubtful = [name for name in doubtful if name not in keep]
    if doubtful and len(left) + len(doubtful) < len(columns):
        about = {"ignore": [*ignore, *doubtful], "keep": [*keep, *doubtful]}
        raise refusal("doubtful", file, names=doubtful, **about)
    if not others or (left and len(others) < MIN_SAMPLES):
        raise refusal("no_samples", file, names=columns)


def _without(axes: TableAxes, names: Sequence, left: list[str], kind: str) -> np.ndarray:
    """Leave out lines or columns by their names, say so, and return the others."""
    gone = {*left} - {*axes.settings.keep}
    # The numbers of lines that pandas and R write have no name.
    told = [name for name in left if name in gone and name and name != "Unnamed: 0"]
    if told:
        axes.remarks.append(say(kind, names=told, most=told[:20]))
    return np.array([at for at, name in enumerate(names) if name not in gone], dtype=np.intp)


def _say_text(axes: TableAxes, texts: Mapping[str, Sequence[str]], kind: str) -> None:
    """Say which columns or lines of text are left out, and what they may be."""
    settings = axes.settings
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


def _annotating_columns(columns: Sequence[str]) -> list[str]:
    """List the columns that annotate features, where columns hold samples."""
    # One letter may be anything among others, as A, B, F and T are.
    single = [name for name in columns if len(name) == 1]
    kinds = "feature_annotations", "summaries", "feature_heading"
    return [name for name in columns if is_a(name, *kinds) and (len(name) > 1 or len(single) == 1)]


def _annotating_lines(lines: Sequence[str]) -> list[str]:
    """List the lines that annotate or sum up features, where lines hold samples."""
    # Masses and retention times stand above the samples.
    left = [*takewhile(lambda name: is_a(name, "feature_annotations"), lines)]
    for name, previous in zip(lines, ["", *lines], strict=False):
        # One letter may be anything, but an n below the mean counts samples.
        is_sum = is_a(name, "summaries") and (len(name) > 1 or previous in left)
        if is_sum or is_a(name, "summarising"):
            left.append(name)
    return left


def _doubtful_columns(columns: Sequence[str], X: np.ndarray) -> list[str]:
    """List the columns of numbers, (lines, columns), that may annotate features and not be samples.

    Their names differ from most others and contain a word for an annotation, or their values are
    of another kind: the only whole numbers, or of another size by far.
    """
    if len(columns) < 3:
        return []
    annotate = [at for at, name in enumerate(columns) if is_a(name, "annotating")]
    common, count = Counter(map(shape_of, columns)).most_common(1)[0]
    others = [
        at
        for at, name in enumerate(columns)
        if (weigh_names([name]).score >= 0 or is_a(name, "comparing"))
        and (shape_of(name) != common or 2 * count <= len(columns))
    ]
    if len(others) == len(columns):
        others = annotate
    plain = np.setdiff1d(np.arange(len(columns)), others).astype(int)
    if not len(plain):
        return []
    finite = [column[np.isfinite(column)] for column in X.T]
    whole = np.array([(np.rint(x) == x).all() for x in finite])
    size = np.log10([1e-9 + (np.median(abs(x)) if len(x) else 0) for x in finite])
    is_odd = abs(size - np.median(size[plain])) > 1.3
    if not whole[plain].any():
        is_odd |= whole
    doubtful = {at for at in others if is_odd[at] or at in annotate}
    # Those next to them are of the same kind.
    for at in [*others, *reversed(others)]:
        if {at - 1, at + 1} & doubtful:
            doubtful.add(at)
    return [columns[at] for at in sorted(doubtful)]


def _describing_features(
    features: Sequence[str], X: np.ndarray, keep: Sequence[str], remarks: list[str], *, lines: bool
) -> list[str]:
    """List the features of a matrix (samples, features) that describe the samples or sum them up.

    Where most features are descriptions, as in clinical tables, they are kept with a remark.
    `lines` tells that the features are lines of the table.
    """
    index = {name: at for at, name in enumerate(features) if name not in keep}
    kinds = ("special_lines", *(["totals"] if lines else []))
    gone = {name for name in index if is_a(name, *kinds)}
    gone |= {name for name in index if not lines and _is_numbering(name, X, index[name])}
    kinds = ("description", "sample_annotations", *([] if lines else ["sample_heading"]))
    described = [name for name in index if is_a(name, *kinds)]
    rest = [name for name in features if name in index and name not in {*described, *gone}]
    classes = [name for name in described if is_a(name, "class_headings")]
    if described and rest:
        is_few = 4 * len(described) <= len(features) >= _MANY
        if is_few or (weigh_names(rest).score > 0 and 2 * len(described) <= len(rest)):
            gone |= {*described}
        else:
            gone |= {name for name in classes if _has_levels(X[:, index[name]])}
            left = [name for name in described if name not in gone]
            remarks += [say("may_describe", names=left)] * bool(left)
    sums = [name for name in rest if len(name) > 1 and is_a(name, "summaries")]
    # Such as glucose_SD next to glucose.
    plain = {*map(tidy, rest)}
    for name in rest:
        measure, _, word = tidy(name).rpartition(" ")
        sums += [name] * (measure in plain and is_a(word, "summaries"))
    # The first samples tell most features apart from the sum of the others.
    first = np.isclose(2 * X[:5], np.nansum(X[:5], axis=1, keepdims=True)).all(axis=0)
    for at in np.flatnonzero(first) if len(features) > 3 else ():
        if np.allclose(2 * X[:, at], np.nansum(X, axis=1)) and features[at] in {*rest} - {*sums}:
            sums.append(features[at])
    if sums and len(sums) < len(rest):
        remarks.append(say("may_sum_up", names=sums))
    found = [name for name in classes if name in gone]
    if found and not lines:
        remarks.append(say("may_be_classes", name=found[0]))
    return [name for name in features if name in gone]


def _is_numbering(name: str, X: np.ndarray, at: int) -> bool:
    """Tell whether a column numbers the samples: different whole numbers, called so or in order."""
    values, n = X[:, at], len(X)
    if at == 0 and n > _FEW_LEVELS and any((values == np.arange(k, n + k)).all() for k in (0, 1)):
        return True
    if not is_a(name, "numbering") or (len(name) == 1 and name != "X"):
        return False
    steps = np.diff(np.sort(values))
    return len(steps) > 1 and bool((steps >= 0.999).all() and (steps % 1 == 0).all())


def _has_levels(values: np.ndarray) -> bool:
    return len(np.unique(values[np.isfinite(values)])) <= _FEW_LEVELS
