"""Clusterings of components and singular vectors, published error rates, and paths of one fit."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.decomposition import PCA

from sparsekm import IFPCA, SCFS, KMeans, PCAKMeans, PenalizedGaussianMixture
from sparsekm.baselines.spectral import principal_axes, project
from sparsekm.cluster.screening import (
    higher_criticism_threshold,
    marginal_p_values,
    marginal_scores,
)
from sparsekm.metrics import matching_error_rate


@pytest.mark.parametrize(("shape", "n_components"), [((12, 40), 3), ((40, 12), 1)])
def test_axes_agree_with_scikit_learn(shape, n_components, seed):
    X = np.random.default_rng(seed).standard_normal(shape) * np.linspace(1, 3, shape[1])
    pca = PCA(n_components, svd_solver="full").fit(X)
    centred = (X - X.mean(axis=0)).T
    axes = principal_axes(np.ascontiguousarray(centred), n_components)
    np.testing.assert_allclose(axes, pca.components_, atol=1e-8)
    np.testing.assert_allclose(project(centred, axes), pca.transform(X), atol=1e-7)


def read(folder, name):
    with np.load(folder / "microarray" / f"{name}.npz", allow_pickle=True) as file:
        return file["X"], np.unique(file["y"], return_inverse=True)[1]


@pytest.mark.parametrize(
    ("name", "published", "n_kept"),
    [("brain_42x5597", 0.262, 429), ("leukemia_72x3571", 0.069, 213), ("colon_62x2000", 0.403, 25)],
)
def test_if_pca_has_its_published_error_rates(test_data, name, published, n_kept):
    # The rates are those of the paper. The numbers kept are those of its procedure with 100 p
    # simulated null features, whatever their seed (Brain: 429 or 453, two peaks of equal height).
    X, classes = read(test_data, name)
    fit = IFPCA(len(np.unique(classes)), random_state=0).fit(X)
    assert abs(matching_error_rate(classes, fit.labels_) - published) * len(X) <= 2
    assert fit.get_support().sum() == n_kept


def test_sc_fs_finds_the_two_leukemias(test_data):
    X, classes = read(test_data, "leukemia_72x3571")
    assert matching_error_rate(classes, SCFS(2, random_state=0).fit(X).labels_) < 5.5 / 72


def test_if_pca_keeps_what_higher_criticism_says(triangle_data):
    X = triangle_data.X
    fit = IFPCA(3, random_state=0).fit(X)
    scores = marginal_scores(X)
    p_values = marginal_p_values(scores, 60)
    np.testing.assert_allclose(fit.marginal_scores_, scores, rtol=1e-10)
    np.testing.assert_allclose(fit.p_values_, p_values, atol=2e-5)
    count = higher_criticism_threshold(p_values, 60)
    assert set(fit.get_support(indices=True)) == set(np.argsort(-scores)[:count])
    assert fit.get_support()[triangle_data.relevant].all()


def test_sc_fs_keeps_what_the_first_clusters_explain(triangle_data):
    X = triangle_data.X
    fit = SCFS(3, random_state=0).fit(X)
    Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    vectors = np.linalg.svd(Z, full_matrices=False)[0][:, :3]
    first = SklearnKMeans(3, n_init=50, random_state=0).fit_predict(vectors)
    within = sum(((X[first == k] - X[first == k].mean(axis=0)) ** 2).sum(axis=0) for k in range(3))
    np.testing.assert_allclose(fit.r_squared_, 1 - within / (59 * X.var(axis=0, ddof=1)))
    np.testing.assert_array_equal(fit.get_support(), within / X.var(axis=0, ddof=1) < 0.9 * 60)
    assert fit.get_support()[triangle_data.relevant].all()


def test_sc_fs_keeps_ten_features_a_cluster_where_too_little_is_explained(seed):
    X = np.random.default_rng(seed).standard_normal((1500, 300))
    fit = SCFS(2, random_state=0).fit(X)
    assert fit.r_squared_.max() < 0.1
    assert fit.get_support().sum() == 20
    assert fit.r_squared_[fit.get_support()].min() > fit.r_squared_[~fit.get_support()].max()


@pytest.mark.parametrize("Estimator", [KMeans, PCAKMeans, PenalizedGaussianMixture, IFPCA, SCFS])
def test_a_path_holds_the_one_fit(Estimator, easy_data):
    X = easy_data.X.astype(np.float32)
    steps = []
    estimator = Estimator(3, random_state=0)
    path = estimator.path(X, None, progress=lambda *step: steps.append(step))
    fit = clone(estimator).fit(X)
    assert not hasattr(estimator, "labels_")
    assert steps == [(1, 1)]
    assert path.sparsities.tolist() == [np.count_nonzero(fit.feature_weights_)]
    np.testing.assert_array_equal(path.labels, [fit.labels_])
    np.testing.assert_array_equal(path.weights, [fit.feature_weights_])
    np.testing.assert_array_equal(path.scores, [fit.feature_scores_])
    assert path.objectives.tolist() == [fit.objective_]
