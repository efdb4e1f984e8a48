"""Constant features, repeated samples, clusters that run empty, corners of the parameters."""

import numpy as np
import pytest

from sparsekm.cluster.estimators import KMeans, L0KMeans

SEARCHES = ["alternate", "global"]


@pytest.fixture
def with_constant_features(faint_data):
    """The faint data with three constants in front, of which no sum of 0.1 is exact."""
    constants = np.tile([0.1, -1e9, 0.0], (len(faint_data.X), 1))
    return np.hstack([constants, faint_data.X])


def test_a_constant_feature_scores_exactly_zero(make_estimator, with_constant_features):
    for X in (with_constant_features, with_constant_features.astype(np.float32)):
        fit = make_estimator(random_state=0).fit(X)
        assert fit.feature_scores_[:3].tolist() == [0, 0, 0]
        assert (fit.feature_scores_[3:] > 0).all()


@pytest.mark.parametrize("search", SEARCHES)
def test_constant_features_are_chosen_last_and_the_first_of_them_first(
    with_constant_features, search
):
    X = with_constant_features
    p = X.shape[1]
    path = L0KMeans(3, search=search, n_init=2, random_state=0).path(X, [1, p - 4, p - 3, p - 2, p])
    assert [(w[:3] > 0).tolist() for w in path.weights] == [
        [False] * 3,
        [False] * 3,
        [False] * 3,
        [True, False, False],
        [True] * 3,
    ]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("n_copies", [10, 300])
def test_distinct_samples_that_repeat_are_each_a_cluster(make_estimator, seed, n_copies):
    # Five points, many copies: k-means++ or a random start easily leaves a cluster empty.
    points = np.random.default_rng(0).standard_normal((5, 6))
    X = np.repeat(points, n_copies, axis=0)
    fit = make_estimator(5, n_init=10, random_state=seed).fit(X)
    groups = fit.labels_.reshape(5, n_copies)
    assert (groups == groups[:, :1]).all()
    assert len(set(groups[:, 0])) == 5


# With so few distinct samples, clusters coincide in the kept features: that is no concern here.
@pytest.mark.filterwarnings("ignore:Clusters with the same centre:UserWarning")
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("n_copies", [4, 300])
def test_no_cluster_is_ever_empty(make_estimator, seed, n_copies):
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.integers(0, 2, size=(6, 5)).astype(float), n_copies, axis=0)
    X[0, 0] = 50.0
    n_distinct = len(np.unique(X, axis=0))
    assert n_distinct >= 3
    for n_clusters in (2, 3, n_distinct):
        fit = make_estimator(n_clusters, n_init=1, random_state=seed).fit(X)
        assert sorted(set(fit.labels_.tolist())) == list(range(n_clusters))
        assert np.isfinite(fit.cluster_centers_).all()


@pytest.mark.parametrize(("n", "started"), [(60, 2), (1200, 2), (1500, 3)])
def test_a_start_that_lacks_a_cluster_or_has_far_outliers_is_repaired(
    make_sparse_estimator, n, started
):
    X = np.random.default_rng(1).standard_normal((n, 8))
    X[0] = 1e4
    start = np.arange(n) % started
    fit = make_sparse_estimator(init=start, n_init=1, random_state=0).fit(X)
    assert sorted(set(fit.labels_.tolist())) == [0, 1, 2]


def test_as_many_clusters_as_samples_explain_everything(make_estimator):
    X = np.random.default_rng(2).standard_normal((6, 5))
    fit = make_estimator(6, random_state=0).fit(X)
    assert sorted(fit.labels_) == list(range(6))
    np.testing.assert_allclose(fit.feature_scores_, ((X - X.mean(axis=0)) ** 2).sum(axis=0))


def test_one_feature_is_enough(make_estimator):
    X = np.concatenate([np.zeros(5), np.ones(5), np.full(5, 9.0)])[:, None]
    parameters = {} if isinstance(make_estimator(), KMeans) else {"sparsity": 1}
    fit = make_estimator(3, random_state=0, **parameters).fit(X)
    assert len(set(zip(X[:, 0], fit.labels_, strict=True))) == 3
    assert fit.feature_weights_.tolist() == [1]


def test_two_samples_are_enough_for_two_clusters(make_estimator):
    parameters = {} if isinstance(make_estimator(), KMeans) else {"sparsity": 1}
    fit = make_estimator(2, random_state=0, **parameters).fit([[0.0, 1.0], [2.0, 1.0]])
    assert sorted(fit.labels_) == [0, 1]
    assert fit.feature_scores_.tolist() == [2, 0]


def test_a_large_mean_does_not_drown_the_scores(make_estimator, clear_data):
    offset = 1e8
    fit = make_estimator(random_state=0).fit(clear_data.X)
    shifted = make_estimator(random_state=0).fit(clear_data.X + offset)
    np.testing.assert_array_equal(shifted.labels_, fit.labels_)
    np.testing.assert_allclose(
        shifted.feature_scores_, fit.feature_scores_, rtol=1e-6, atol=1e-14 * offset**2 / 1e2 + 1e-5
    )
