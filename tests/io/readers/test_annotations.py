"""Columns that the user names as annotations are no measurements, and come with the samples."""

import anndata
import numpy as np
import pandas as pd
import pytest

from sparsekm.io.readers.messages import MatrixError
from sparsekm.io.readers.reader import read_matrix


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        rng.normal(size=(12, 5)).round(3),
        index=[f"patient{number}" for number in range(12)],
        columns=[f"GENE{number}" for number in range(5)],
    )
    X.insert(0, "age", [41.0, np.nan, *range(30, 40)])
    X.insert(0, "batch", ["a", "b", "?"] * 4)
    return X


def check(raw):
    assert raw.features == [f"GENE{number}" for number in range(5)]
    assert list(raw.annotations) == ["age", "batch"]
    age, batch = raw.annotations["age"], raw.annotations["batch"]
    assert np.isnan(age[1])
    assert age[2] == 30
    assert batch.tolist()[:3] == ["a", "b", None]


@pytest.mark.parametrize("is_turned", [False, True])
def test_columns_or_lines_of_a_table(table, tmp_path, is_turned):
    (table.T if is_turned else table).to_csv(tmp_path / "t.csv", index_label="name")
    check(read_matrix(tmp_path / "t.csv", annotate=["age", "batch"], missing_values=["?"]))


def test_columns_of_an_anndata_file(table, tmp_path):
    data = anndata.AnnData(table.iloc[:, 2:].to_numpy(), obs=table[["age", "batch"]])
    data.var_names = table.columns[2:]
    data.write_h5ad(tmp_path / "t.h5ad")
    check(read_matrix(tmp_path / "t.h5ad", annotate=["age", "batch"], missing_values=["?"]))


def test_a_column_that_there_is_not_is_named(table, tmp_path):
    table.to_csv(tmp_path / "t.csv")
    with pytest.raises(MatrixError, match="annotate.*stage"):
        read_matrix(tmp_path / "t.csv", annotate=["stage"])
    np.savez(tmp_path / "t.npz", X=np.eye(5))
    with pytest.raises(MatrixError, match="annotate"):
        read_matrix(tmp_path / "t.npz", annotate=["stage"])
