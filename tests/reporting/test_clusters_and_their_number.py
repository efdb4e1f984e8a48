"""What the page says of each cluster and of their number is what folds and samples say."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import jaccard_score, silhouette_samples, silhouette_score
from sound_files import ATTRIBUTES
from written_files import save_fit, save_matrix

from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.io.tables import CANDIDATES, COUNTS, DIVISIONS, SEPARATION
from sparsekm.reporting.cluster_numbers import count_figure, divisions_figure, view_candidates
from sparsekm.reporting.each_cluster import view_each_cluster, view_neighbours
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
    settings = SparseKMeans(3, random_state=0, n_jobs=1)
    found = find_clusters(settings, data, beside=True, seed=0)
    obs = {"batch": [f"b{number % 2}" for number in range(90)], "group": np.arange(90) // 30}
    file = save_matrix(folder / "normalised.h5ad", data.X, obs, about={"source": "matrix"})
    about = {**ATTRIBUTES, "method": "sparse", "has_clusters": True}
    more = {"overlaps": found.overlaps, "partitions": found.partitions}
    fit = save_fit(folder / "sparse.h5", data.X, found.labels, found.weights, about, **more)
    SEPARATION.write(folder / "separation.csv", found.separation)
    files = {"separation": {"sparse": folder / "separation.csv"}}
    for name in ("numbers", "divisions", "candidates"):
        files[name] = folder / f"{name}.csv"
    COUNTS.write(files["numbers"], found.numbers)
    DIVISIONS.write(files["divisions"], found.divisions)
    CANDIDATES.write(files["candidates"], found.candidates)
    result = load_dataset_result("mine", file, fits={"sparse": fit}, **files)
    write_report([result], folder / "report.html")
    return found, result, folder


def numbers_of(result):
    rows = view_each_cluster(result).rows
    return {row[0].text: [cell.text for cell in row[1:]] for row in rows}


def rows_of(table):
    heads = [head.text for head in table.heads]
    return [dict(zip(heads, row, strict=True)) for row in table.rows]


def test_the_overlap_of_a_cluster_is_its_mean_jaccard_score_with_the_best_match(made):
    found, result, _ = made
    rows = numbers_of(result)
    for number in range(3):
        own = found.labels == number
        best = [
            max(jaccard_score(own, other == k) for k in np.unique(other))
            for other in found.partitions
        ]
        assert rows["overlap"][number] == f"{np.mean(best):.2f}"
        assert rows["samples"][number] == str(own.sum())
    assert rows["overlap"][found.labels[0]] == "1.00"


def test_the_bars_on_an_axis_are_the_samples_that_the_test_counts(made):
    found, result, folder = made
    table, pairs = view_neighbours(result), found.separation.sort_values("distance")
    assert [row["distance"].text for row in rows_of(table)] == [
        f"{distance:.1f}" for distance in pairs["distance"]
    ]
    for row, pair in zip(rows_of(table), pairs.itertuples(), strict=True):
        bars = row["on the axis"].bars
        assert bars.title == f"from cluster {pair.cluster_a} to cluster {pair.cluster_b}"
        thirds = [sum(bars.counts[at : at + 4]) for at in (10, 16, 22)]
        assert thirds == [pair.n_a, pair.n_middle, pair.n_b]
    for number, nearest in enumerate(numbers_of(result)["nearest (distance)"]):
        pair = pairs.query("cluster_a == @number | cluster_b == @number").iloc[0]
        other = pair["cluster_a"] + pair["cluster_b"] - number
        assert nearest == f"{other:.0f} ({pair['distance']:.1f})"
    html = (folder / "report.html").read_text("utf-8")
    assert html.count('<svg class="bars"') == len(pairs)


def test_batches_and_donors_are_counted(made):
    found, result, _ = made
    rows = numbers_of(result)
    batches, donors = ["batch b0", "batch b1"], [f"donor {number}" for number in range(3)]
    assert list(rows)[3:] == [*donors, *batches]
    counts = {
        name: np.array([int(number or 0) for number in rows[name]]) for name in (*batches, *donors)
    }
    batch = result.obs["batch"].to_numpy()
    for number in range(3):
        expected = np.count_nonzero((batch == "b0") & (found.labels == number))
        assert counts["batch b0"][number] == expected
    sizes = np.bincount(found.labels).tolist()
    for names in (batches, donors):
        assert sum(counts[name] for name in names).tolist() == sizes


def test_a_fit_without_folds_has_no_such_section(matrix_result):
    assert [row[0].text for row in view_each_cluster(matrix_result).rows] == [
        "samples",
        *(f"class class {number}" for number in range(3)),
    ]
    assert view_neighbours(matrix_result) is None
    assert count_figure(matrix_result) is None
    assert divisions_figure(matrix_result) is None
    assert view_candidates(matrix_result) is None


def test_one_cluster_less_and_one_more_are_compared_by_silhouettes_and_ambiguous_pairs(made):
    found, result, folder = made
    counts = result.numbers
    assert counts["n_clusters"].tolist() == [2, 3, 4]
    assert counts["chosen"].tolist() == [False, True, False]
    X = result.read_features(range(60))
    score = silhouette_score(X[:, found.weights != 0], found.labels)
    assert counts["silhouette"][1] == pytest.approx(score, rel=1e-4)
    pairs = list(itertools.combinations(found.partitions.T, 2))
    shares = np.array([np.mean(first == second) for first, second in pairs])
    ambiguous = np.mean([0.1 < share < 0.9 for share in shares])
    assert counts["ambiguous"][1] == pytest.approx(ambiguous)
    for axes, name in zip(count_figure(result).axes, counts.columns[1:5], strict=False):
        assert (
            axes.get_lines()[0].get_xydata().tolist()
            == counts[["n_clusters", name]].values.tolist()
        )
    html = (folder / "report.html").read_text("utf-8")
    assert html.index("How many groups are separated") < html.index("How samples move")


def test_every_sample_has_its_silhouette_and_moves_to_its_cluster_at_the_next_number(made):
    found, result, _ = made
    X = result.read_features(range(60))
    own = silhouette_samples(X[:, found.weights != 0], found.labels)
    np.testing.assert_allclose(result.divisions["silhouette"], own, rtol=1e-3, atol=1e-4)
    left, right = divisions_figure(result).axes
    means = [f"{number}: {own[found.labels == number].mean():.2f}" for number in range(3)]
    assert [text.get_text() for text in left.texts] == means
    # A bar for each cluster, as high as it has samples, and a ribbon for each that is not empty.
    bars = {
        k: [b.get_height() for b in right.patches if round(b.get_x() + 0.06) == k]
        for k in (2, 3, 4)
    }
    n_moves = 0
    for k, heights in bars.items():
        other = result.divisions[f"clusters_{k}"]
        assert heights == np.bincount(other).tolist()
        n_moves += 0 if k == 3 else (pd.crosstab(found.labels, other) > 0).to_numpy().sum()
    assert len(right.collections) == n_moves


def test_of_many_samples_some_silhouettes_are_drawn_with_the_means_of_all(made, monkeypatch):
    _, result, _ = made
    means = [text.get_text() for text in divisions_figure(result).axes[0].texts]
    # A constant of the module, because more samples than it allows would take a long time to fit.
    monkeypatch.setattr("sparsekm.reporting.cluster_numbers._MOST_BARS", 30)
    left = divisions_figure(result).axes[0]
    assert [text.get_text() for text in left.texts] == means
    assert left.dataLim.x1 <= 30 + 3


def test_the_candidates_with_as_many_groups_are_counted(made):
    found, result, _ = made
    table, most = view_candidates(result), found.candidates.query("chosen")["n_groups"].item()
    others = (found.candidates["n_groups"] >= most).sum() - 1
    assert f"Candidates tried: {len(found.candidates)}. " in table.caption
    told = f"{others} of the {len(found.candidates) - 1} other candidates have at least this number"
    assert told in table.caption
    assert [row[0].text for row in table.rows] == found.candidates["start"].tolist()
