"""What tests of readers compare: a table read as it is, or the one line that refuses it."""

import numpy as np
import pytest

from sparsekm.io.readers.raw_matrix import MatrixError
from sparsekm.io.readers.reader import read_matrix

KINDS = ["a", "b", "a", "b", "a", "b"]
GENES = ["TP53", "BRCA1", "MYC", "Xyz1"]


def assert_read(raw, table, *remarks):
    np.testing.assert_allclose(raw.X.collect() + raw.offset, table.to_numpy(), atol=1e-6)
    assert raw.features == list(table.columns)
    assert len(raw.remarks) == len(remarks), raw.remarks
    for remark, expected in zip(raw.remarks, remarks, strict=True):
        assert expected in remark


def refusal(file, **settings):
    with pytest.raises(MatrixError) as error:
        read_matrix(file, **settings)
    message = str(error.value)
    assert message.startswith(f"{file}: ")
    assert "\n" not in message
    return message


def refused(file, message, **settings):
    with pytest.raises(MatrixError, match=message) as error:
        read_matrix(file, **settings)
    assert str(file) in str(error.value)
    assert "\n" not in str(error.value)


def last_sentence(message):
    return message.rstrip(".").rpartition(". ")[2]
