"""The heat map of clusters and the features that mark them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sparsekm.reporting.marker_figure import marker_figure

from sparsekm.figures.style import MOST_FEATURES, choose_markers
from sparsekm.reporting.figures import draw_figures

CENTERS = np.array(
    [
        [3.0, 0.0, 9.0, 1.0, 2.0],
        [1.0, 4.0, 0.0, 1.5, 2.0],
        [0.0, 1.0, 0.0, 1.0, -9.0],
    ]
)


def test_a_feature_marks_the_cluster_in_which_it_is_highest_by_what_it_exceeds_the_next():
    # Feature 2 is dropped; features 0 and 4 are highest in cluster 0, by 2 and by nothing.
    markers = choose_markers(CENTERS, np.array([1.0, 1.0, 0.0, 0.5, 1.0]))
    assert markers == [(0, 0), (0, 4), (1, 1), (1, 3)]


@pytest.mark.parametrize("n_clusters", [2, 7, 20, 90])
def test_markers_are_few_enough_for_a_page(n_clusters, seed):
    centers = np.random.default_rng(seed).normal(size=(n_clusters, 2000))
    markers = choose_markers(centers, np.ones(2000))
    assert len(markers) <= max(MOST_FEATURES, n_clusters)
    assert [cluster for cluster, _ in markers] == sorted(cluster for cluster, _ in markers)
    assert {cluster for cluster, _ in markers} == set(range(n_clusters))


def test_the_figure_shows_differences_from_the_mean_over_all_samples(matrix_result):
    l0 = matrix_result.methods["l0"]
    n_clusters = int(l0.labels.max()) + 1
    centers = np.random.default_rng(0).normal(size=(n_clusters, matrix_result.n_features))
    result = replace(
        matrix_result, methods={**matrix_result.methods, "l0": replace(l0, centers=centers)}
    )
    axes = marker_figure(result).axes[0]
    shown = [tick.get_text() for tick in axes.get_xticklabels()]
    (image,) = axes.images
    column = list(result.var.index.astype(str)).index(shown[0])
    mean = centers[l0.labels, column].mean()
    np.testing.assert_allclose(image.get_array()[:, 0], centers[:, column] - mean)
    kept = result.var.index[l0.weights > 0].astype(str)
    assert set(shown) <= set(kept)


def test_clusters_are_named_as_in_the_tables(matrix_result):
    l0 = matrix_result.methods["l0"]
    centers = np.random.default_rng(0).normal(size=(l0.labels.max() + 1, matrix_result.n_features))
    n_clusters = len(centers)
    table = pd.DataFrame(
        {"method": "l0", "cluster": range(n_clusters), "label": "tied", "is_best": True}
    )
    others = table.assign(label="other", is_best=False)
    result = replace(
        matrix_result,
        methods={"l0": replace(l0, centers=centers)},
        contingency=pd.concat([others, table], ignore_index=True),
    )
    names = [tick.get_text() for tick in marker_figure(result).axes[0].get_yticklabels()]
    assert names == [f"{cluster}  tied" for cluster in range(n_clusters)]


def test_a_single_cluster_has_no_markers(matrix_result):
    l0 = matrix_result.methods["l0"]
    one = replace(l0, labels=np.zeros_like(l0.labels))
    result = replace(matrix_result, methods={"l0": one})
    assert marker_figure(result) is None
    assert "markers" not in [figure.name for figure in draw_figures(result)]
