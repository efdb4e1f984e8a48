"""Batches of splits: written, read back as one, and refused where they do not fit."""

import numpy as np
import pytest

from sparsekm.io.checked_hdf5 import DamagedFileError
from sparsekm.io.split_file import Splits

ATTRIBUTES = {
    "method": "l0",
    "dataset": "d",
    "n_clusters": 2,
    "search": "global",
    "seed": 1,
    "parameters": {},
    "versions": {},
    "input_digest": "a",
    "code_digest": "b",
    "scheme": "subsample",
}


def batch(indices, sparsities=(2.0, 5.0), n_features=3):
    m = len(sparsities)
    return Splits(
        indices=np.array(indices),
        sparsities=np.array(sparsities),
        agreements=np.array(indices, float)[:, None] / 10 * np.ones(m),
        selections=np.full((m, n_features), len(indices)),
        n_fits=len(indices),
        attributes=ATTRIBUTES,
    )


def test_batches_are_read_as_one_in_the_order_of_their_numbers(tmp_path):
    files = [tmp_path / "b.h5", tmp_path / "a.h5"]
    batch([2, 3]).write(files[0])
    batch([0, 1, 4]).write(files[1])
    found = Splits.read(files)
    assert found.indices.tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_allclose(found.agreements[:, 0], [0, 0.1, 0.2, 0.3, 0.4])
    assert found.n_fits == 5
    assert (found.selections == 5).all()
    assert found.attributes["scheme"] == "subsample"
    found.check_grid(files[0], np.array([2.0, 5.0]))
    with pytest.raises(DamagedFileError, match="should be the path's"):
        found.check_grid(files[0], np.array([2.0, 6.0]))


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (batch([1, 2]), "is in two batches"),
        (batch([2], sparsities=(2.0, 6.0)), "should be"),
        (batch([2], n_features=4), "n_features=4 should be 3, as in"),
    ],
)
def test_batches_that_do_not_fit_together_are_refused(tmp_path, other, message):
    files = [tmp_path / "a.h5", tmp_path / "b.h5"]
    batch([0, 1]).write(files[0])
    other.write(files[1])
    with pytest.raises(DamagedFileError, match=message):
        Splits.read(files)
