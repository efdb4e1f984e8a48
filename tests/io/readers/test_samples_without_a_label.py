"""Known classes that some samples lack: read from every format, counted, kept in the file."""

import h5py
import numpy as np
import pandas as pd
import pytest

from sparsekm.io.known_classes import count_clusters
from sparsekm.io.normalised_file import read_anndata, read_normalised, write_normalised
from sparsekm.io.readers.reader import read_matrix

PARTLY = ["a", "", "b", "", "a", "b"]


@pytest.mark.parametrize("missing", ["", "NA", "NaN", "nan", " "])
@pytest.mark.parametrize(("suffix", "separator"), [("csv", ","), ("tsv", "\t")])
def test_a_cell_without_a_class_is_read_from_text(text, missing, suffix, separator):
    lines = [f"s{i},{i}.5,{label or missing}" for i, label in enumerate(PARTLY)]
    content = "\n".join(["name,g,kind", *lines]).replace(",", separator)
    raw = read_matrix(text(content, f"m.{suffix}"), labels="kind")
    assert raw.labels.tolist() == PARTLY


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        (np.array(PARTLY), PARTLY),
        (np.array([1, np.nan, 2, np.nan, 1, 2]), ["1", "", "2", "", "1", "2"]),
        (np.array([0.5, np.nan, 2, 2, 2, 2]), ["0.5", "", *["2.0"] * 4]),
        # -1 is a class: nothing tells that it is none.
        (np.array([1, -1, 2, -1, 1, 2]), ["1", "-1", "2", "-1", "1", "2"]),
    ],
)
def test_arrays_may_hold_samples_without_a_class(npz, tmp_path, X, y, expected):
    assert read_matrix(npz(y=y)).labels.tolist() == expected
    with h5py.File(tmp_path / "m.h5", "w") as file:
        file["X"], file["y"] = X, y if y.dtype.kind != "U" else y.tolist()
    assert read_matrix(tmp_path / "m.h5").labels.tolist() == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pd.Categorical([label or None for label in PARTLY]), PARTLY),
        (pd.Categorical([1.0, None, 2.0, None, 1.0, 2.0]), ["1", "", "2", "", "1", "2"]),
        (pd.array([1, None, 2, None, 1, 2], dtype="Int64"), ["1", "", "2", "", "1", "2"]),
        (
            pd.array([True, None, False, None] + [True] * 2),
            ["True", "", "False", "", "True", "True"],
        ),
        ([1, np.nan, 2, np.nan, 1, 2], ["1", "", "2", "", "1", "2"]),
        ([label or "nan" for label in PARTLY], PARTLY),
    ],
)
def test_a_column_of_obs_may_lack_classes(h5ad, frame, values, expected):
    obs = pd.DataFrame({"kind": values}, frame.index)
    assert read_matrix(h5ad(obs=obs), labels="kind").labels.tolist() == expected


def test_blanks_around_a_class_make_no_other_class(text):
    content = "g,kind\n1,basal\n2, basal\n3,luminal\n4,luminal \n"
    assert read_matrix(text(content), labels="kind").labels.tolist() == [
        "basal", "basal", "luminal", "luminal",
    ]  # fmt: skip


def test_the_number_of_clusters_counts_the_named_classes_only():
    assert count_clusters("a", "regions", PARTLY, 6) == 2


def test_classes_that_are_missing_are_missing_categories_in_the_file(tmp_path, X):
    obs = pd.DataFrame({"label": PARTLY}, index=[f"s{i}" for i in range(6)])
    file = tmp_path / "normalised.h5ad"
    write_normalised(file, X, obs, pd.DataFrame(index=list("wxyz")), {})
    assert read_normalised(file).labels.tolist() == PARTLY
    column = read_anndata(file).obs["label"]
    assert column.cat.categories.tolist() == ["a", "b"]
    assert column.isna().tolist() == [not label for label in PARTLY]
