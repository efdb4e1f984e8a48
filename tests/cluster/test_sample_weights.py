"""A sample of weight two counts as if it were given twice."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparsekm import SparseClustering, StreamedMatrix
from sparsekm.cluster.estimators import KMeans, L0KMeans
from sparsekm.cluster.sample_weights import repeat_counts

LEARNED = ("labels_", "feature_weights_", "feature_scores_", "cluster_centers_", "objective_")


@pytest.fixture(scope="module")
def weights():
    return np.random.default_rng(3).integers(1, 4, size=36)


def assert_same(fit, other, names=LEARNED, **tolerance):
    for name in names:
        one, two = getattr(fit, name), getattr(other, name)
        np.testing.assert_allclose(one, two, err_msg=name, **{"rtol": 1e-12, **tolerance})


def test_equal_weights_change_nothing(make_estimator, faint_data):
    plain = make_estimator(random_state=0).fit(faint_data.X)
    assert_same(make_estimator(random_state=0).fit(faint_data.X, sample_weight=[1] * 30), plain)
    fit = make_estimator(random_state=0).fit(faint_data.X, sample_weight=np.full(30, 0.3))
    assert_same(fit, plain, ["labels_", "feature_weights_", "cluster_centers_"], atol=1e-12)
    assert fit.objective_ == pytest.approx(0.3 * plain.objective_, rel=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_a_weight_of_two_is_the_sample_twice(make_estimator, clear_data, weights, kind):
    fit = make_estimator(random_state=0).fit(kind(clear_data.X), sample_weight=weights)
    rows = np.repeat(np.arange(36), weights)
    twice = make_estimator(random_state=0).fit(kind(clear_data.X[rows]))
    np.testing.assert_array_equal(fit.labels_[rows], twice.labels_)
    assert_same(fit, twice, LEARNED[1:], atol=1e-9)


def test_the_scale_of_weights_changes_nothing_but_the_scale_of_scores(
    make_estimator, faint_data, weights
):
    weights = weights[:30]
    fit = make_estimator(random_state=0).fit(faint_data.X, sample_weight=weights)
    scaled = make_estimator(random_state=0).fit(faint_data.X, sample_weight=0.7 * weights)
    assert_same(scaled, fit, ["labels_", "feature_weights_", "cluster_centers_"], atol=1e-12)
    assert scaled.objective_ == pytest.approx(0.7 * fit.objective_, rel=1e-12)


def test_a_weight_of_zero_leaves_a_sample_to_predict(make_estimator, clear_data, weights):
    given = np.where(np.arange(36) % 5 == 0, 0, weights)
    fit = make_estimator(random_state=0).fit(clear_data.X, sample_weight=given)
    kept = given > 0
    alone = make_estimator(random_state=0).fit(clear_data.X[kept], sample_weight=given[kept])
    np.testing.assert_array_equal(fit.labels_[kept], alone.labels_)
    assert_same(fit, alone, LEARNED[1:])
    np.testing.assert_array_equal(fit.labels_, alone.predict(clear_data.X))


@pytest.mark.parametrize("seed", range(4))
def test_uneven_weights_reach_the_optimum(seed, make_sparse_estimator, all_partitions, best_value):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8, 5))
    X[:, :3] += 2 * rng.integers(2, size=(8, 1))
    weights = rng.exponential(size=8) + 0.05
    fit = make_sparse_estimator(2, random_state=0).fit(X, sample_weight=weights)
    centred = X - np.average(X, axis=0, weights=weights)
    scores = 0.0
    labels = all_partitions(8, 2)
    for k in range(2):
        members = (labels == k) * weights
        scores = scores + (members @ centred) ** 2 / members.sum(axis=1, keepdims=True)
    best = best_value(scores, *{"l0": ("l0", 4), "l1": ("l1", 1.8)}[fit.penalty]).max()
    assert fit.objective_ == pytest.approx(best, rel=1e-6)
    for k in range(2):
        own = fit.labels_ == k
        center = np.average(X[own], axis=0, weights=weights[own])
        np.testing.assert_allclose(fit.cluster_centers_[k], center, rtol=1e-9)


def test_weights_of_many_samples_are_met():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 6))
    X[:3000, :2] += 4
    weights = rng.exponential(size=6000)
    fit = L0KMeans(2, sparsity=2, n_init=2, random_state=0).fit(X, sample_weight=weights)
    assert fit.get_support(indices=True).tolist() == [0, 1]
    assert np.mean(fit.labels_[:3000] == fit.labels_[0]) > 0.99
    own = fit.labels_ == 0
    center = np.average(X[own], axis=0, weights=weights[own])
    np.testing.assert_allclose(fit.cluster_centers_[0], center, rtol=1e-9)


@pytest.mark.parametrize(
    ("weights", "most", "counts", "unit"),
    [
        ([2.0, 3.0, 4.0], 9, [2, 3, 4], 1.0),
        ([0.5, 0.5], 9, [1, 1], 0.5),
        ([1.0, np.pi, 1.0], 10, [2, 6, 2], (2 + np.pi) / 10),
        ([1.0, 98.0, 1.0], 10, [0, 10, 0], 10.0),
    ],
)
def test_weights_are_counts_of_a_common_unit(weights, most, counts, unit):
    found = repeat_counts(np.array(weights), most)
    assert found[0].tolist() == counts
    assert found[1] == pytest.approx(unit)


def test_weights_are_routed_through_a_pipeline(clear_data, weights):
    scaled = StandardScaler().fit_transform(clear_data.X)
    with config_context(enable_metadata_routing=True):
        clusterer = L0KMeans(3, sparsity=4, random_state=0).set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, clusterer).fit(clear_data.X, sample_weight=weights)
    alone = L0KMeans(3, sparsity=4, random_state=0).fit(scaled, sample_weight=weights)
    assert_same(pipeline[-1], alone)


def test_names_of_features_are_remembered(clear_data, weights):
    frame = pd.DataFrame(clear_data.X).add_prefix("gene ")
    fit = KMeans(3, random_state=0).fit(frame, sample_weight=weights)
    assert fit.feature_names_in_[1] == "gene 1"


@pytest.mark.parametrize(
    ("parameters", "weights", "message"),
    [
        ({}, [1, 1], r"sample_weight: shape=\(2,\) should be \(n_samples,\)=\(36,\)"),
        ({}, [-1.0] + [1] * 35, r"sample_weight\[0\]=-1.0 should be >= 0, and not all zero"),
        ({}, [0] * 36, r"sample_weight\[0\]=0.0 should be >= 0, and not all zero"),
        ({}, [np.nan] + [1] * 35, r"sample_weight\[0\]=nan should be finite"),
        ({"trim": 0.1}, [2] + [1] * 35, r"trim=0.1 should be 0 with sample_weight"),
        ({"min_cluster_size": 2}, [2] + [1] * 35, r"min_cluster_size=2 should be 1 with sample"),
        ({"init": [0, 1] * 18}, [0] + [1] * 35, r"sample_weight of 0 and labels as init"),
    ],
)
def test_weights_that_cannot_be_are_refused(clear_data, parameters, weights, message):
    with pytest.raises(ValueError, match=message):
        L0KMeans(3, sparsity=4, **parameters).fit(clear_data.X, sample_weight=weights)


def test_what_has_no_weights_refuses_them_by_name(clear_data):
    X = np.random.default_rng(0).normal(size=(5000, 2))
    with pytest.raises(ValueError, match="sample_weight should be None for a StreamedMatrix"):
        KMeans(2).fit(StreamedMatrix(X), sample_weight=np.ones(5000))
    with pytest.raises(TypeError, match="sample_weight"):
        SparseClustering(KMeans(3)).fit(clear_data.X, sample_weight=np.ones(36))
