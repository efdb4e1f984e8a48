"""Tables of clusters and markers; annotations and other choices beside the clusters."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from html_page import Page

from sparsekm.reporting.clusters import view_answer, view_markers, view_meanings
from sparsekm.reporting.comparison_tables import view_choices
from sparsekm.reporting.figures import (
    answer_figure,
    consensus_figure,
    count_figure,
    project_samples,
)
from sparsekm.reporting.report import write_report


def texts(row):
    return [cell.text for cell in row]


def test_markers_are_the_kept_genes_by_distance_up_and_down(brain_result):
    l0 = brain_result.methods["l0"]
    centers = np.zeros((4, brain_result.n_features))
    kept = np.flatnonzero(l0.weights)
    centers[0, kept[:2]], centers[1, kept[2]] = (0.25, 0.75), -1.5
    # A dropped gene marks nothing.
    centers[2, np.flatnonzero(l0.weights == 0)[0]] = 9
    view = _markers_of(brain_result, centers)
    names = brain_result.var.index[kept]
    assert [head.text for head in view.heads[:3]] == ["cluster", "voxels", "majority"]
    # Of the 80 others 40 are in the cluster where the third gene is low.
    up = f"{names[1]} +0.8, {names[2]} +0.8, {names[0]} +0.2"
    assert texts(view.rows[0]) == ["0", "40", "RSP", up, "none"]
    down = f"{names[2]} −1.5, {names[1]} −0.4, {names[0]} −0.1"
    assert texts(view.rows[1]) == ["1", "40", "CSP", "none", down]
    unlabelled = replace(brain_result, contingency=None)
    view = _markers_of(unlabelled, np.zeros((4, brain_result.n_features)))
    assert texts(view.rows[0]) == ["0", "40", "none", "none"]


def _markers_of(result, centers, **found):
    l0 = replace(result.methods["l0"], centers=centers, **found)
    return view_markers(replace(result, methods={"l0": l0}))


def test_markers_name_the_fewest_that_tell_a_cluster_from_the_others_whether_kept_or_not(
    brain_result,
):
    names, signatures = brain_result.var.index, np.zeros((4, brain_result.n_features), np.int8)
    centers = np.zeros(signatures.shape)
    centers[0, :2] = 0.25, -1.5
    signatures[0, :2] = 1
    agreements = np.array([0.987, 0.3, 0.3, 0.3])
    view = _markers_of(
        brain_result, centers, cluster_signatures=signatures, cluster_agreements=agreements
    )
    assert view.heads[-1].text == "told from the others by"
    assert "puts left-out voxels into the cluster" in view.caption
    told = [texts(row)[-1] for row in view.rows]
    assert told[:2] == [f"{names[1]} −1.5, {names[0]} +0.2 (0.99)", "none (0.30)"]


@pytest.fixture
def annotated(matrix_result):
    """A batch that is two of the three clusters, an age, and a column without a pattern."""
    batch = pd.Categorical(["a"] * 8 + ["b"] * 4)
    obs = matrix_result.obs.assign(
        **{
            "annotation batch <x>": batch,
            "annotation age": np.r_[np.arange(11.0), np.nan],
            "annotation sex": pd.Categorical(["f", "m"] * 6),
        }
    )
    return replace(matrix_result, obs=obs)


def test_a_batch_that_is_nearly_the_clusters_stands_on_the_first_screen(annotated, matrix_result):
    told = [text for text in view_answer(annotated)["warnings"] if "batch" in text]
    assert told == [
        "batch <x> (Cramér’s V 1.00): the clusters are nearly these groups. If they are batches, "
        "the clusters may be, too."
    ]
    assert not any("Cramér" in text for text in view_answer(matrix_result)["warnings"])


def test_every_column_has_a_bar_and_a_line_of_the_table(annotated, matrix_result, tmp_path):
    bars = [
        label.get_text()
        for axes in answer_figure(annotated)[0].axes
        for label in axes.get_yticklabels()
    ]
    assert bars[:5] == ["cluster", "class", "batch <x>", "age", "sex"]
    table = view_meanings(annotated)
    assert [[cell.text for cell in row][:3] for row in table.rows] == [
        ["batch <x>", "chi-square", "12"],
        ["age", "Kruskal-Wallis", "11"],
        ["sex", "chi-square", "12"],
    ]
    assert view_meanings(matrix_result) is None
    write_report([annotated], tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "batch <x>" in Page(html).text
    assert "batch <x>" not in html


def test_choices_are_listed_with_their_agreement(matrix_result):
    choices = pd.DataFrame(
        [("number of clusters", "2", 12, 6, 2, 0.5), ("half of the samples", "", 6, 6, 3, 1.0)],
        columns=["choice", "value", "n_samples", "n_features", "n_clusters", "agreement"],
    )
    rows = view_choices(replace(matrix_result, choices=choices)).rows
    assert [[cell.text for cell in row] for row in rows] == [
        ["number of clusters: 2", "2", "12", "6", "0.50"],
        ["half of the samples", "3", "6", "6", "1.00"],
    ]
    assert view_choices(matrix_result) is None


def test_the_groups_over_the_number_of_clusters_are_drawn_and_which_join(matrix_result):
    counts = pd.DataFrame(
        {
            "n_clusters": [2, 3, 4],
            "n_groups": [1, 3, 3],
            "reproducibility": [0.5, 1.0, 0.75],
            "groups": ["0-0", "0-1-2", "0-1-1-2"],
            "chosen": [False, True, False],
        }
    )
    left, right = count_figure(replace(matrix_result, counts=counts)).axes
    assert left.get_lines()[1].get_xydata().tolist() == [[2, 1], [3, 3], [4, 3]]
    names = [label.get_text() for label in right.get_yticklabels()]
    assert names == ["K = 2 (0.50)", "K = 3 (1.00)", "K = 4 (0.75)"]
    joined = right.collections[2].get_facecolors()
    assert len(np.unique(joined, axis=0)) == 3
    np.testing.assert_array_equal(joined[1], joined[2])
    assert count_figure(matrix_result) is None


def test_the_consensus_matrix_is_in_blocks_of_the_clusters(matrix_result):
    l0 = matrix_result.methods["l0"]
    partitions = np.array([l0.labels] * 3 + [np.roll(l0.labels, 1)]).astype(np.int16)
    methods = {"l0": replace(l0, partitions=partitions)}
    figure = consensus_figure(replace(matrix_result, methods=methods))
    cells = np.asarray(figure.axes[2].images[0].get_array())
    assert cells.shape == (12, 12)
    np.testing.assert_allclose(cells, cells.T)
    for first in range(0, 12, 4):
        inside = cells[first : first + 4, first : first + 4]
        assert inside.min() >= 0.75
        # Each sample of the cluster but one is with the others in every fit.
        assert np.isclose(inside, 1).sum() >= 10
    assert consensus_figure(matrix_result) is None


def test_many_samples_are_drawn_as_a_umap_where_there_is_one_and_few_are_not():
    pytest.importorskip("umap")
    rng = np.random.default_rng(0)
    labels = np.arange(600) % 3
    X = (rng.normal(size=(600, 8)) + 6 * np.eye(8)[labels]).astype(np.float32)
    method = SimpleNamespace(weights=np.ones(8), scores=np.ones(8))
    many = SimpleNamespace(
        n_samples=600, primary=method, read_features=lambda kept, rows: X[np.ix_(rows, kept)]
    )
    points, names = project_samples(many, np.arange(600))
    assert names == ("UMAP 1", "UMAP 2")
    centers = np.array([points[labels == k].mean(axis=0) for k in range(3)])
    nearest = np.linalg.norm(points[:, None] - centers, axis=2).argmin(axis=1)
    assert (nearest == labels).mean() > 0.95
    few = SimpleNamespace(**{**vars(many), "n_samples": 60})
    assert project_samples(few, np.arange(60))[1][0].startswith("component 1")
