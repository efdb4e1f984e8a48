"""Columns of weights and batches, and tables of groups of features."""

import numpy as np
import pandas as pd
import pytest

from sparsekm.io.readers.reader import read_matrix
from sparsekm.pipeline.normalisation import read_feature_groups


@pytest.fixture
def table(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(6, 3)), columns=list("xyz"))
    frame.insert(0, "plate", [1, 1, 2, 2, 3, 3])
    frame.insert(0, "size", [1, 2, 0, 0.5, 1, 1])
    frame.insert(0, "sample", [f"s{i}" for i in range(6)])

    def write(**changed):
        frame.assign(**changed).to_csv(tmp_path / "own.csv", index=False)
        return tmp_path / "own.csv"

    return write


def test_weights_and_batches_are_read_and_not_measured(table):
    raw = read_matrix(table(), weights="size", batch="plate")
    assert raw.features == ["x", "y", "z"]
    assert raw.weights.tolist() == [1, 2, 0, 0.5, 1, 1]
    assert raw.batch.tolist() == ["1", "1", "2", "2", "3", "3"]


@pytest.mark.parametrize(
    ("size", "value"), [([1, -2, 1, 1, 1, 1], "'-2'"), ([1, 1, None, 1, 1, 1], "''"), (0, "0")]
)
def test_weights_that_are_none_are_refused_by_name(table, size, value):
    with pytest.raises(ValueError, match="weights 'size'") as caught:
        read_matrix(table(size=size), weights="size")
    assert f"{value} should be a number >= 0" in str(caught.value)


def test_batches_that_are_missing_or_one_are_refused_by_name(table):
    with pytest.raises(ValueError, match="batch 'plate' are missing for 1 of 6 samples"):
        read_matrix(table(plate=[1, 1, None, 2, 2, 2]), batch="plate")
    with pytest.raises(ValueError, match="batch 'plate' are all '1'"):
        read_matrix(table(plate=1), batch="plate")


def test_features_in_no_group_are_groups_of_their_own(tmp_path):
    file = tmp_path / "groups.csv"
    file.write_text("feature,group\nx,A\ny,A\nother,B\n")
    assert read_feature_groups(file, ["x", "y", "z"]).tolist() == ["A", "A", "z"]
    file.write_text("feature\tgroup\nx\tA\n")
    assert read_feature_groups(file, ["x", "z"]).tolist() == ["A", "z"]
    for text, message in (
        ("feature,set\nx,A\n", r"it lacks \[group\]"),
        ("feature,group\nx,A\nx,B\n", r"name each feature once: \[x\]"),
        ("feature,group\nq,A\n", "names none of the features"),
    ):
        file.write_text(text)
        with pytest.raises(ValueError, match=message):
            read_feature_groups(file, ["x", "y", "z"])
