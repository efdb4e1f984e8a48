"""Classes, groups, weights, annotations and positions: read from every format that holds them."""

import h5py
import numpy as np
import pandas as pd
import pytest
from anndata import AnnData
from reading import refusal

from sparsekm.cluster.description import Description
from sparsekm.io.normalised_file import read_anndata, read_normalised, tabulate, write_normalised
from sparsekm.io.readers.reader import read_matrix
from sparsekm.pipeline.normalisation import read_feature_groups

DONORS = ["d1", "d1", "d2", "d2", "d3", "d3"]
PARTLY = ["a", "", "b", "", "a", "b"]
GAPS = [label or None for label in PARTLY]
NUMBERS = ["1", "", "2", "", "1", "2"]
POSITIONS = np.arange(12.0).reshape(6, 2)
SETTINGS = {
    "labels": "kind",
    "groups": "donor",
    "weights": "size",
    "batch": "plate",
    "annotate": ["age", "ward"],
    "missing_values": ["?"],
}


KNOWN = pd.DataFrame(
    {
        "kind": PARTLY,
        "donor": DONORS,
        "size": [1, 2, 0, 0.5, 1, 1],
        "plate": [1, 1, 2, 2, 3, 3],
        "age": [41.0, np.nan, 30, 31, 32, 33],
        "ward": ["n", "s", "?"] * 2,
    },
    index=[f"patient{i}" for i in range(6)],
)


@pytest.fixture
def store(tmp_path, X):
    """Write values and what is known in a format, with changed columns."""

    def write(ending="csv", **changed):
        about, genes = KNOWN.assign(**changed), [f"GENE{i}" for i in range(4)]
        file, arrays = tmp_path / f"m.{ending.removeprefix('turned ')}", {"X": X, "genes": genes}
        for name, column in about.items():
            arrays[name] = column.astype("S" if column.dtype == object else column.dtype).to_numpy()
        if ending == "h5ad":
            AnnData(X, obs=about, var=pd.DataFrame(index=genes)).write_h5ad(file)
        elif ending == "npz":
            np.savez(file, **arrays)
        elif ending == "h5":
            with h5py.File(file, "w") as opened:
                opened.update(arrays)
        else:
            frame = about.join(pd.DataFrame(X, about.index, genes))
            (frame.T if "turned" in ending else frame).to_csv(file, index_label="name")
        return file

    return write


@pytest.mark.parametrize("ending", ["csv", "turned csv", "h5ad", "npz", "h5"])
def test_every_format_may_hold_what_is_known_of_samples(store, ending):
    raw = read_matrix(store(ending), **SETTINGS)
    assert raw.about.features == [f"GENE{i}" for i in range(4)]
    assert raw.about.labels.tolist() == PARTLY
    assert raw.about.groups.tolist() == DONORS
    assert raw.about.weights.tolist() == [1, 2, 0, 0.5, 1, 1]
    assert raw.about.batch.tolist() == ["1", "1", "2", "2", "3", "3"]
    assert list(raw.about.annotations) == ["age", "ward"]
    np.testing.assert_array_equal(raw.about.annotations["age"], [41, np.nan, 30, 31, 32, 33])
    assert raw.about.annotations["ward"].tolist() == ["n", "s", None] * 2


@pytest.mark.parametrize("kind", ["npz", "h5"])
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, np.nan, 2, np.nan, 1, 2], NUMBERS),
        ([0.5, np.nan, 2, 2, 2, 2], ["0.5", "", *["2.0"] * 4]),
        # -1 is a class: nothing tells that it is none.
        ([1, -1, 2, -1, 1, 2], ["1", "-1", "2", "-1", "1", "2"]),
    ],
)
def test_classes_may_be_numbers_some_of_which_are_missing(store, kind, values, expected):
    assert read_matrix(store(kind, y=values)).about.labels.tolist() == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pd.Categorical(GAPS, ["z", "b", "a"], ordered=True), PARTLY),
        (pd.array(GAPS, dtype="string"), PARTLY),
        (pd.Categorical([1.0, None, 2.0, None, 1.0, 2.0]), NUMBERS),
        (pd.array([1, None, 2, None, 1, 2], dtype="Int64"), NUMBERS),
        (pd.array([True, None, False, True, True, True]), ["True", "", "False", *["True"] * 3]),
        ([1, np.nan, 2, np.nan, 1, 2], NUMBERS),
        ([label or "nan" for label in PARTLY], PARTLY),
    ],
)
def test_a_column_of_obs_of_any_type_may_lack_classes(store, values, expected):
    assert read_matrix(store("h5ad", kind=values), labels="kind").about.labels.tolist() == expected


@pytest.mark.parametrize(
    ("changed", "settings", "message"),
    [
        ({}, {"groups": "donors"}, "groups='donors' should be one of its columns"),
        ({}, {"groups": "donors"}, "Do you mean groups: donor?"),
        ({}, {"labels": "stage"}, "labels='stage' should be one of its columns"),
        ({"kind": ["a", "", "NA", *3 * [""]]}, {"labels": "kind"}, "are known for 1 of 6 samples"),
        ({}, {"annotate": ["stage"]}, "annotate[0]='stage' should be one of its columns"),
        ({}, {"groups": "size", "ignore": ["size"]}, "groups='size' should not also be ignored"),
        ({"donor": ["a", "", "b", "NA", *"bb"]}, {"groups": "donor"}, "missing for 2 of 6 samples"),
        ({"donor": "a"}, {"groups": "donor"}, "groups 'donor': every sample has 'a'; there should"),
        ({"plate": 1}, {"batch": "plate"}, "batch 'plate': every sample has '1'"),
        (
            {"plate": [1, 1, None, 2, 2, 2]},
            {"batch": "plate"},
            "batch 'plate' are missing for 1 of",
        ),
        ({"size": [1, -2, 1, 1, 1, 1]}, {"weights": "size"}, "'-2' is not a weight"),
        ({"size": [1, 1, None, 1, 1, 1]}, {"weights": "size"}, "'size': '' is not a weight"),
        ({"size": 0}, {"weights": "size"}, "weights 'size': 0 is not a weight"),
    ],
)
def test_what_cannot_be_used_is_refused_by_its_name(store, changed, settings, message):
    kept = [name for name in ("age", "plate") if name not in settings.values()]
    assert message in refusal(store(**changed), **settings, keep=kept)


@pytest.mark.parametrize(
    ("kind", "where"), [("npz", "its arrays"), ("h5ad", "the columns of obs"), ("h5", "its arrays")]
)
def test_names_that_a_stored_matrix_lacks_are_refused(store, kind, where):
    for settings in ({"labels": "doctor"}, {"groups": "doctor"}, {"annotate": ["doctor"]}):
        assert f"='doctor' should be one of {where}" in refusal(store(kind), **settings)
    none = pd.Categorical([None] * 6, categories=["a"])
    message = refusal(store("h5ad", kind=none), labels="kind")
    assert "labels 'kind' are known for 0 of 6 samples" in message


def test_positions_are_read_from_anndata(h5ad):
    raw = read_matrix(h5ad(obsm={"spatial": POSITIONS.astype(np.int32)}))
    np.testing.assert_array_equal(raw.about.positions, POSITIONS)
    assert raw.remarks == []


@pytest.mark.parametrize("spatial", [np.full((6, 2), np.nan), np.ones((6, 4)), pd.DataFrame])
def test_positions_that_cannot_be_used_are_left_out_with_a_remark(h5ad, frame, spatial):
    if spatial is pd.DataFrame:
        spatial = pd.DataFrame(POSITIONS, frame.index, columns=["x", "y"])
    raw = read_matrix(h5ad(obsm={"spatial": spatial}))
    assert raw.about.positions is None
    [remark] = raw.remarks
    assert remark.startswith("obsm['spatial'] is not used as positions")
    assert "finite numbers of shape (6, 1 to 3)" in remark


def test_all_of_it_is_kept_in_the_normalised_file(tmp_path, X):
    known = {"samples": [f"s{i}" for i in range(6)], "features": [*"wxyz"]}
    for name, values in (("groups", DONORS), ("labels", PARTLY), ("batch", [*"112233"])):
        known[name] = np.array(values, dtype=object)
    known |= {"weights": np.array([1, 2, 0, 0.5, 1, 1]), "positions": POSITIONS}
    known["feature_groups"] = np.array([*"aabb"], dtype=object)
    known["relevant"] = np.array([True, False, False, True])
    about = Description(**known, annotations={"mg/l": np.arange(6.0)})
    file, obsm = tmp_path / "normalised.h5ad", {"spatial": POSITIONS}
    write_normalised(file, X, *tabulate(about), {}, obsm=obsm)
    found, written = read_normalised(file).about, read_anndata(file).obs
    for name, values in known.items():
        assert np.array_equal(getattr(found, name), values), name
    assert written["annotation mg_l"].tolist() == [*range(6)]
    assert written["group"].cat.categories.tolist() == ["d1", "d2", "d3"]
    # Classes that are missing are missing categories.
    assert written["label"].cat.categories.tolist() == ["a", "b"]
    assert written["label"].isna().tolist() == [not label for label in PARTLY]


def test_features_in_no_group_are_groups_of_their_own(tmp_path):
    file = tmp_path / "groups.csv"
    file.write_text("feature,group\nx,A\ny,A\nother,B\n")
    assert read_feature_groups(file, ["x", "y", "z"]).tolist() == ["A", "A", "z"]
    file.write_text("feature\tgroup\nx\tA\n")
    assert read_feature_groups(file, ["x", "z"]).tolist() == ["A", "z"]
    for text, message in (
        ("feature,set\nx,A\n", r"it lacks \[group\]"),
        ("feature,group\nx,A\nx,B\n", r"name each feature once; it repeats \[x\]"),
        ("feature,group\nq,A\n", "feature_groups` should name features of the table"),
    ):
        file.write_text(text)
        with pytest.raises(ValueError, match=message):
            read_feature_groups(file, ["x", "y", "z"])
