"""Groups of samples, and positions in space: read from every format that can hold them."""

import h5py
import numpy as np
import pandas as pd
import pytest
from reading import refusal

from sparsekm.io.normalised_file import read_anndata, read_normalised, write_normalised
from sparsekm.io.readers.reader import read_matrix

DONORS = ["d1", "d1", "d2", "d2", "d3", "d3"]
POSITIONS = np.arange(12.0).reshape(6, 2)


@pytest.fixture
def table(text):
    lines = [f"s{i},{i}.5,{'ab'[i % 2]},{donor}" for i, donor in enumerate(DONORS)]
    return text("\n".join(["name,g,kind,donor", *lines]))


def test_a_column_of_a_table_holds_groups(table):
    raw = read_matrix(table, labels="kind", groups="donor")
    assert raw.groups.tolist() == DONORS
    assert raw.features == ["g"]
    assert read_matrix(table, ignore=["kind"], groups="donor").labels is None


def test_a_line_holds_groups_where_lines_hold_features(text):
    samples = [f"s{i}" for i in range(6)]
    lines = [["gene", *samples], ["TP53", *"123456"], ["MYC", *"324156"], ["donor", *DONORS]]
    raw = read_matrix(text("\n".join(map(",".join, lines))), groups="donor")
    assert raw.groups.tolist() == DONORS
    assert raw.features == ["TP53", "MYC"]


def test_arrays_hold_groups(npz, tmp_path, X):
    donors = np.repeat([1, 2, 3], 2)
    with h5py.File(tmp_path / "m.h5", "w") as file:
        file["X"], file["donor"] = X, donors
    for file in (npz(donor=donors), tmp_path / "m.h5"):
        assert read_matrix(file, groups="donor").groups.tolist() == ["1", "1", "2", "2", "3", "3"]


def test_anndata_holds_groups_and_positions(h5ad, frame):
    obs = pd.DataFrame({"donor": pd.Categorical(DONORS)}, frame.index)
    raw = read_matrix(h5ad(obs=obs, obsm={"spatial": POSITIONS.astype(np.int32)}), groups="donor")
    assert raw.groups.tolist() == DONORS
    np.testing.assert_array_equal(raw.positions, POSITIONS)
    assert raw.remarks == []


@pytest.mark.parametrize("spatial", [np.full((6, 2), np.nan), np.ones((6, 4)), pd.DataFrame])
def test_positions_that_cannot_be_used_are_left_out_with_a_remark(h5ad, frame, spatial):
    if spatial is pd.DataFrame:
        spatial = pd.DataFrame(POSITIONS, frame.index, columns=["x", "y"])
    raw = read_matrix(h5ad(obsm={"spatial": spatial}))
    assert raw.positions is None
    assert raw.remarks == [
        "obsm['spatial'] is not used as positions: they should be finite numbers of shape (6, 1 to "
        "3)."
    ]


def test_groups_that_cannot_be_used_are_refused_in_one_line(table, text, npz, h5ad):
    assert "groups='donors' should be one of its columns" in refusal(table, groups="donors")
    assert refusal(table, groups="donors").endswith("Do you mean groups: donor?")
    assert "groups='g' should not also be ignored" in refusal(table, groups="g", ignore=["g"])
    assert "groups='donor' should be one of its arrays" in refusal(npz(), groups="donor")
    assert "groups='donor' should be one of the columns of obs" in refusal(h5ad(), groups="donor")
    holes = text("g,donor\n1,a\n2,\n3,b\n4,NA\n")
    assert "groups 'donor' are missing for 2 of 4 samples" in refusal(holes, groups="donor")
    one = text("g,donor\n1,a\n2,a\n3,a\n")
    assert "groups 'donor' are all 'a'; there should be at least two" in refusal(
        one, groups="donor"
    )


def test_groups_and_positions_are_kept_in_the_normalised_file(tmp_path, X):
    obs = pd.DataFrame({"group": DONORS}, index=[f"s{i}" for i in range(6)])
    file, var = tmp_path / "normalised.h5ad", pd.DataFrame(index=list("wxyz"))
    write_normalised(file, X, obs, var, {}, obsm={"spatial": POSITIONS})
    data = read_normalised(file)
    assert data.groups.tolist() == DONORS
    np.testing.assert_array_equal(data.positions, POSITIONS)
    assert read_anndata(file).obs["group"].cat.categories.tolist() == ["d1", "d2", "d3"]
