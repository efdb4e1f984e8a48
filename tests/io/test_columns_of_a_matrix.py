"""Columns of the matrix of a data set, in memory if they are few."""

import numpy as np
import pandas as pd

from sparsekm.io.matrix_file import MatrixFile
from sparsekm.io.normalised_file import write_normalised


def test_few_columns_are_read_into_memory_and_many_are_not(tmp_path):
    wide = np.random.default_rng(0).standard_normal((2500, 3000), dtype=np.float32)
    obs, var = (
        pd.DataFrame(index=[f"{kind}{i}" for i in range(size)])
        for kind, size in zip("sg", wide.shape, strict=True)
    )
    write_normalised(tmp_path / "normalised.h5ad", wide, obs, var, {})
    wide_file = MatrixFile(tmp_path / "normalised.h5ad")
    few = wide_file.select([1, 5])
    assert isinstance(few, np.ndarray)
    np.testing.assert_array_equal(few, wide[:, [1, 5]])
    many = wide_file.select(np.arange(1, 2900))
    assert isinstance(many, MatrixFile)
    assert many.shape == (2500, 2899)
    np.testing.assert_array_equal(many[10:20], wide[10:20, 1:2900])
