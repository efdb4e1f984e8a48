"""Labelled sets that cannot be used are refused."""

import zipfile

import numpy as np
import pytest

from sparsekm.io.input_error import InputError
from sparsekm.studies.yardstick.runner import read_labelled_set


def test_a_labelled_set_has_a_class_for_every_sample(tmp_path, seed):
    X = np.random.default_rng(seed).normal(size=(4, 3))
    np.savez(tmp_path / "a.npz", X=X, y=np.array([0, 0, 1, np.nan]))
    with pytest.raises(InputError, match="y should have one class for each row of X"):
        read_labelled_set(tmp_path / "a.npz", max_samples=10, random_state=0)


def test_a_member_that_is_no_array_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("X.npy", b"no array")
        archive.writestr("y.npy", b"no array")
    with pytest.raises(InputError, match=r"a.npz: X should be a matrix of numbers, is .* of \(\)"):
        read_labelled_set(tmp_path / "a.npz", max_samples=10, random_state=0)
