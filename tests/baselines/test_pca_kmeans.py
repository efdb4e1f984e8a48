"""k-means on principal components, against answers worked by hand and scikit-learn's."""

import numpy as np
import pytest
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.decomposition import PCA

from sparsekm import PCAKMeans, classification_error_rate
from sparsekm.baselines.principal_components import principal_axes, project

SHAPES = pytest.mark.parametrize("shape", [(12, 40), (40, 12)])


def test_the_axis_of_points_on_a_line_is_the_line():
    # Points t (3, 4) with t = -10, -9, 9, 10: the axis is (0.6, 0.8), the components are 5 t.
    X = np.array([7.0, -2.0]) + np.outer([-10.0, -9.0, 9.0, 10.0], [3.0, 4.0])
    fit = PCAKMeans(2, random_state=0).fit(X)
    np.testing.assert_allclose(fit.components_, [[0.6, 0.8]], atol=1e-12)
    assert fit.labels_.tolist() == [0, 0, 1, 1]
    # Cluster means 5 (-9.5) and 5 (9.5), two samples each: 4 (47.5)^2.
    np.testing.assert_allclose(fit.objective_, 4 * 47.5**2)
    np.testing.assert_allclose(fit.feature_scores_, [4 * 28.5**2, 4 * 38**2])
    np.testing.assert_allclose(fit.cluster_centers_, [[-21.5, -40.0], [35.5, 36.0]])


@SHAPES
@pytest.mark.parametrize("n_components", [1, 3])
def test_axes_agree_with_scikit_learn(shape, n_components, seed):
    X = np.random.default_rng(seed).standard_normal(shape) * np.linspace(1, 3, shape[1])
    pca = PCA(n_components, svd_solver="full").fit(X)
    centred = (X - X.mean(axis=0)).T
    axes = principal_axes(np.ascontiguousarray(centred), n_components)
    np.testing.assert_allclose(axes, pca.components_, atol=1e-8)
    np.testing.assert_allclose(project(centred, axes), pca.transform(X), atol=1e-7)


@SHAPES
def test_an_axis_beyond_the_rank_is_zero(shape):
    X = np.outer(np.arange(shape[0]) - (shape[0] - 1) / 2, np.ones(shape[1]))
    axes = principal_axes(np.ascontiguousarray(X.T), 3)
    np.testing.assert_allclose(axes[0], 1 / np.sqrt(shape[1]))
    np.testing.assert_array_equal(axes[1:], 0)


def test_labels_agree_with_scikit_learns_pca_and_kmeans(easy_data):
    components = PCA(2).fit_transform(easy_data.X)
    labels = SklearnKMeans(3, n_init=10, random_state=0).fit_predict(components)
    fit = PCAKMeans(3, n_components=2, random_state=0).fit(easy_data.X)
    assert classification_error_rate(labels, fit.labels_) == 0


def test_more_components_than_there_can_be_are_refused(easy_data):
    with pytest.raises(ValueError, match="n_components=31 should be <= min.*=30"):
        PCAKMeans(3, n_components=31).fit(easy_data.X)
