import numpy as np
import pandas as pd
import pytest

from sparsekm.annotation.cluster_overlap import tabulate_overlap

CLUSTERS = {"l0": np.array([0, 0, 0, 1, 1, 2, 2, 2, 2]), "kmeans": np.zeros(9, int)}
LABELS = np.array(list("AABAACCCB"), dtype=object)
REGIONS = pd.DataFrame(
    {"acronym": ["C", "B", "gone"], "name": ["see", "bee", "gone"], "color": ["cc0000", "b0", "0"]}
)


@pytest.fixture
def table():
    return tabulate_overlap(CLUSTERS, LABELS, REGIONS)


def test_every_sample_is_counted_once_for_each_method(table):
    assert table.groupby("method")["n_shared"].sum().to_dict() == {"l0": 9, "kmeans": 9}
    assert (table["n_shared"] > 0).all()


def test_purity_is_the_share_of_the_best_region(table):
    best = table[table["is_best"] & (table["method"] == "l0")].set_index("cluster")
    assert best["label"].to_dict() == {0: "A", 1: "A", 2: "C"}
    assert best["share_of_cluster"].tolist() == [2 / 3, 1, 0.75]
    assert best["share_of_label"].tolist() == [0.5, 0.5, 1]


def test_each_cluster_has_one_best_region_even_when_tied():
    table = tabulate_overlap({"l0": np.zeros(2, int)}, np.array(["A", "B"]), REGIONS)
    # The order of the atlas decides: A is none of its regions.
    assert table[table["is_best"]]["label"].tolist() == ["B"]
    assert table["label"].tolist() == ["B", "A"]


def test_names_and_colours_are_the_atlas_own(table):
    rows = table.drop_duplicates("label").set_index("label")
    assert rows["name"].to_dict() == {"A": "", "B": "bee", "C": "see"}
    assert rows.loc["C", "color"] == "cc0000"


def test_samples_without_a_known_class_are_left_out():
    labels = np.where(np.arange(9) % 2, LABELS, "")
    known = np.arange(9) % 2 == 1
    table = tabulate_overlap(CLUSTERS, labels, REGIONS)
    expected = tabulate_overlap({m: c[known] for m, c in CLUSTERS.items()}, labels[known], REGIONS)
    pd.testing.assert_frame_equal(table, expected)
    assert "" not in set(table["label"])
