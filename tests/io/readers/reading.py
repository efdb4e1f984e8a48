"""What tests of readers compare: a table read as it is, or the one line that refuses it."""

import re

import numpy as np
import pytest

from sparsekm.io.readers.messages import MatrixError
from sparsekm.io.readers.reader import read_matrix

KINDS = ["a", "b", "a", "b", "a", "b"]
GENES = ["TP53", "BRCA1", "MYC", "Xyz1"]
STORED = ["Shh", "Pax6", "NA", "4"]
CYTOKINES = ["IL-6", "IL-10", "TNF-a", "IFN-g", "MCP-1", "GM-CSF", "VEGF", "IL-1b"]
PATIENTS = [f"patient{i}" for i in range(8)]
GSM = [f"GSM{1000 + i}" for i in range(8)]


def values(n_lines, n_columns):
    rng = np.random.default_rng(n_lines * n_columns)
    return rng.gamma(9, 1, size=(n_lines, n_columns)).round(3).astype(object)


def write(header, names, *before, cells=None, separator=",", after=()):
    """Write a table: lines of names, further columns `before` the values, and others `after` them.

    A column may be one cell, which stands in each line. Values are made up unless there are cells.
    """
    columns = [
        [one] * len(names) if isinstance(one, str | int | float) else [*one]
        for one in (names, *before, *after)
    ]
    first, last = columns[: 1 + len(before)], columns[1 + len(before) :]
    cells = values(len(names), len(header) - len(columns)) if cells is None else cells
    lines = [
        [*(c[at] for c in first), *row, *(c[at] for c in last)] for at, row in enumerate(cells)
    ]
    return "".join(separator.join(map(str, line)) + "\n" for line in [header, *lines])


def genes(heading, samples, features, *about, above="", **options):
    """Give a table with a gene in each line, under a heading, and its samples and features."""
    header = [*heading, *samples, *options.pop("behind", ())]
    options = {"separator": "\t", **options}
    return above + write(header, features, *about, **options), samples, [*map(str, features)]


def samples(heading, features, names, *about, **options):
    """Give a table with a sample in each line, and its samples and features."""
    content, features, names = genes(heading, features, names, *about, **options)
    return content, names, [*map(str, features)]


def follow(said):
    """Return the settings that a text advises, each alone."""
    return [way.settings for way in getattr(said, "ways", ())]


def readings(file, **settings):
    """Tell whether a table is asked about, and read it in each of the ways that are printed."""
    try:
        return False, [read_matrix(file, **settings)]
    except MatrixError as error:
        found = [read_matrix(file, **{**settings, **way}) for way in follow(error)]
        if not found:
            raise
        return True, found


def assert_read(raw, table, *remarks):
    np.testing.assert_allclose(raw.collect() + raw.offset, table.to_numpy(), atol=1e-6)
    assert raw.about.features == list(table.columns)
    assert len(raw.remarks) == len(remarks), raw.remarks
    for remark, expected in zip(raw.remarks, remarks, strict=True):
        assert expected in remark


def refusal(file, **settings):
    """Give the line that refuses a file."""
    with pytest.raises(MatrixError) as error:
        read_matrix(file, **settings)
    message = str(error.value)
    assert message.startswith(f"{file}: ")
    assert "\n" not in message
    return message


def refused(file, pattern, **settings):
    assert re.search(pattern, refusal(file, **settings))


def last_sentence(message):
    return message.rstrip(".").rpartition(". ")[2]
