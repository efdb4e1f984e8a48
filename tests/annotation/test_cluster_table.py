"""The table of samples and clusters keeps names as they are."""

from types import SimpleNamespace

import numpy as np

from sparsekm.annotation.clusters import tabulate_clusters
from sparsekm.io.tables import CLUSTERS


def fit(labels, reproducibility=None):
    return SimpleNamespace(labels=np.array(labels, dtype=np.int32), reproducibility=reproducibility)


def test_names_and_classes_stay_strings_and_clusters_numbers(tmp_path):
    file = tmp_path / "clusters.csv"
    fits = {"kmeans": fit([0, 1, 0]), "l0": fit([2, 1, 2])}
    CLUSTERS.write(file, tabulate_clusters(["NA", "1", "a,b"], ["x", "nan", "2"], fits))
    table = CLUSTERS.read(file)
    assert table.columns.tolist() == ["sample", "label", "cluster_kmeans", "cluster_l0"]
    assert table["sample"].tolist() == ["NA", "1", "a,b"]
    assert table["label"].tolist() == ["x", "nan", "2"]
    assert table["cluster_l0"].tolist() == [2, 1, 2]


def test_without_known_classes_their_column_is_empty(tmp_path):
    CLUSTERS.write(tmp_path / "c.csv", tabulate_clusters(["a", "b"], None, {"l0": fit([0, 1])}))
    assert (tmp_path / "c.csv").read_text() == "sample,label,cluster_l0\na,,0\nb,,1\n"


def test_reproducibility_stands_beside_the_clusters_of_a_method_that_has_it(tmp_path):
    fits = {"sparse": fit([0, 1], np.array([0.75, 1.0])), "l0": fit([0, 1])}
    CLUSTERS.write(tmp_path / "c.csv", tabulate_clusters(["a", "b"], None, fits))
    table = CLUSTERS.read(tmp_path / "c.csv")
    assert table.columns.tolist()[2:] == ["cluster_sparse", "reproducibility_sparse", "cluster_l0"]
    assert table["reproducibility_sparse"].tolist() == [0.75, 1.0]
