"""What the page says of each cluster is what its folds and its left-out samples say."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import jaccard_score
from sound_files import ATTRIBUTES
from written_files import save_fit, save_matrix

from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.io.tables import SEPARATION
from sparsekm.reporting.each_cluster import view_each_cluster
from sparsekm.reporting.report import load_dataset_result, write_report
from sparsekm.tuning.chosen_fit import find_clusters
from sparsekm.tuning.sparse_kmeans import SparseKMeans

pytestmark = [pytest.mark.xdist_group("each cluster"), pytest.mark.usefixtures("one_repeat")]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The fit of three clusters, of which two overlap, and what is loaded from its files."""
    folder = tmp_path_factory.mktemp("each_cluster")
    X = np.random.default_rng(3).normal(size=(90, 60))
    kind = np.arange(90) % 3
    X[kind == 0, :8] += 5
    X[kind == 2, 8:16] += 1.0
    data = ScaledData.standardise(X)
    found = find_clusters(SparseKMeans(3, random_state=0, n_jobs=1), data, seed=0)
    obs = {"batch": [f"b{number % 2}" for number in range(90)], "group": np.arange(90) // 30}
    file = save_matrix(folder / "normalised.h5ad", data.X, obs, about={"source": "matrix"})
    about = {**ATTRIBUTES, "method": "sparse", "has_clusters": True}
    more = {"overlaps": found.overlaps, "partitions": found.partitions}
    fit = save_fit(folder / "sparse.h5", data.X, found.labels, found.weights, about, **more)
    SEPARATION.write(folder / "separation.csv", found.separation)
    tables = {"sparse": folder / "separation.csv"}
    result = load_dataset_result("mine", file, fits={"sparse": fit}, separation=tables)
    write_report([result], folder / "report.html")
    return found, result, folder


def rows_of(table):
    heads = [head.text for head in table.heads]
    return [dict(zip(heads, row, strict=True)) for row in table.rows]


def test_the_overlap_of_a_cluster_is_its_mean_jaccard_score_with_the_best_match(made):
    found, result, _ = made
    rows = rows_of(view_each_cluster(result)["clusters"])
    for number, row in enumerate(rows):
        own = found.labels == number
        best = [
            max(jaccard_score(own, other == k) for k in np.unique(other))
            for other in found.partitions
        ]
        assert row["overlap"].text == f"{np.mean(best):.2f}"
        assert row["samples"].text == str(own.sum())
    assert rows[found.labels[0]]["overlap"].text == "1.00"


def test_the_bars_on_an_axis_are_the_samples_that_the_test_counts(made):
    found, result, folder = made
    shown = view_each_cluster(result)
    pairs = found.separation.sort_values("distance")
    assert [row["distance"].text for row in rows_of(shown["pairs"])] == [
        f"{distance:.1f}" for distance in pairs["distance"]
    ]
    for row, pair in zip(rows_of(shown["pairs"]), pairs.itertuples(), strict=True):
        counts = row["on the axis"].bars.counts
        thirds = [sum(counts[at : at + 4]) for at in (10, 16, 22)]
        assert thirds == [pair.n_a, pair.n_middle, pair.n_b]
    for row in rows_of(shown["clusters"]):
        number, other = int(row["cluster"].text), int(row["nearest"].text)
        (pair,) = pairs.query("cluster_a == @number | cluster_b == @number").head(1).itertuples()
        assert other == pair.cluster_a + pair.cluster_b - number
        counts = list(map(int, pair.histogram.split("-")))
        own = row["on the axis to it"].bars
        assert own.counts == (counts if number == pair.cluster_a else counts[::-1])
        assert own.title == f"from cluster {number} to cluster {other}"
    html = (folder / "report.html").read_text("utf-8")
    assert html.count('<svg class="bars"') == len(found.centers) + len(pairs)


def test_batches_and_donors_are_counted(made):
    found, result, _ = made
    rows = rows_of(view_each_cluster(result)["origins"])
    assert [row[""].text for row in rows] == [
        "batch b0",
        "batch b1",
        *map("donor {}".format, range(3)),
    ]
    batch = result.obs["batch"].to_numpy()
    for number in np.unique(found.labels):
        of_cluster = pd.Series([row[f"cluster {number}"].text for row in rows]).astype(int)
        assert of_cluster[0] == np.count_nonzero((batch == "b0") & (found.labels == number))
        assert of_cluster[:2].sum() == of_cluster[2:].sum() == (found.labels == number).sum()


def test_a_fit_without_folds_has_no_such_section(matrix_result):
    assert view_each_cluster(matrix_result) is None
