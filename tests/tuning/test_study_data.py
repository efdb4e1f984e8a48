import numpy as np
import pytest

from sparsekm.storage.input_error import InputError
from sparsekm.tuning.study.study_data import read_matrix


def test_a_matrix_of_the_study_has_a_class_for_every_sample(tmp_path, seed):
    X = np.random.default_rng(seed).normal(size=(4, 3))
    np.savez(tmp_path / "a.npz", X=X, y=np.array([0, 0, 1, np.nan]))
    with pytest.raises(InputError, match="y should have one class for each row of X"):
        read_matrix(tmp_path / "a.npz", max_samples=10, random_state=0)
